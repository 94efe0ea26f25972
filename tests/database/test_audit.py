"""The audit trail: written once, sealed once, and every tampering is found."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from pickupbox.database import audit
from pickupbox.settings import Settings
from pickupbox.usecases.audit_chain import broken_links, next_link, seal
from pickupbox.usecases.core import Core, open_core
from tests.support.shop import Shop

NEVER = 10_000


async def reveal(shop: Shop, times: int) -> list[str]:
    """Entries in the audit trail, in the order in which they were written."""
    shipment = await shop.reserved("A")
    for _ in range(times):
        assert (await shop.pin(shipment)).status_code == 200
    async with shop.core.db.connection() as connection:
        rows = await connection.fetch("SELECT id FROM audit WHERE tenant_id = $1 ORDER BY id", shop.tenant)
    return [row["id"] for row in rows]


@pytest.fixture
async def tamper(settings: Settings) -> AsyncIterator[Any]:
    """A superuser's connection on which no trigger fires."""
    connection = await asyncpg.connect(settings.database_url)
    await connection.execute("SET session_replication_role = replica")
    yield connection
    await connection.close()


async def test_an_entry_says_who_did_what_to_which_when_and_from_where(shop: Shop) -> None:
    shipment = await shop.reserved("A")
    pin = (await shop.pin(shipment)).json()["pickup_pin"]
    async with shop.core.db.connection() as connection:
        (row,) = await connection.fetch("SELECT * FROM audit WHERE tenant_id = $1", shop.tenant)
    assert (row["actor"], row["action"], row["object"]) == (shop.key_id, "pin.reveal", shipment)
    assert row["request_id"].startswith("req_")
    assert row["address"] == "127.0.0.1"
    assert pin not in str(dict(row)).replace(shipment, "")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit SET actor = 'someone else' WHERE id = $1",
        "UPDATE audit SET at = at + interval '1 second' WHERE id = $1",
        "UPDATE audit SET object = object, chain_number = NULL WHERE id = $1",
        "UPDATE audit SET actor = 'someone else', chain_number = 1, chain_hash = '\\x00' WHERE id = $1",
        "DELETE FROM audit WHERE id = $1",
    ],
)
async def test_an_entry_is_neither_changed_nor_deleted(shop: Shop, raw: Any, change: str) -> None:
    (entry,) = await reveal(shop, 1)
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="append-only"):
        await raw.execute(change, entry)


async def test_the_trail_is_not_emptied(raw: Any) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="append-only"):
        await raw.execute("TRUNCATE audit")


async def test_an_entry_is_sealed_once(shop: Shop, raw: Any) -> None:
    (entry,) = await reveal(shop, 1)
    sealing = "UPDATE audit SET chain_number = 1, chain_hash = '\\x01' WHERE id = $1"
    await raw.execute(sealing, entry)
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="append-only"):
        await raw.execute(sealing, entry)


async def test_a_seal_has_a_number_and_a_hash_or_neither(shop: Shop, raw: Any) -> None:
    (entry,) = await reveal(shop, 1)
    with pytest.raises(asyncpg.CheckViolationError):
        await raw.execute("UPDATE audit SET chain_hash = '\\x01' WHERE id = $1", entry)


async def test_sealed_entries_are_numbered_without_a_gap_and_verify(shop: Shop, core: Core) -> None:
    entries = await reveal(shop, 5)
    while await seal(core, 2):
        pass
    async with core.db.transaction() as tx:
        links = [(entry.id, link.number) async for entry, link in audit.chain(tx, shop.tenant)]
    assert links == [(entry, number) for number, entry in enumerate(entries, start=1)]
    assert await broken_links(core, shop.tenant) == []


async def test_later_entries_go_on_where_the_chain_ended(shop: Shop, core: Core) -> None:
    await reveal(shop, 2)
    await seal(core, NEVER)
    await reveal(shop, 2)
    await seal(core, NEVER)
    async with core.db.transaction() as tx:
        numbers = [link.number async for _, link in audit.chain(tx, shop.tenant)]
    # The second time the same order was replayed, which is a reveal too.
    assert numbers == [1, 2, 3, 4, 5]
    assert await broken_links(core, shop.tenant) == []


