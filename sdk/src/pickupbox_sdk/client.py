"""The client."""

import random
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self, TypeVar

import httpx2

from pickupbox_sdk import calls
from pickupbox_sdk.answers import Answer
from pickupbox_sdk.attempts import Failure, Policy, Send, Sleep, attempts
from pickupbox_sdk.calls import Call
from pickupbox_sdk.exchange import address_of, answer_of, failure_of, request_of
from pickupbox_sdk.feed import reading
from pickupbox_sdk.models import Box, CreatedShipment, Event, EventPage, PickupPin, Shipment

T = TypeVar("T")


class Pickupbox:
    """Reserve compartments in pickup boxes and follow shipments.

    One client serves all threads; close it, or use it in a `with`.

    What passes is tried again, with growing waits: no connection, no answer, and the statuses 429, 500, 502, 503 and
    504; Retry-After is obeyed. An attempt takes at most `timeout` seconds to connect, to send and between two parts of
    the answer; there are at most `max_retries` more, and none begins later than `deadline` seconds after the call.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        timeout: float = 10.0,
        max_retries: int = 5,
        deadline: float = 30.0,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._policy = Policy(timeout, max_retries, deadline)
        self._address = address_of(api_key, base_url)
        self._http = httpx2.Client(transport=transport)
        self._sleep = sleep

    def list_boxes(self) -> list[Box]:
        """The active boxes of the shop."""
        return self._do(calls.list_boxes())

    def create_shipment(
        self,
        box_id: str,
        external_order_id: str,
        *,
        customer_name: str | None = None,
        reservation_ttl_minutes: int | None = None,
        pickup_ttl_minutes: int | None = None,
    ) -> CreatedShipment:
        """Reserve a compartment for an order and get its PIN.

        Safe to repeat: the same order and box return the first shipment and its PIN, and reserve nothing more. So an
        attempt whose answer never came is repeated by itself. After a fault use `retry_shipment`.
        """
        return self._do(
            calls.create_shipment(box_id, external_order_id, customer_name, reservation_ttl_minutes, pickup_ttl_minutes)
        )

    def get_shipment(self, shipment_id: str) -> Shipment:
        """The shipment as it stands now, without its PIN."""
        return self._do(calls.get_shipment(shipment_id))

    def find_shipments(self, external_order_id: str) -> list[Shipment]:
        """All attempts of an order, the first one first; none if the order is not known."""
        return self._do(calls.find_shipments(external_order_id))

    def get_pickup_pin(self, shipment_id: str) -> PickupPin:
        """The PIN of a reserved or loaded shipment. Every call is recorded in the audit trail."""
        return self._do(calls.get_pickup_pin(shipment_id))

    def cancel_shipment(self, shipment_id: str) -> Shipment:
        """Cancel a reserved or loaded shipment. Safe to repeat: cancelling twice changes nothing."""
        return self._do(calls.cancel_shipment(shipment_id))

    def retry_shipment(self, shipment_id: str) -> CreatedShipment:
        """Reserve anew for a faulted shipment whose compartment is available. Keep the new id.

        Safe to repeat: the same faulted shipment returns the same new attempt and PIN.
        """
        return self._do(calls.retry_shipment(shipment_id))

    def simulate_event(self, shipment_id: str, event: str) -> Shipment:
        """In the sandbox: let `loaded`, `picked_up`, `door_available`, `expired`, `fault` or `removed` happen.

        Not safe to repeat, so it is tried again only if it surely was not done.
        """
        return self._do(calls.simulate_event(shipment_id, event))

    def list_events(self, after: str | None = None, limit: int = 100) -> EventPage:
        """At most `limit` events that follow the one called `after`, or the oldest that are kept."""
        return self._do(calls.list_events(after, limit))

    def events(
        self,
        after: str | None = None,
        *,
        limit: int = 100,
        follow: bool = False,
        poll_seconds: float = 1.0,
        idle_timeout: float | None = None,
    ) -> Iterator[Event]:
        """Every event after the one called `after`, without gaps, each shipment's in order; `limit` to a page.

        With `follow` it does not end, but asks again every `poll_seconds`, until nothing came for `idle_timeout`.
        Keep the id of the last event that you handled: after an exception or a restart, go on from there.
        """
        steps = reading(after, limit, follow=follow, poll_seconds=poll_seconds, idle_timeout=idle_timeout)
        page: EventPage | None = None
        while True:
            try:
                step = steps.send(page)
            except StopIteration:
                return
            if isinstance(step, Sleep):
                self._sleep(step.seconds)
                page = None
            else:
                page = self._do(step)
                yield from page.items

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _do(self, call: Call[T]) -> T:
        steps = attempts(call, self._policy, time.monotonic, random.random)
        outcome: Answer | Failure | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            if isinstance(step, Sleep):
                self._sleep(step.seconds)
                outcome = None
            else:
                outcome = self._send(step)

    def _send(self, step: Send) -> Answer | Failure:
        try:
            return answer_of(self._http.send(request_of(step.call, self._address, step.timeout)))
        except httpx2.RequestError as error:
            return failure_of(error)
