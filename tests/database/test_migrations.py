"""Migrations: harmless to repeat, and one migrator at a time."""

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from pickupbox.database import schema
from pickupbox.settings import Settings
from tests.support.databases import SERVER_URL

MIGRATE = [sys.executable, "-c", "import sys; from pickupbox.database import schema; schema.migrate(sys.argv[1])"]


@pytest.fixture
async def empty_database() -> AsyncIterator[str]:
    name = f"pickupbox_test_{secrets.token_hex(4)}"
    await schema.create_database(SERVER_URL, name)
    yield schema.url_of(SERVER_URL, name)
    await schema.drop_database(SERVER_URL, name)


async def picture(connection: Any) -> list[str]:
    """Everything that a migration makes, as text."""
    rows = await connection.fetch(
        """
        SELECT format('%s.%s %s', table_name, column_name, data_type) AS line FROM information_schema.columns
            WHERE table_schema = 'public'
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
            WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT 'revision ' || version_num FROM alembic_version ORDER BY 1
        """
    )
    return [row["line"] for row in rows]


async def test_migrating_twice_changes_nothing(settings: Settings, raw: Any) -> None:
    before = await picture(raw)
    await asyncio.to_thread(schema.migrate, settings.database_url)
    assert await picture(raw) == before
    assert f"revision {schema.newest_revision()}" in before


async def waiting(connection: Any) -> int:
    """How many ask for the migrators' lock again and again."""
    number: int = await connection.fetchval(
        """
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND (query LIKE '%pg_try_advisory_lock%' OR query = 'COMMIT') AND state = 'idle'
        """
    )
    return number


async def test_migrators_that_start_together_wait_for_each_other_and_all_succeed(empty_database: str) -> None:
    first = await asyncpg.connect(empty_database)
    await first.execute("SELECT pg_advisory_lock(hashtext('pickupbox.migrate'))")
    # One in a process of its own: Alembic's context is one per process.
    second = await asyncio.create_subprocess_exec(*MIGRATE, empty_database)
    third = asyncio.create_task(asyncio.to_thread(schema.migrate, empty_database))
    async with asyncio.timeout(30):
        while await waiting(first) < 2:
            assert second.returncode is None, "a migrator did not wait"
            assert not third.done(), "a migrator did not wait"
            await asyncio.sleep(0.02)
    assert await schema.revision(first) is None
    await first.execute("SELECT pg_advisory_unlock_all()")
    await third
    assert await second.wait() == 0
    assert await schema.revision(first) == schema.newest_revision()
    await first.close()


async def test_a_database_that_was_never_migrated_has_no_revision(empty_database: str) -> None:
    connection = await asyncpg.connect(empty_database)
    assert await schema.revision(connection) is None
    await connection.close()


async def test_making_a_database_that_is_there_says_so() -> None:
    name = f"pickupbox_test_{secrets.token_hex(4)}"
    try:
        assert await schema.create_database(SERVER_URL, name) is True
        assert await schema.create_database(SERVER_URL, name) is False
    finally:
        await schema.drop_database(SERVER_URL, name)
