"""A virtual box with its page in this process, a scripted service behind it, and a client as a browser is one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from pickupbox.box.page.play import Play
from pickupbox.box.page.server import serve
from pickupbox.devices.messages import Ack, Heartbeat, Message, PinAnswer, PinEntered, Roster
from pickupbox.domain.doors import Purpose, Verdict
from pickupbox.domain.grants import MARK_LENGTH, Grant, verifier_of, write_grant
from tests.box.street import COMPARTMENTS, SECONDS, Broker, Service, a_service, new_device, settings_for
from tests.support.waiting import until

PIN = "274913"
OWN_PIN, KEY = "580261", "5a" * 32  # what the box knows by its roster


@dataclass
class Page:
    play: Play
    service: Service
    url: str
    client: httpx.AsyncClient
    state: dict[str, Any] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)

    async def act(self, name: str, **what: Any) -> httpx.Response:
        headers = {"Origin": self.url.rstrip("/")}
        return await self.client.post("/act", json={"act": name, **what}, headers=headers)

    async def type_in(self, keys: str) -> None:
        assert (await self.act("press", keys=keys)).status_code == 200

    def door(self, code: str) -> dict[str, Any]:
        (found,) = [door for door in self.state["doors"] if door["code"] == code]
        return found

    def shows(self, title: str) -> bool:
        return bool(self.state["display"]["title"] == title)

    async def listen(self) -> None:
        """What the stream says, as the page's script keeps it."""
        async with self.client.stream("GET", "/events", timeout=None) as stream:
            name = ""
            async for row in stream.aiter_lines():
                self.streamed.append(row)
                if row.startswith("event: "):
                    name = row.removeprefix("event: ")
                elif row.startswith("data: ") and name == "state":
                    self.state = json.loads(row.removeprefix("data: "))
                elif row.startswith("data: "):
                    self.lines.append(json.loads(row.removeprefix("data: ")))


def roster(service: Service, opens_in: timedelta) -> Roster:
    """One parcel in A2, that OWN_PIN collects."""
    now = service.now()
    verifier = verifier_of(bytes.fromhex(KEY), OWN_PIN)
    grant = Grant("A2", Purpose.PICK_UP, "0" * MARK_LENGTH, now + opens_in, now + timedelta(days=2), verifier)
    return service.new(Roster, version=1, part=1, parts=1, key=KEY, grants=[write_grant(grant)])


def script(service: Service, environment: str | None, code: str = "A1") -> None:
    """The service says where it is, and knows one PIN."""

    def answers(message: Message) -> list[Message]:
        if isinstance(message, Heartbeat):
            seq = len(service.taken.get(message.boot, []))
            return [service.new(Ack, boot=message.boot, seq=seq, about=message.id, environment=environment)]
        if not isinstance(message, PinEntered):
            return []
        if message.pin != PIN:
            return [service.new(PinAnswer, about=message.id, verdict=Verdict.REFUSED)]
        opening = service.opening(code, about=message.id)
        return [opening, service.new(PinAnswer, about=message.id, verdict=Verdict.OPENING, compartment=code)]

    service.answers = answers


@asynccontextmanager
async def a_page(
    broker: Broker,
    folder: Path,
    environment: str | None = "sandbox",
    compartments: tuple[str, ...] = COMPARTMENTS,
    **settings: Any,
) -> AsyncIterator[Page]:
    """A page that shows a state; and, if the service is a sandbox, one that can be played with."""
    device = new_device()
    async with a_service(broker, device) as service:
        script(service, environment)
        play = Play(replace(settings_for(broker, folder, device, **settings), compartments=compartments))
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(serve(play, "127.0.0.1", 0, told.set_result))
        playing = asyncio.create_task(play.run())
        listening = None
        try:
            url = await told
            async with httpx.AsyncClient(base_url=url, timeout=SECONDS) as client:
                page = Page(play, service, url, client)
                listening = asyncio.create_task(page.listen())
                await until(lambda: page.state.get("connected") and page.state["environment"] == environment)
                yield page
        finally:
            play.stop()
            for task in (listening, serving):
                if task is not None:
                    task.cancel()
            async with asyncio.timeout(SECONDS):
                await asyncio.gather(playing, serving, *([listening] if listening else []), return_exceptions=True)
