"""What a demo stands on: a database of its own, two tenants with two boxes each, and a device for each box."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pickupbox.certificates import new_authority
from pickupbox.database import boxes, deployments, devices, schema, tenants
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.boxes import add_box, codes, default_setup
from pickupbox.usecases.core import Caller, Core, open_core
from pickupbox.usecases.devices import device_for
from pickupbox.usecases.partitions import keep_partitions
from pickupbox.usecases.team import add_user, list_team
from pickupbox.usecases.tenants import add_tenant, issue_key
from pickupbox.vault import new_secret

KEY_NAME = "demo"
RATE = 100_000
COMPARTMENTS = 12
PEOPLE = (("admin@demo.example", "Ada Admin", Role.OWNER), ("operator@demo.example", "Otto Operator", Role.OPERATOR))
STREETS = (("Central Station", "Platform 1"), ("Market Square", "Beside the fountain"))


class DemoError(Exception):
    """The demo cannot run; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class SeededBox:
    id: str
    device: str
    compartments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seeded:
    settings: Settings
    variables: dict[str, str]  # the same, for the demo's processes; what else is set in the environment counts too
    tenant: str
    api_key: str
    other_api_key: str
    boxes: tuple[SeededBox, ...]
    password: str  # of all its people


async def seed(server_url: str, name: str, mqtt_url: str, *, fresh: bool) -> Seeded:
    """Make what is missing in the database of that name; keys are new at each start."""
    try:
        if fresh:
            await schema.drop_database(server_url, name)
        await schema.create_database(server_url, name)
    except OSError as error:
        raise DemoError(f"PostgreSQL does not answer: {error}\nStart it, or set PICKUPBOX_DATABASE_URL.") from None
    url = schema.url_of(server_url, name)
    schema.migrate(url)
    chosen = {**await _settings(url), "database_url": url, "mqtt_url": mqtt_url}
    settings = Settings.model_validate(chosen)
    core = open_core(settings)
    try:
        await keep_partitions(core)
        first, key = await _tenant(core, "Demo shop")
        second, other_key = await _tenant(core, "Other shop")
        seeded = [await _boxes(core, tenant) for tenant in (first, second)]
        password = await _people(core, first)
    finally:
        await core.db.close()
    variables = {f"PICKUPBOX_{name.upper()}": value for name, value in chosen.items()}
    return Seeded(settings, variables, first, key, other_key, tuple(seeded[0] + seeded[1]), password)


async def keep_admin_url(seeded: Seeded, url: str) -> None:
    """Other commands print links to the administration."""
    core = open_core(seeded.settings)
    try:
        async with core.db.connection() as connection:
            await deployments.keep_demo_setting(connection, "admin_url", url)
    finally:
        await core.db.close()


async def all_heard(seeded: Seeded, since: datetime) -> bool:
    """Whether every box has been heard since then."""
    core = open_core(seeded.settings)
    try:
        async with core.db.connection() as connection:
            return await devices.all_seen(connection, [box.device for box in seeded.boxes], since)
    finally:
        await core.db.close()


async def _settings(url: str) -> Mapping[str, str]:
    """Those of the first start: they are kept in the database, so that other commands find them there."""
    own = {
        "environment": "sandbox",
        "cell": "demo",
        "secrets": new_secret("demo"),
        "device_authority": new_authority("Demo devices", datetime.now(UTC)),
        "webhook_loopback": "true",
    }
    core = open_core(Settings.model_validate(own | {"database_url": url}))
    try:
        async with core.db.connection() as connection:
            await deployments.declare(connection, deployments.Deployment("sandbox", "demo", own))
            deployment = await deployments.read(connection)
    finally:
        await core.db.close()
    return own | ((deployment.demo_settings if deployment else None) or {})


async def _tenant(core: Core, name: str) -> tuple[str, str]:
    """The demo's tenant of that name, made if it is missing, and a new key for it."""
    async with core.db.connection() as connection:
        known = {tenant.name: tenant.id for tenant in await tenants.list_all(connection)}
    tenant = known.get(name)
    if tenant is None:
        tenant = await add_tenant(core, name)
        for place, location in STREETS:
            setup = default_setup(core, place, location, f"{place}, Demo City")
            await add_box(core, tenant, setup, COMPARTMENTS)
    async with core.db.connection() as connection:
        await tenants.set_rate(connection, tenant, RATE, RATE)
        for key in await tenants.list_keys(connection, tenant):
            if key.name == KEY_NAME and key.revoked_at is None:
                await tenants.revoke_key(connection, tenant, key.id)
    issued = await issue_key(core, Caller(tenant, "demo"), KEY_NAME)
    if issued is None:
        raise DemoError("Another demo is starting on the same database: wait for it, or choose another --port.")
    return tenant, issued.api_key


async def _people(core: Core, tenant: str) -> str:
    """Those who can sign in, made if they are missing; their password, which follows from the demo's own secret."""
    password = f"demo-{core.vault.page_token(b'password of the demo')[:16]}"
    known = {person.email for person in await list_team(core, tenant)}
    for email, name, role in PEOPLE:
        if email not in known:
            await add_user(core, tenant, email, name, role, password)
    return password


async def _boxes(core: Core, tenant: str) -> list[SeededBox]:
    async with core.db.connection() as connection:
        seeded = [
            box for box in await boxes.list_active(connection, tenant) if (box.name, box.location_name) in STREETS
        ]
    spoken_for = [(box.id, await device_for(core, Caller(tenant, "demo"), box.id)) for box in seeded]
    return [SeededBox(box_id, device, tuple(codes(COMPARTMENTS))) for box_id, device in spoken_for if device]
