"""A whole sandbox on loopback: its own database, two tenants with two boxes each, every process."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import uvloop
from rich.console import Console

from pickupbox.database import deployments, schema, tenants
from pickupbox.settings import Settings
from pickupbox.usecases.boxes import add_box, default_setup
from pickupbox.usecases.core import Core, open_core
from pickupbox.usecases.partitions import keep_partitions
from pickupbox.usecases.tenants import add_tenant, issue_key
from pickupbox.vault import new_secret

START_SECONDS = 30
STOP_SECONDS = 8
KEY_NAME = "demo"
RATE = 100_000
STREETS = (("Central Station", "Platform 1"), ("Market Square", "Beside the fountain"))


class DemoError(Exception):
    """The demo cannot run; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Demo:
    """What `--json` prints."""

    base_url: str
    api_key: str
    other_api_key: str
    tenant: str
    database_url: str
    admin_url: str | None = None
    admin_email: str | None = None
    admin_password: str | None = None
    box_pages: dict[str, str] | None = None


def run(server_url: str, port: int, *, fresh: bool, as_json: bool) -> None:
    """Make what is missing, start every process, say what to do next, wait for SIGTERM or Ctrl-C."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            raise DemoError(f"Port {port} is taken: stop what listens there, or choose another with --port.") from None
    url = schema.url_of(server_url, f"pickupbox_demo_{port}")
    demo, environment = uvloop.run(_prepare(server_url, url, port, fresh=fresh))
    _wait_for_end(demo, environment, port, as_json=as_json)


async def _prepare(server_url: str, url: str, port: int, *, fresh: bool) -> tuple[Demo, dict[str, str]]:
    name = f"pickupbox_demo_{port}"
    try:
        if fresh:
            await schema.drop_database(server_url, name)
        await schema.create_database(server_url, name)
    except OSError as error:
        raise DemoError(f"PostgreSQL does not answer: {error}\nStart it, or set PICKUPBOX_DATABASE_URL.") from None
    schema.migrate(url)
    own = {"environment": "sandbox", "cell": "demo", "secrets": new_secret("demo"), "webhook_loopback": "true"}
    core = open_core(Settings.model_validate(own | {"database_url": url}))
    try:
        async with core.db.connection() as connection:
            await deployments.declare(connection, deployments.Deployment("sandbox", "demo", own))
            deployment = await deployments.read(connection)
    finally:
        await core.db.close()
    kept = (deployment.demo_settings if deployment else None) or {}
    core = open_core(Settings.model_validate(kept | {"database_url": url}))
    try:
        await keep_partitions(core)
        first, key = await _tenant(core, "Demo shop")
        _, other_key = await _tenant(core, "Other shop")
    finally:
        await core.db.close()
    demo = Demo(f"http://127.0.0.1:{port}/v1", key, other_key, first, url)
    return demo, {f"PICKUPBOX_{name.upper()}": value for name, value in kept.items()} | {"PICKUPBOX_DATABASE_URL": url}


async def _tenant(core: Core, name: str) -> tuple[str, str]:
    """The demo's tenant of that name, made if it is missing, and a new key for it."""
    async with core.db.connection() as connection:
        known = {tenant.name: tenant.id for tenant in await tenants.list_all(connection)}
    tenant = known.get(name)
    if tenant is None:
        tenant = await add_tenant(core, name)
        for place, location in STREETS:
            await add_box(core, tenant, default_setup(core, place, location, f"{place}, Demo City"), 12)
    async with core.db.connection() as connection:
        await tenants.set_rate(connection, tenant, RATE, RATE)
        for key in await tenants.list_keys(connection, tenant):
            if key.name == KEY_NAME and key.revoked_at is None:
                await tenants.revoke_key(connection, tenant, key.id)
    issued = await issue_key(core, tenant, KEY_NAME)
    if issued is None:
        raise DemoError("Another demo is starting on the same database: wait for it, or choose another --port.")
    return tenant, issued.api_key


def _wait_for_end(demo: Demo, environment: dict[str, str], port: int, *, as_json: bool) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    command = [sys.executable, "-m", "pickupbox"]
    quiet = {"PICKUPBOX_LOG_LEVEL": "warning"} | os.environ | environment
    children: list[subprocess.Popen[bytes]] = []
    try:
        for process in (["api", "--port", str(port)], ["worker"]):
            children.append(subprocess.Popen([*command, *process], env=quiet, start_new_session=True))  # noqa: S603, PERF401
        _wait_until_ready(f"http://127.0.0.1:{port}/readyz", children)
        _say(demo, as_json=as_json)
        while all(child.poll() is None for child in children):
            time.sleep(0.2)
        raise DemoError("A process of the demo ended by itself; its last words are above.")
    except KeyboardInterrupt:
        return
    finally:
        _stop(children)


def _wait_until_ready(url: str, children: Sequence[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if any(child.poll() is not None for child in children):
            break
        try:
            with urllib.request.urlopen(url, timeout=1) as response:  # noqa: S310 - our own loopback address
                if response.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise DemoError("The API did not become ready; its last words are above.")


def _stop(children: Sequence[subprocess.Popen[bytes]]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for child in children:
        child.terminate()
    end = time.monotonic() + STOP_SECONDS
    for child in children:
        try:
            child.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)


def _say(demo: Demo, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(asdict(demo)) + "\n")
        sys.stdout.flush()
        return
    Console().print(
        f"""
[bold]The sandbox is ready.[/bold] In another terminal:

  export BASE_URL={demo.base_url}
  export API_KEY={demo.api_key}
  export TENANT={demo.tenant}
  export PICKUPBOX_DATABASE_URL={demo.database_url}
  curl -s $BASE_URL/boxes -H "Authorization: Bearer $API_KEY"

The README walks a shipment through its whole life. Reference: {demo.base_url}/docs
With the last two, every other command acts on this sandbox: pickupbox webhook add --tenant $TENANT …
Ctrl-C ends it; the data stays (--fresh begins anew).
""",
        highlight=False,
        soft_wrap=True,
    )
