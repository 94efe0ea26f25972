"""The fleet's shop: it reserves and cancels over HTTP like any other, and reads in the feed how its shipments go."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from pickupbox.domain.lifecycle import Event
from pickupbox.fleet.figures import Figures

EXCHANGE_SECONDS = 10.0
TRIES = 3
TRY_AGAIN_SECONDS = 1.0
LOOK_SECONDS = 0.5
PAGE = 1000
CONNECTIONS = 50


class ApiError(Exception):
    """The API did not do what it was asked; the text says what it answered."""


@dataclass
class Story:
    """A shipment, and what the shop has been told of it."""

    id: str
    pin: str
    compartment: str
    told: set[str] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def tells(self, *events: Event) -> Event:
        """Wait for the first of these."""
        while True:
            for event in events:
                if event in self.told:
                    return event
            self.changed.clear()
            await self.changed.wait()


class Shop:
    def __init__(self, base_url: str, api_key: str, figures: Figures) -> None:
        self._base_url = base_url.rstrip("/")
        self._figures = figures
        self._stories: dict[str, Story] = {}
        self._last: str | None = None
        self._http = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=aiohttp.ClientTimeout(total=EXCHANGE_SECONDS),
            connector=aiohttp.TCPConnector(limit=CONNECTIONS),
        )

    async def close(self) -> None:
        await self._http.close()

    async def reserve(self, box_id: str, order: str) -> Story | None:
        """None: every compartment of the box is taken."""
        status, made = await self._post("/shipments", {"box_id": box_id, "external_order_id": order})
        if status == 409 and made["error"]["code"] == "no_compartment_available":
            return None
        if status != 201:
            raise ApiError(f"reserve: {status} {made}")
        story = Story(made["id"], made["pickup_pin"], made["compartment_code"])
        self._stories[story.id] = story
        return story

    async def cancel(self, story: Story) -> None:
        status, answer = await self._post(f"/shipments/{story.id}/cancel", None)
        if status != 200:
            raise ApiError(f"cancel: {status} {answer}")

    def forget(self, story: Story) -> None:
        del self._stories[story.id]

    async def _post(self, path: str, body: Mapping[str, str] | None) -> tuple[int, Any]:
        """Both calls may be repeated: when the service is away for a moment, they are."""
        for last in (False,) * (TRIES - 1) + (True,):
            began = time.perf_counter()
            try:
                async with self._http.post(self._base_url + path, json=body) as response:
                    answer = await response.json()
            except (aiohttp.ClientError, TimeoutError) as error:
                if last:
                    raise ApiError(f"{path}: {error!r}") from None
            else:
                self._figures.api.add(time.perf_counter() - began)
                if last or response.status < 500:
                    return response.status, answer
            await asyncio.sleep(TRY_AGAIN_SECONDS)
        raise AssertionError

    async def catch_up(self) -> None:
        """Read past what earlier fleets have left in the feed; raises ApiError if there is no API."""
        try:
            while await self._read_on():
                pass
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiError(f"{self._base_url} does not answer: {error!r}") from None

    async def follow(self) -> None:
        """Tell every story on, for ever; an API that is away for a moment is asked again."""
        while True:
            try:
                more = await self._read_on()
            except (aiohttp.ClientError, TimeoutError, ApiError):
                more = False
            if not more:
                await asyncio.sleep(LOOK_SECONDS)

    async def _read_on(self) -> bool:
        """Read one page; whether there is more."""
        after = {} if self._last is None else {"after": self._last}
        async with self._http.get(self._base_url + "/events", params={"limit": str(PAGE), **after}) as response:
            if response.status != 200:
                raise ApiError(f"{self._base_url}/events: {response.status} {(await response.text())[:200]}")
            page = await response.json()
        for event in page["items"]:
            self._last = event["id"]
            story = self._stories.get(event["data"]["shipment_id"])
            if story is not None:
                story.told.add(event["type"])
                story.changed.set()
        more: bool = page["has_more"]
        return more
