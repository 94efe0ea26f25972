"""The body of a webhook is PublicWebhookEvent, to the letter and to the byte, at every attempt."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.api.schemas import PublicWebhookData, PublicWebhookEvent
from pickupbox.database import lanes
from pickupbox.database.lanes import Claimed, Settled, Wish
from pickupbox.domain.identifiers import identifier
from pickupbox.domain.lifecycle import Event
from pickupbox.webhooks.bodies import body_of, example_of
from tests.support.shop import Shop
from tests.webhooks.receiving import subscribe

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
ODD = [
    '"',
    "\\",
    "\n\t",
    "\x01\x1f\x7f",
    "</script>",
    "\u2028\u2029\u202e\ufeff",
    "Zürich 東京 🐎",
    "{}%s{0}",
    "' OR 1=1",
]


def checked(body: bytes) -> PublicWebhookEvent:
    """The event in a body; it has the contract's fields in the contract's order, and nothing else."""
    raw = json.loads(body)
    assert list(raw) == list(PublicWebhookEvent.model_fields)
    assert list(raw["data"]) == list(PublicWebhookData.model_fields)
    moments = [raw["occurred_at"], raw["data"]["pickup_available_at"], raw["data"]["pickup_expires_at"]]
    assert all(moment is None or MOMENT.fullmatch(moment) for moment in moments)
    return PublicWebhookEvent.model_validate_json(body, strict=True)


async def tell(shop: Shop, endpoint: str, outcome: str = "accepted") -> list[tuple[Claimed, bytes]]:
    """Claim what is due, settle it by that outcome, and give back what would have been sent."""
    async with shop.core.db.connection() as connection:
        claimed = await lanes.claim(connection, [Wish(endpoint, 100, probe=False)])
        delay = None if outcome == "accepted" else 0.0
        await lanes.settle_many(connection, [Settled(c, outcome, delay, 200, None, 1, "") for c in claimed])
    return [(c, body_of(c.event_id, c.event_type, c.occurred_at, c.data)) for c in claimed]


async def test_every_type_of_event_is_the_event_of_the_contract(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    await shop.reserved("A", "loaded", "picked_up", "door_available")
    await shop.reserved("B", "loaded", "expired", "removed")
    await shop.cancel(await shop.reserved("C"))
    faulted = await shop.reserved("D", "fault", "removed")
    await shop.retry(faulted)
    seen: dict[Event, list[PublicWebhookEvent]] = {}
    for _ in range(6):
        for claimed, body in await tell(shop, endpoint):
            event = checked(body)
            assert (event.id, event.type, event.occurred_at) == (
                claimed.event_id,
                claimed.event_type,
                claimed.occurred_at,
            )
            assert event.data.shipment_id == claimed.shipment_id
            assert event.data.box_id == shop.box_id
            seen.setdefault(event.type, []).append(event)
    assert set(seen) == set(Event)
    assert [e.data.retry_of_shipment_id for e in seen[Event.RESERVED] if e.data.attempt_number == 2] == [faulted]
    (loaded,) = seen[Event.LOADED]
    assert loaded.data.pickup_available_at is not None
    assert loaded.data.pickup_expires_at is not None


@pytest.mark.parametrize("text", ODD)
async def test_odd_characters_of_orders_and_box_names_arrive_as_they_are(shop: Shop, text: str) -> None:
    endpoint = (await subscribe(shop)).id
    box = await shop.add_box(1, name=text)
    assert (await shop.reserve(f"order {text}", box)).status_code == 201
    ((_, body),) = await tell(shop, endpoint)
    event = checked(body)
    assert (event.data.external_order_id, event.data.box_name) == (f"order {text}", text)


async def test_the_bytes_are_the_same_at_every_attempt_whatever_happens_in_between(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("order ü")
    bodies = [body for _, body in await tell(shop, endpoint, "failed")]
    await shop.simulate(shipment, "loaded")
    async with shop.core.db.connection() as connection:
        await connection.execute("UPDATE boxes SET name = 'Renamed' WHERE id = $1", shop.box_id)
    bodies += [body for _, body in await tell(shop, endpoint, "failed")]
    bodies += [body for _, body in await tell(shop, endpoint, "failed")]
    assert len(bodies) == 3
    assert len(set(bodies)) == 1


@pytest.mark.parametrize("event_type", [*Event])
def test_an_example_of_every_type_is_the_event_of_the_contract(event_type: Event) -> None:
    now = datetime.now(UTC)
    event = checked(example_of("c1", "evt_c1_x", event_type, now))
    assert (event.id, event.type, event.occurred_at) == ("evt_c1_x", event_type, now)
    assert event.data.shipment_id == "shp_c1_example"


@given(st.datetimes(min_value=datetime(2024, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - Hypothesis adds the zone
def test_any_moment_is_written_in_utc_with_microseconds(moment: datetime) -> None:
    body = json.loads(body_of(identifier("evt", "c1", 1, bytes(10)), Event.LOADED, moment, "{}"))
    assert MOMENT.fullmatch(body["occurred_at"])
    assert datetime.fromisoformat(body["occurred_at"]) - moment == timedelta(0)
