"""Whether a process can do its work on its database."""

from functools import cache

from pickupbox.database import deployments, schema
from pickupbox.usecases.core import Core

_newest = cache(schema.newest_revision)


async def not_ready(core: Core) -> str | None:
    """Why not, with what to do; None if all is well."""
    async with core.db.connection() as connection:
        revision = await schema.revision(connection)
        deployment = await deployments.read(connection)
    if revision is None or deployment is None:
        return "the database is not migrated: run pickupbox migrate"
    if revision < _newest():
        return f"the database is at revision {revision}, this version needs {_newest()}: run pickupbox migrate"
    if (deployment.environment, deployment.cell) != (core.environment, core.cell):
        return (
            f"the database is the {deployment.environment} of cell {deployment.cell}, this process was made for "
            f"the {core.environment} of cell {core.cell}: correct PICKUPBOX_DATABASE_URL"
        )
    return None
