"""Bringing a database to the schema of this version, and making or dropping a whole database."""

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from pickupbox.database.connection import Connection

_MIGRATIONS = Path(__file__).parent / "migrations"


class AwayError(Exception):
    """PostgreSQL does not answer, or lets us in no more."""


def migrate(url: str) -> None:
    """Run the migrations that are missing, each in a transaction; one migrator at a time."""
    # Imported here: Alembic takes a second to load, and every other command and process does without it.
    from alembic import command
    from alembic.config import Config
    from sqlalchemy.exc import OperationalError

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = urlunsplit(urlsplit(url)._replace(scheme="postgresql+psycopg"))
    try:
        command.upgrade(config, "head")
    except OperationalError as error:
        raise AwayError(str(error.orig).strip()) from error


def newest_revision() -> str:
    """The revision that this version was written for: migrations are numbered by their file names."""
    return max(path.name.partition("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


async def revision(connection: Connection) -> str | None:
    """The revision that the database is at, or None if it was never migrated."""
    try:
        number: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    return number


def url_of(server_url: str, database: str) -> str:
    """The address of another database on the same server."""
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{database}"))


async def create_database(server_url: str, name: str, *, template: str | None = None) -> bool:
    """Make a database beside the one of `server_url`; False if there is one of that name already."""
    connection = await asyncpg.connect(server_url, timeout=10)
    try:
        copying = f' TEMPLATE "{template}"' if template else ""
        await connection.execute(f'CREATE DATABASE "{name}"{copying}')
    except asyncpg.DuplicateDatabaseError:
        return False
    finally:
        await connection.close()
    return True


async def drop_database(server_url: str, name: str) -> None:
    connection = await asyncpg.connect(server_url, timeout=10)
    try:
        await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    finally:
        await connection.close()
