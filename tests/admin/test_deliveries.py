"""The delivery log: what was tried and answered, what comes next; an event sent again, or all since a time."""

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pickupbox.admin.live import TOPICS
from pickupbox.settings import Settings
from pickupbox.usecases import replay_jobs as jobs
from pickupbox.usecases.core import Core
from pickupbox.usecases.delivery_log import find_delivery, list_attempts
from pickupbox.usecases.replay_jobs import begin_replay, newest_replay, stop_replay, work_on_replays
from tests.admin.integrations import administrator, noted, on_this_machine, words
from tests.admin.office import Office
from tests.admin.people import run
from tests.support.shop import Shop
from tests.webhooks.receiving import always, delivering, event_ids, open_receiver, subscribe, waiting

URL = "https://shop.example/hook"
KEPT = """
    INSERT INTO webhook_attempts (at, tenant_id, endpoint_id, shipment_id, sequence, event_id, event_type, number,
        outcome, status, error, milliseconds, answer)
    VALUES ($1, $2, $3, $4, 1, $5, $6, 1, $7, $8, NULL, 7, '') RETURNING true
"""


async def keep(shop: Shop, endpoint: str, at: datetime, event: str, kind: str = "loaded", status: int = 200) -> None:
    """An attempt as a worker keeps it."""
    outcome = "accepted" if status == 200 else "failed"
    await run(shop.core, KEPT, at, shop.tenant, endpoint, "shp_1", event, kind, outcome, status)


async def forget_lanes(shop: Shop) -> None:
    await run(shop.core, "DELETE FROM webhook_lanes WHERE tenant_id = $1 RETURNING true", shop.tenant)


async def walk(shop: Shop, endpoint: str, **wanted: object) -> list[str]:
    """Every event of the log, page by page."""
    found, cursor = list[str](), ""
    for _ in range(100):
        page = await list_attempts(shop.core, shop.tenant, endpoint, cursor, **wanted)  # type: ignore[arg-type]
        found += [attempt.event_id for attempt in page.rows]
        if page.next is None:
            return found
        cursor = page.next
    raise AssertionError("the log has no end")


