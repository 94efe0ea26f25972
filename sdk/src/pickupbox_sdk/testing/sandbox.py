"""What a shop's test holds: a sandbox of its own, the clients that speak with it, and its webhooks."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from pickupbox_sdk.async_client import AsyncPickupbox
from pickupbox_sdk.client import Pickupbox
from pickupbox_sdk.errors import ApiError, ConnectionFailed
from pickupbox_sdk.models import Box
from pickupbox_sdk.testing.service import Service, refusal
from pickupbox_sdk.testing.transport import SandboxTransport
from pickupbox_sdk.webhooks import sign

Receiver = Callable[[bytes, Mapping[str, str]], object]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook as it arrives."""

    body: bytes
    headers: Mapping[str, str]


class Sandbox:
    """A Pickupbox sandbox in memory, with one box of 12 compartments.

    It answers as the real one: lifecycle, refusals, idempotent calls, events. Its clock stands still until
    `let_time_pass`. There is no rate limit; `fail_next` and `lose_next_answer` make what seldom happens.
    """

    base_url = "http://pickupbox.test/v1"
    api_key = "pbx_test_sandbox"
    webhook_secret = "whsec_aW4gbWVtb3J5LCBmb3IgdGVzdHMgYWxvbmUuLi4="  # noqa: S105 - opens nothing

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self._service = Service()
        self._receivers: list[Receiver] = []
        self._told = 0
        self._delivering = False
        self.transport = SandboxTransport(self._service, self.api_key, self._deliver)
        self.box = self.add_box("Test box", location_name="Here", address="Test street 1")

    def client(self, **options: Any) -> Pickupbox:
        """A client of this sandbox; when it waits, the sandbox's clock moves and nobody waits."""
        return Pickupbox(
            self.api_key, self.base_url, transport=self.transport, **{"sleep": self.let_time_pass} | options
        )

    def async_client(self, **options: Any) -> AsyncPickupbox:
        """As `client`, for asyncio."""

        async def sleep(seconds: float) -> None:
            self.let_time_pass(seconds)

        return AsyncPickupbox(self.api_key, self.base_url, transport=self.transport, **{"sleep": sleep} | options)

    def add_box(
        self,
        name: str,
        *,
        compartments: int = 12,
        location_name: str | None = None,
        address: str | None = None,
        protection_seconds: float = 5,
        reservation_ttl_minutes: int = 1440,
        pickup_ttl_minutes: int = 2880,
    ) -> Box:
        """One more box."""
        return self._service.add_box(
            name,
            location_name,
            address,
            compartments,
            protection_seconds,
            reservation_ttl_minutes,
            pickup_ttl_minutes,
        )

    def let_time_pass(self, seconds: float) -> None:
        """Move the clock: protection ends and `loaded` is told, reservations and pickups expire."""
        self._service.let_time_pass(seconds)
        self._deliver()

    def deliver_to(self, receiver: Receiver) -> None:
        """Call `receiver(body, headers)` with every webhook from now on, before the call that caused it returns.

        All webhooks are in `deliveries` too, for a receiver that has to be awaited.
        """
        self._receivers.append(receiver)

    def fail_next(
        self, kind: type[ApiError] | type[ConnectionFailed], *, times: int = 1, retry_after: float | None = None
    ) -> None:
        """Refuse the next requests and do nothing: `fail_next(RateLimited, retry_after=2)`."""
        for _ in range(times):
            if issubclass(kind, ApiError):
                self.transport.failures.append(refusal(kind, retry_after=retry_after))
            else:
                self.transport.failures.append(httpx2.ConnectError("no connection, as the test wants it"))

    def lose_next_answer(self, *, times: int = 1) -> None:
        """Do what the next requests ask, and lose the answers on their way."""
        self.transport.lost_answers += times

    def _deliver(self) -> None:
        if self._delivering:  # a receiver that calls back gets the rest when it returns
            return
        self._delivering = True
        try:
            while self._told < len(self._service.events):
                event = self._service.events[self._told]
                self._told += 1
                body = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
                # By this machine's clock, not the sandbox's: the receiver compares it with its own.
                headers = sign(self.webhook_secret, event["id"], int(time.time()), body)
                self.deliveries.append(Delivery(body, {"Content-Type": "application/json", **headers}))
                for receiver in self._receivers:
                    receiver(body, self.deliveries[-1].headers)
        finally:
            self._delivering = False
