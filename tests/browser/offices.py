"""A demo with everything running, its mail, its shop, and people with browsers."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

import httpx
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as Inbox
from playwright.async_api import Browser, Page, expect

from tests.box.street import Broker
from tests.readme.demos import running_demo, without_settings
from tests.support.processes import free_port

PHONE = (390, 844)
DESK = (1280, 900)
SHOWN_SECONDS = 30.0
COMMAND_SECONDS = 120  # a command imports the whole service
EXPECTED = ("status of 404", "status of 422")  # what is not there, and a form that was not filled in right


class Mail(Inbox):
    """A mail server that keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[Message] = []

    def handle_message(self, message: Message) -> None:
        self.received.append(message)

    async def link_to(self, address: str) -> str:
        """The link in the newest mail to that address, once it has come."""
        async with asyncio.timeout(30):
            while not (mine := [one for one in self.received if one["To"] == address]):  # noqa: ASYNC110 - a thread writes it
                await asyncio.sleep(0.1)
        text = mine[-1].get_payload(decode=True)
        assert isinstance(text, bytes)
        found = re.search(rb"http://\S+/link/\S+", text)
        assert found is not None, text
        return found[0].decode()


@dataclass(frozen=True, slots=True)
class Street:
    """What the demo said of itself."""

    said: dict[str, Any]
    mail: Mail
    orders: Iterator[int] = field(default_factory=lambda: iter(range(1, 1000)))

    @property
    def box_id(self) -> str:
        return next(iter(self.said["box_pages"]))

    @property
    def box_page(self) -> str:
        page: str = self.said["box_pages"][self.box_id]
        return page

    def call(self, method: str, path: str, api_key: str | None = None, **more: Any) -> dict[str, Any]:
        """A call of the shop."""
        headers = {"Authorization": f"Bearer {api_key or self.said['api_key']}"}
        answer = httpx.request(method, self.said["base_url"] + path, headers=headers, timeout=30, **more)
        assert answer.is_success, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def reserve(self, *events: str, api_key: str | None = None) -> dict[str, Any]:
        """A shipment that went through the simulated events."""
        body = {"box_id": self.box_id, "external_order_id": f"order-{1000 + next(self.orders)}"}
        shipment = self.call("POST", "/shipments", api_key, json=body)
        for event in events:
            path = f"/sandbox/shipments/{shipment['id']}/events"
            shipment = self.call("POST", path, api_key, json={"event": event}) | {"id": shipment["id"]}
        return shipment

    async def shows(self, shipment: str, *wanted: object) -> None:
        """Wait until the API shows status, compartment state and pickup enabled so."""
        read: dict[str, Any] = {}
        try:
            async with asyncio.timeout(SHOWN_SECONDS):
                while (read.get("status"), read.get("compartment_state"), read.get("pickup_enabled")) != wanted:
                    await asyncio.sleep(0.1)
                    read = await asyncio.to_thread(self.call, "GET", f"/shipments/{shipment}")
        except TimeoutError:
            raise AssertionError(f"it shows {read}") from None

    def command(self, *arguments: str) -> str:
        """What `pickupbox …` says of the demo, to somebody who knows no more than its database."""
        environment = {**without_settings(), "PICKUPBOX_DATABASE_URL": self.said["database_url"]}
        command = [sys.executable, "-m", "pickupbox", *arguments]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@contextmanager
def a_street(folder: Path) -> Iterator[Street]:
    broker, mail = Broker(folder), Mail()
    server = Controller(mail, hostname="127.0.0.1", port=free_port())
    server.start()
    variables = {
        "PICKUPBOX_MQTT_URL": f"mqtt://127.0.0.1:{broker.port}",
        "PICKUPBOX_SMTP_URL": f"smtp://127.0.0.1:{server.port}",
    }
    try:
        with running_demo("--json", **variables) as demo:
            yield Street(json.loads(demo.said_when_ready("{").splitlines()[-1]), mail)
    finally:
        server.stop()
        broker.kill()


@asynccontextmanager
async def a_person(browser: Browser, size: tuple[int, int] = DESK, **manners: Any) -> AsyncIterator[Page]:
    """Somebody with a browser of their own; an error in a script or a breach of the policy fails the test."""
    context = await browser.new_context(viewport={"width": size[0], "height": size[1]}, **manners)
    tab = await context.new_page()
    tab.set_default_timeout(20_000)
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    try:
        yield tab
    finally:
        await context.close()
    unexpected = [text for text in wrong if not any(known in text for known in EXPECTED)]
    assert not unexpected, unexpected


async def sign_in(tab: Page, street: Street, email: str, password: str | None = None) -> None:
    await tab.goto(street.said["admin_url"] + "sign-in")
    await tab.get_by_label("E-mail address").fill(email)
    await tab.get_by_role("button", name="Continue").click()
    await tab.get_by_label("Password").fill(password or street.said["admin_password"])
    await tab.get_by_role("button", name="Sign in").click()
    await expect(tab.get_by_role("heading", level=1, name="Overview")).to_be_visible()


async def still_me(tab: Page, password: str) -> None:
    """Answer the question that comes before what is guarded."""
    await expect(tab.get_by_role("heading", name="Is it still you?")).to_be_visible()
    await tab.get_by_label("Password").fill(password)
    await tab.get_by_role("button", name="Confirm by password").click()


Picture = Callable[[str], Path]
