"""A deployment's database: bring it to this version, and see that it is sound."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from pickupbox.cli.running import away, run, settings
from pickupbox.cli.speaking import fail
from pickupbox.database import deployments, schema
from pickupbox.domain.errors import NotFound
from pickupbox.usecases import check as checking
from pickupbox.usecases.core import Core
from pickupbox.usecases.partitions import keep_partitions


def migrate() -> None:
    """Bring the database to this version's schema. Run it once per release, before the processes."""
    chosen = settings()
    try:
        schema.migrate(chosen.database_url)
    except schema.AwayError as error:
        raise away(error) from None

    async def prepare(core: Core) -> str | None:
        async with core.db.connection() as connection:
            await deployments.declare(connection, deployments.Deployment(core.environment, core.cell, None))
            declared = await deployments.read(connection)
        await keep_partitions(core)
        if declared and (declared.environment, declared.cell) != (core.environment, core.cell):
            return (
                f"This database is the {declared.environment} of cell {declared.cell}; nothing was changed about that."
            )
        return None

    if warning := run(prepare):
        raise fail(warning)
    Console().print(f"The database is at revision {schema.newest_revision()}.")


def check(
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only this tenant, as `pickupbox tenant list` shows it.")
    ] = None,
) -> None:
    """Check the invariants on the live database; exit 1 on a breach."""
    try:
        findings = run(lambda core: checking.check(core, tenant))
    except NotFound:
        raise fail("There is no such tenant.") from None
    table = Table("", "Invariant", "Breaches")
    for finding in findings:
        count = str(len(finding.breaches) or "none")
        table.add_row(str(finding.number), finding.invariant, count, style="red" if finding.breaches else "")
    Console().print(table)
    broken = [f"{finding.number}: {breach}" for finding in findings for breach in finding.breaches[:5]]
    if broken:
        raise fail("\n".join(broken))
    Console().print("All hold.", highlight=False)
