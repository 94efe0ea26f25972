"""What this database is: its environment, its cell, and whether it is a demo."""

import json
from dataclasses import dataclass

import asyncpg

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Deployment:
    environment: str
    cell: str
    demo_settings: dict[str, str] | None


async def read(connection: Connection) -> Deployment | None:
    """The deployment that was declared here, or None before the first migration."""
    try:
        row = await connection.fetchrow("SELECT environment, cell, demo_settings FROM deployment")
    except asyncpg.UndefinedTableError:
        return None
    if row is None:
        return None
    demo = row["demo_settings"]
    return Deployment(row["environment"], row["cell"], json.loads(demo) if demo else None)


async def declare(connection: Connection, deployment: Deployment) -> None:
    """Say what this database is; a later word changes nothing."""
    demo = deployment.demo_settings
    await connection.execute(
        "INSERT INTO deployment (environment, cell, demo_settings) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        deployment.environment,
        deployment.cell,
        json.dumps(demo) if demo else None,
    )


async def keep_demo_setting(connection: Connection, name: str, value: str) -> None:
    """What changes from one start of the demo to the next."""
    await connection.execute(
        "UPDATE deployment SET demo_settings = demo_settings::jsonb || jsonb_build_object($1::text, $2::text)",
        name,
        value,
    )


async def keep_gateway_group(connection: Connection, name: str) -> str:
    """The name under which gateways share their messages: the first one that was ever given here."""
    kept: str | None = await connection.fetchval(
        "UPDATE deployment SET gateway_group = coalesce(gateway_group, $1) RETURNING gateway_group", name
    )
    return kept or name