async def test_sealers_side_by_side_seal_each_entry_once(shop: Shop, core: Core, settings: Settings) -> None:
    await seal(core, NEVER)
    entries = await reveal(shop, 20)
    others = [open_core(settings) for _ in range(3)]
    sealed = 0
    while True:
        async with core.db.connection() as connection:
            if not await audit.unsealed(connection, 1):
                break
        sealed += sum(await asyncio.gather(*(seal(one, 3) for one in (core, *others))))
    for other in others:
        await other.db.close()
    assert sealed == len(entries) == 20
    assert await broken_links(core, shop.tenant) == []


@pytest.mark.parametrize("column", ["actor", "action", "object", "request_id", "address"])
async def test_a_changed_entry_is_found(shop: Shop, core: Core, tamper: Any, column: str) -> None:
    entries = await reveal(shop, 3)
    await seal(core, NEVER)
    await tamper.execute(f"UPDATE audit SET {column} = 'changed' WHERE id = $1", entries[1])
    assert await broken_links(core, shop.tenant) == [entries[1]]


async def test_a_changed_time_is_found(shop: Shop, core: Core, tamper: Any) -> None:
    entries = await reveal(shop, 2)
    await seal(core, NEVER)
    await tamper.execute("UPDATE audit SET at = at - interval '1 microsecond' WHERE id = $1", entries[0])
    assert await broken_links(core, shop.tenant) == [entries[0]]


async def test_a_changed_hash_is_found_at_its_entry_and_the_next(shop: Shop, core: Core, tamper: Any) -> None:
    entries = await reveal(shop, 3)
    await seal(core, NEVER)
    await tamper.execute("UPDATE audit SET chain_hash = sha256('x') WHERE id = $1", entries[1])
    assert await broken_links(core, shop.tenant) == entries[1:]


async def test_an_entry_taken_out_of_the_middle_is_found(shop: Shop, core: Core, tamper: Any) -> None:
    entries = await reveal(shop, 3)
    await seal(core, NEVER)
    await tamper.execute("DELETE FROM audit WHERE id = $1", entries[1])
    assert await broken_links(core, shop.tenant) == [entries[2]]


async def test_a_chain_cut_short_at_its_end_is_found(shop: Shop, core: Core, tamper: Any) -> None:
    entries = await reveal(shop, 3)
    await seal(core, NEVER)
    await tamper.execute("DELETE FROM audit WHERE id = $1", entries[2])
    assert await broken_links(core, shop.tenant) == [f"end of {shop.tenant}"]


async def test_a_chain_whose_oldest_entries_were_dropped_still_verifies(shop: Shop, core: Core, tamper: Any) -> None:
    entries = await reveal(shop, 3)
    await seal(core, NEVER)
    await tamper.execute("DELETE FROM audit WHERE id = $1", entries[0])
    assert await broken_links(core, shop.tenant) == []


async def test_sealing_beside_the_check_is_no_breach(shop: Shop, core: Core, settings: Settings) -> None:
    """The check reads the chain and its end as they were at one moment, whatever is sealed meanwhile."""
    await reveal(shop, 2)
    await seal(core, NEVER)
    await reveal(shop, 1)
    beside = await asyncpg.connect(settings.database_url)
    try:
        async with beside.transaction():
            # The check reads the chain, then has to wait here for the ends of the chains.
            await beside.execute("LOCK TABLE audit_heads IN ACCESS EXCLUSIVE MODE")
            checking = asyncio.create_task(broken_links(core, shop.tenant))
            waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'audit_heads'::regclass AND NOT granted)"
            async with asyncio.timeout(5):
                while not await beside.fetchval(waits):  # noqa: ASYNC110 - PostgreSQL tells nobody who waits
                    await asyncio.sleep(0.01)
            await _seal_on(beside, shop.tenant)
        assert await checking == []
    finally:
        await beside.close()
    assert await broken_links(core, shop.tenant) == []


async def _seal_on(connection: Any, tenant: str) -> None:
    """What `seal` does, on a connection that already holds the lock."""
    heads = await audit.heads(connection, [tenant])
    sealed = []
    for entry in await audit.unsealed(connection, NEVER):
        heads[entry.tenant_id] = next_link(heads[entry.tenant_id], entry)
        sealed.append((entry, heads[entry.tenant_id]))
    await audit.seal(connection, sealed, heads)
