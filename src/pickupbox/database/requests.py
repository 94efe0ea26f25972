"""Requests of the API as they are kept: by days, for a week, written in batches after they were answered."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from pickupbox.database.connection import Connection

PATH_KEPT = 200


class Request(NamedTuple):
    at: datetime
    tenant_id: str
    key_id: str
    request_id: str
    operation: str
    method: str
    path: str
    status: int
    code: str | None
    milliseconds: float
    address: str | None


class Place(NamedTuple):
    """Where in the log to go on, towards the past."""

    at: datetime
    request_id: str


_COLUMNS = "at, tenant_id, key_id, request_id, operation, method, path, status, code, milliseconds, address"


async def insert(connection: Connection, requests: Sequence[Request]) -> None:
    await connection.copy_records_to_table(
        "api_requests",
        records=[one if _is_plain(one.path) else one._replace(path=_storable(one.path)) for one in requests],
        columns=Request._fields,
    )


def _is_plain(path: str) -> bool:
    return path.isascii() and len(path) <= PATH_KEPT and "\0" not in path


def _storable(path: str) -> str:
    """As much of a path as is kept, without what PostgreSQL cannot hold."""
    return path[:PATH_KEPT].replace("\0", "�").encode(errors="replace").decode()


async def list_before(
    connection: Connection,
    tenant: str,
    before: Place,
    limit: int,
    *,
    look: int,
    key_id: str | None = None,
    lowest: int = 0,
    highest: int = 999,
) -> list[Request]:
    """The newest before that place with such a key and status, among the next `look` of the tenant's."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM (
            SELECT {_COLUMNS} FROM api_requests WHERE tenant_id = $1 AND (at, request_id) < ($2, $3)
            ORDER BY at DESC, request_id DESC LIMIT $4
        ) looked
        WHERE ($5::text IS NULL OR key_id = $5) AND status BETWEEN $6 AND $7
        ORDER BY at DESC, request_id DESC LIMIT $8
        """,
        tenant,
        before.at,
        before.request_id,
        look,
        key_id,
        lowest,
        highest,
        limit,
    )
    return [Request._make(row.values()) for row in rows]


async def place_after(connection: Connection, tenant: str, before: Place, look: int) -> Place | None:
    """Where a look at so many ends; None if there are not so many."""
    row = await connection.fetchrow(
        """
        SELECT at, request_id FROM api_requests WHERE tenant_id = $1 AND (at, request_id) < ($2, $3)
        ORDER BY at DESC, request_id DESC OFFSET $4 - 1 LIMIT 1
        """,
        tenant,
        before.at,
        before.request_id,
        look,
    )
    return Place._make(row.values()) if row else None


async def find(connection: Connection, tenant: str, request_id: str, limit: int) -> list[Request]:
    """The newest of that id: a caller's own may be there more than once."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM api_requests WHERE tenant_id || ' ' || request_id = $1 ORDER BY at DESC LIMIT $2
        """,
        f"{tenant} {request_id}",
        limit,
    )
    return [Request._make(row.values()) for row in rows]