async def test_pages_of_attempts_have_no_gap_and_no_repetition_though_many_have_one_time(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pickupbox.usecases.delivery_log.ROWS", 3)
    monkeypatch.setattr("pickupbox.usecases.delivery_log.LOOK", 7)
    endpoint = (await subscribe(shop, URL)).id
    now = datetime.now(UTC)
    expected = []
    for batch in range(5):
        at = now - timedelta(seconds=batch)
        for number in range(5):
            event = f"evt_{number}_{batch}"
            await keep(shop, endpoint, at, event, status=500 if number == 2 else 200)
            expected.append((at, event))
    newest_first = [event for _, event in sorted(expected, reverse=True)]
    assert await walk(shop, endpoint) == newest_first
    failed = await walk(shop, endpoint, outcomes=["failed"])
    assert failed == [event for event in newest_first if event.startswith("evt_2_")]
    assert await walk(shop, endpoint, event_type="expired") == []


async def test_a_page_that_looked_far_without_finding_enough_says_how_far(
    office: Office, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pickupbox.usecases.delivery_log.LOOK", 4)
    endpoint = (await subscribe(shop, URL)).id
    for number in range(9):
        await keep(shop, endpoint, datetime.now(UTC) - timedelta(hours=number), f"evt_{number}")
    person = await administrator(office)
    said = await person.get(f"/endpoints/{endpoint}/deliveries?outcome=failed")
    assert "There may be older ones." in said.text
    assert "Load more" in said.text


async def test_the_log_shows_attempts_newest_first_and_filters_them(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    endpoint = (await subscribe(shop, URL)).id
    assert "Nothing was sent here yet" in (await person.get(f"/endpoints/{endpoint}/deliveries")).text
    now = datetime.now(UTC)
    await keep(shop, endpoint, now - timedelta(minutes=1), "evt_old", "reserved")
    await keep(shop, endpoint, now, "evt_new", "loaded", 500)
    page = (await person.get(f"/endpoints/{endpoint}/deliveries")).text
    assert page.index("/deliveries/evt_new") < page.index("/deliveries/evt_old")
    assert "It answered 500" in page
    failed = (await person.get(f"/endpoints/{endpoint}/deliveries?outcome=failed")).text
    assert "evt_new" in failed
    assert "evt_old" not in failed
    reserved = (await person.get(f"/endpoints/{endpoint}/deliveries?event=reserved")).text
    assert "evt_new" not in reserved
    assert "evt_old" in reserved
    assert "None of these" in (await person.get(f"/endpoints/{endpoint}/deliveries?event=fault")).text


async def test_one_event_shows_payload_headers_answers_and_what_comes_next(office: Office, settings: Settings) -> None:
    async with on_this_machine(office, settings) as (local, shop), open_receiver() as receiver:
        person = await administrator(local)
        receiver.reply = always(503, b"closed <i>today</i>")
        await subscribe(shop, receiver.url)
        async with delivering(shop.core, schedule=(0, 3600)):
            shipment = await shop.reserved("A")
            await receiver.until(1)
        (event,) = await event_ids(shop.core, [shipment])
        page = await person.get(f"/deliveries/{event}")
        found = await find_delivery(shop.core, shop.tenant, event)
    assert found is not None
    assert found.body == receiver.got[0].body, "the payload is what was sent, to the byte"
    said = words(page.text)
    assert json.dumps(receiver.got[0].event["data"]["external_order_id"]) in said
    for header in ("Service-Event-Id", "Service-Signature", "webhook-timestamp"):
        assert header in said
    assert receiver.got[0].headers["Service-Signature"] not in page.text
    assert "It answered 503" in said
    assert "closed <i>today</i>" in said, "an answer is text"
    assert "Next try" in said
    assert f"/shipments/{shipment}" in page.text


async def test_an_event_that_waits_behind_others_says_so(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    await subscribe(shop, URL)
    shipment = await shop.reserved("A", "expired")
    *_, last = await event_ids(shop.core, [shipment])
    said = words((await person.get(f"/deliveries/{last}")).text)
    assert "Due now" in said
    assert "2 earlier events of this shipment go first." in said


async def test_an_event_that_nobody_subscribed_to_says_so(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    (event,) = await event_ids(shop.core, [await shop.reserved("A")])
    assert "Nobody was told" in (await person.get(f"/deliveries/{event}")).text


async def test_one_event_is_sent_again_and_that_is_noted(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    endpoint = (await subscribe(shop, URL)).id
    shipment = await shop.reserved("A")
    (event,) = await event_ids(shop.core, [shipment])
    await forget_lanes(shop)
    answer = await person.post(f"/deliveries/{event}/replay", {"endpoint": endpoint})
    assert answer.headers["location"] == f"/deliveries/{event}"
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [1])]
    assert (await noted(shop.core, endpoint))[1:] == [(person.id, f"replay.event: {event}")]


async def test_events_and_endpoints_of_others_are_not_there(office: Office, shop: Shop, other_shop: Shop) -> None:
    person = await administrator(office)
    theirs, mine = (await subscribe(other_shop, URL)).id, (await subscribe(shop, URL)).id
    (event,) = await event_ids(shop.core, [await other_shop.reserved("A")])
    (own,) = await event_ids(shop.core, [await shop.reserved("A")])
    await forget_lanes(shop)
    assert (await person.get(f"/deliveries/{event}")).status_code == 404
    assert (await person.post(f"/deliveries/{event}/replay", {"endpoint": mine})).status_code == 404
    assert (await person.post(f"/deliveries/{own}/replay", {"endpoint": theirs})).status_code == 404
    assert await waiting(shop.core, shop.tenant) == []
    assert (await list_attempts(shop.core, shop.tenant, theirs)).rows == []


async def since_yesterday(shop: Shop, endpoint: str) -> str:
    job = await begin_replay(shop.core, shop.caller, endpoint, datetime.now(UTC) - timedelta(days=1))
    assert job is not None
    return job


async def finish(core: Core) -> None:
    while await work_on_replays(core):
        pass


async def test_a_replay_since_a_time_is_worked_off_page_by_page_and_shows_how_far_it_is(
    office: Office, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "BATCH", 4)
    await finish(shop.core)
    person = await administrator(office)
    endpoint = (await subscribe(shop, URL)).id
    for order in "ABC":
        await shop.reserved(order, "expired")
    await forget_lanes(shop)
    since = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M}"
    await person.post(f"/endpoints/{endpoint}/replay", {"since": since})
    page = (await person.get(f"/endpoints/{endpoint}")).text
    assert "Under way" in page
    assert "sse-connect" in page
    assert await work_on_replays(shop.core)
    half = await newest_replay(shop.core, shop.tenant, endpoint)
    assert half is not None
    assert (half.events, half.finished_at) == (4, None)
    await finish(shop.core)
    assert "9 events since" in words((await person.get(f"/endpoints/{endpoint}")).text)
    assert sorted(len(lane) for _, _, lane in await waiting(shop.core, shop.tenant)) == [3, 3, 3]
    assert [act for _, act in await noted(shop.core, endpoint)][1:] == [f"replay.since: {since}:00Z"]


async def test_a_worker_that_dies_in_a_page_loses_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    await finish(shop.core)
    endpoint = (await subscribe(shop, URL)).id
    await shop.reserved("A")
    await forget_lanes(shop)
    await since_yesterday(shop, endpoint)

    async def die(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr("pickupbox.database.replay_jobs.go_on", die)
        with pytest.raises(RuntimeError):
            await work_on_replays(shop.core)
    assert await waiting(shop.core, shop.tenant) == []
    await finish(shop.core)
    assert len(await waiting(shop.core, shop.tenant)) == 1


async def test_one_replay_at_a_time_goes_to_an_endpoint_and_it_can_be_stopped(office: Office, shop: Shop) -> None:
    await finish(shop.core)
    person = await administrator(office)
    endpoint = (await subscribe(shop, URL)).id
    await shop.reserved("A")
    await forget_lanes(shop)
    job = await since_yesterday(shop, endpoint)
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M}"
    again = await person.post(f"/endpoints/{endpoint}/replay", {"since": now})
    assert "problem=under_way" in again.headers["location"]
    assert "is under way. Wait for its end" in (await person.get(again.headers["location"].partition("#")[0])).text
    await person.post(f"/endpoints/{endpoint}/replay/stop", {"replay": job})
    assert not await work_on_replays(shop.core)
    assert await waiting(shop.core, shop.tenant) == []
    assert await noted(shop.core, job) == [(person.id, "replay.stop")]
    assert "Stopped" in (await person.get(f"/endpoints/{endpoint}")).text
    assert (await person.post(f"/endpoints/{endpoint}/replay/stop", {"replay": job})).status_code == 303
    assert len(await noted(shop.core, job)) == 1, "what was over already is not noted"
    assert (await person.post(f"/endpoints/{endpoint}/replay/stop", {"replay": "rpl_c1_none"})).status_code == 404


async def test_a_time_is_typed_in_ones_own_zone_and_kept_in_utc(office: Office, shop: Shop) -> None:
    endpoint = (await subscribe(shop, URL)).id
    person = await administrator(office)
    at = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(hours=5)
    local = at.astimezone(ZoneInfo("Asia/Kathmandu"))
    form = {"since": f"{local:%Y-%m-%dT%H:%M}", "zone": "Asia/Kathmandu"}
    answer = await person.post(f"/endpoints/{endpoint}/replay", form)
    assert "problem" not in answer.headers["location"]
    assert await run(shop.core, "SELECT since FROM replay_jobs WHERE endpoint_id = $1", endpoint) == [(at,)]


@pytest.mark.parametrize("since", ["", "yesterday", "2020-01-01T00:00", "2999-01-01T00:00"])
async def test_a_replay_goes_back_at_most_30_days(office: Office, shop: Shop, since: str) -> None:
    person = await administrator(office)
    endpoint = (await subscribe(shop, URL)).id
    answer = await person.post(f"/endpoints/{endpoint}/replay", {"since": since})
    assert "problem=since" in answer.headers["location"]
    assert await newest_replay(shop.core, shop.tenant, endpoint) is None


async def test_replays_of_others_can_be_neither_stopped_nor_watched(shop: Shop, other_shop: Shop) -> None:
    job = await since_yesterday(other_shop, (await subscribe(other_shop, URL)).id)
    assert not await stop_replay(shop.core, shop.caller, job)
    watched = await TOPICS["replay"].fetch(shop.core, [(shop.tenant, job), (other_shop.tenant, job)])
    assert list(watched) == [(other_shop.tenant, job)]
    assert "Under way" in TOPICS["replay"].render(watched[other_shop.tenant, job])["replay"]
    await finish(shop.core)


async def test_two_workers_share_the_replays_and_do_no_page_twice(shop: Shop, other_shop: Shop) -> None:
    await finish(shop.core)
    for one in (shop, other_shop):
        endpoint = (await subscribe(one, URL)).id
        await one.reserved("A")
        await forget_lanes(one)
        await since_yesterday(one, endpoint)
    async with shop.core.db.transaction() as tx:
        held = await jobs.replay_jobs.take_turn(tx)
        assert held is not None
        other = other_shop.tenant if held.tenant_id == shop.tenant else shop.tenant
        assert await work_on_replays(shop.core)
        assert len(await waiting(shop.core, other)) == 1
        assert await waiting(shop.core, held.tenant_id) == []
    await finish(shop.core)
    assert len(await waiting(shop.core, held.tenant_id)) == 1
