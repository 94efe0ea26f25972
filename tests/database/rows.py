"""Rows written past the code, to see what the database says to them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

# A released shipment, as far as the checks of its row go.
RELEASED = {"stage": "cancelled", "released_at": "2031-01-01T00:00:00Z", "due_at": None}


async def copy(connection: Any, table: str, key: str, **changes: Any) -> None:
    """Insert a row like the one with that id, but for the changes."""
    await connection.execute(
        f"INSERT INTO {table} SELECT (jsonb_populate_record(t, $2::text::jsonb)).* FROM {table} t WHERE id = $1",
        key,
        json.dumps(changes),
    )


async def copy_shipment(connection: Any, shipment_id: str, **changes: Any) -> None:
    """A shipment like another one, with an id, an order and a PIN of its own unless the changes say otherwise."""
    own = {"id": "shp_copy", "external_order_id": "order-copy", "pin_lookup": "\\x0102"}
    await copy(connection, "shipments", shipment_id, **(own | changes))


@asynccontextmanager
async def refused_by(connection: Any, constraint: str) -> AsyncIterator[None]:
    """What is done inside breaks exactly this constraint or index; the transaction lives on."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refusal:
        async with connection.transaction():
            yield
    assert refusal.value.constraint_name == constraint
