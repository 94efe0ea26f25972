"""Time partitions: made ahead of time, never deleted from, dropped when they are old."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

import asyncpg

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Partitioned:
    table: str
    days: int  # of one partition
    ahead: int  # partitions that must stand ready beyond the current one
    keep: int | None = None  # days after which a partition is dropped; None: kept


PARTITIONED = (
    Partitioned("events", days=7, ahead=2),
    Partitioned("audit", days=28, ahead=2),
    Partitioned("webhook_attempts", days=1, ahead=14, keep=30),
    Partitioned("set_aside", days=1, ahead=14, keep=30),
    Partitioned("api_requests", days=1, ahead=14, keep=7),
    Partitioned("door_reports", days=1, ahead=14, keep=30),
    Partitioned("figures", days=28, ahead=2, keep=400),
)
PATIENCE = "300ms"  # for a lock that others may queue behind
_EPOCH = date(2024, 1, 1)


def bounds(partitioned: Partitioned, now: datetime, number: int) -> tuple[date, date]:
    """First day, and day after the last, of the partition `number` places after the current one."""
    current = (now.astimezone(UTC).date() - _EPOCH).days // partitioned.days + number
    first = _EPOCH + timedelta(days=current * partitioned.days)
    return first, first + timedelta(days=partitioned.days)


async def now(connection: Connection) -> datetime:
    moment: datetime = await connection.fetchval("SELECT now()")
    return moment


async def existing(connection: Connection, table: str) -> set[str]:
    rows = await connection.fetch(
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::text::regclass", table
    )
    return {row["name"] for row in rows}


class Creation(StrEnum):
    MADE = "made"
    BUSY = "busy"  # others hold the table: another time will do
    TOO_LATE = "too_late"  # rows of that time already lie in the default partition


async def create(connection: Connection, table: str, first: date, end: date) -> Creation:
    """Make one partition, unless somebody reads the table for long: whoever comes then would queue behind us.

    Attached, not made in place: that takes no lock on the table that stops its readers or writers.
    """
    name = name_of(table, first)
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
            # Two workers that make the same partition at once would trip over each other.
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext('pickupbox.partitions'))")
            if await connection.fetchval("SELECT to_regclass($1)", name) is None:
                await connection.execute(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL)")
                await connection.execute(
                    f"ALTER TABLE {table} ATTACH PARTITION {name} "
                    f"FOR VALUES FROM ('{first} 00:00+00') TO ('{end} 00:00+00')"
                )
    except asyncpg.CheckViolationError:
        return Creation.TOO_LATE
    except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
        return Creation.BUSY
    return Creation.MADE


async def drop(connection: Connection, name: str) -> bool:
    """Drop one partition; False if others are busy with its table: another time will do."""
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
            await connection.execute(f"DROP TABLE IF EXISTS {name}")
    except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
        return False
    return True


def too_old(partitioned: Partitioned, names: set[str], now: datetime) -> list[str]:
    """Which of a table's partitions hold nothing that is still kept."""
    if partitioned.keep is None:
        return []
    oldest = now.astimezone(UTC).date() - timedelta(days=partitioned.keep)
    kept_from = name_of(partitioned.table, oldest - timedelta(days=partitioned.days - 1))
    dated = re.compile(rf"{partitioned.table}_\d{{8}}")
    return sorted(name for name in names if dated.fullmatch(name) and name < kept_from)


def name_of(table: str, first: date) -> str:
    return f"{table}_{first:%Y%m%d}"
