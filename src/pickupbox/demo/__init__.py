"""A whole sandbox on loopback: its own database, two tenants with two boxes each, every process, virtual boxes."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from rich.console import Console

from pickupbox.demo.processes import broker_answers, folder_of, page_ports, running, take_port
from pickupbox.demo.seeding import PEOPLE, Seeded, all_heard, keep_admin_url, seed
from pickupbox.demo.seeding import DemoError as DemoError

LOCAL_BROKER = "mqtt://127.0.0.1:1883"
HEARD_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Demo:
    """What `--json` prints."""

    base_url: str
    api_key: str
    other_api_key: str
    tenant: str
    database_url: str
    admin_url: str
    admin_email: str
    admin_password: str
    box_pages: dict[str, str] = field(default_factory=dict)


def run(server_url: str, port: int, *, fresh: bool, as_json: bool) -> None:
    """Make what is missing, start every process, say what to do next, wait for SIGTERM or Ctrl-C."""
    signal.signal(signal.SIGTERM, _stop)
    take_port(port)
    mqtt_url = os.environ.get("PICKUPBOX_MQTT_URL", LOCAL_BROKER)
    with_boxes = broker_answers(mqtt_url)
    if not with_boxes:
        Console(stderr=True).print(
            f"No MQTT broker answers at {mqtt_url}: the sandbox runs without boxes.\n"
            "Start one (Debian: apt install mosquitto), or set PICKUPBOX_MQTT_URL, and start the demo again.",
            style="yellow",
        )
    began = datetime.now(UTC)
    try:
        seeded = asyncio.run(seed(server_url, f"pickupbox_demo_{port}", mqtt_url, fresh=fresh))
        *pages, admin_port = page_ports(port, len(seeded.boxes) + 1)
        pages = pages if with_boxes else []
        asyncio.run(keep_admin_url(seeded, f"http://127.0.0.1:{admin_port}"))
        with running(seeded, port, admin_port, pages, folder_of(port, fresh=fresh)) as children:
            if with_boxes:
                asyncio.run(_wait_until_heard(seeded, began))
            _say(_demo(seeded, port, admin_port, pages), as_json=as_json)
            while all(child.poll() is None for child in children):
                time.sleep(0.2)
            raise DemoError("A process of the demo ended by itself; its last words are above.")
    except KeyboardInterrupt:
        return


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


async def _wait_until_heard(seeded: Seeded, since: datetime) -> None:
    try:
        async with asyncio.timeout(HEARD_SECONDS):
            while not await all_heard(seeded, since):  # noqa: ASYNC110 - it asks the database
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise DemoError(
            f"The virtual boxes were not heard within {HEARD_SECONDS} s over {seeded.settings.mqtt_url}. Does the "
            "broker let in who has no name? What the boxes said is above."
        ) from None


def _demo(seeded: Seeded, port: int, admin_port: int, pages: Sequence[int]) -> Demo:
    return Demo(
        base_url=f"http://127.0.0.1:{port}/v1",
        api_key=seeded.api_key,
        other_api_key=seeded.other_api_key,
        tenant=seeded.tenant,
        database_url=seeded.settings.database_url,
        admin_url=f"http://127.0.0.1:{admin_port}/",
        admin_email=PEOPLE[0][0],
        admin_password=seeded.password,
        box_pages={box.id: f"http://127.0.0.1:{page}/" for box, page in zip(seeded.boxes, pages, strict=False)},
    )


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

With these four set, every other command acts on this sandbox: pickupbox webhook add --tenant $TENANT …

{_pages(demo)}
The administration: [bold]{demo.admin_url}[/bold]
  {" or ".join(email for email, *_ in PEOPLE)}, password [bold]{demo.admin_password}[/bold]

docs/quickstart.md goes on from here. Reference, to try every call: {demo.base_url}/docs
Ctrl-C ends it; the data stays (--fresh begins anew).
""",
        highlight=False,
        soft_wrap=True,
    )


def _pages(demo: Demo) -> str:
    if not demo.box_pages:
        return "It has no boxes to play with."
    first, second, *_ = demo.box_pages.values()
    return f"Its two boxes, to play with in a browser: [bold]{first}[/bold] and {second}"
