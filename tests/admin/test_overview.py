"""The overview: what needs a hand, live and of one tenant alone; today's numbers and the chart's data."""

import json
import re
from typing import Any

import pytest

from pickupbox.admin.live import TOPICS
from pickupbox.database import attention
from pickupbox.domain.roles import Role
from pickupbox.usecases.attention import Attention, Watch
from tests.admin.office import Office
from tests.api.feeds import settled
from tests.support.shop import Shop


async def look(shop: Shop) -> Attention:
    return (await Watch().look(shop.core, [shop.tenant]))[shop.tenant]


async def run(shop: Shop, statement: str, *values: Any) -> None:
    async with shop.core.db.connection() as connection:
        await connection.execute(statement, *values)


async def add_device(shop: Shop, *, online: bool, seen_seconds: float | None) -> str:
    device_id = shop.core.new_id("dev")
    await run(
        shop,
        """
        INSERT INTO devices (tenant_id, id, box_id, online, last_seen_at)
        VALUES ($1, $2, $3, $4, now() - make_interval(secs => $5))
        """,
        shop.tenant,
        device_id,
        await shop.add_box(),
        online,
        seen_seconds,
    )
    return device_id


async def test_a_tenant_without_trouble_is_told_so(office: Office) -> None:
    assert (await look(office.shop)).quiet
    await office.shop.reserved("A", "loaded")
    assert (await look(office.shop)).quiet
    assert "All is well" in (await (await office.sign_in(Role.VIEWER)).get("/")).text


async def test_what_awaits_removal_is_there_the_longest_waiting_first(shop: Shop) -> None:
    await shop.reserved("fine")
    held = [await shop.reserved("A", "fault"), await shop.reserved("B", "loaded", "expired")]
    await shop.reserved("C", "fault", "removed")
    found = await look(shop)
    assert [one.shipment_id for one in found.held.first] == held
    assert (found.held.count, found.held.more, found.under_way) == (2, False, 0)
    await run(
        shop, "INSERT INTO removals (tenant_id, shipment_id, command_id) VALUES ($1, $2, 'cmd')", shop.tenant, held[0]
    )
    assert (await look(shop)).under_way == 1


async def test_more_than_can_be_counted_is_said_to_be_more(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        await shop.reserved(f"order-{number}", "fault")
    monkeypatch.setattr("pickupbox.usecases.attention.MOST", 3)
    found = await look(shop)
    assert (found.held.count, found.held.more) == (3, True)


async def test_a_box_is_offline_when_it_was_heard_before_and_is_not_now(shop: Shop) -> None:
    await add_device(shop, online=True, seen_seconds=1)
    await add_device(shop, online=False, seen_seconds=None)  # enrolled, never heard
    assert (await look(shop)).offline.count == 0
    await add_device(shop, online=False, seen_seconds=30)  # the broker said so
    await add_device(shop, online=True, seen_seconds=600)  # fell silent
    revoked = await add_device(shop, online=False, seen_seconds=900)
    await run(shop, "UPDATE devices SET revoked_at = now() WHERE id = $1", revoked)
    found = (await look(shop)).offline
    assert found.count == 2
    assert found.first[0].last_seen_at < found.first[1].last_seen_at


async def test_a_door_needs_a_hand_when_it_is_open_for_longer_than_its_box_allows(shop: Shop) -> None:
    opened = """
        INSERT INTO doors (tenant_id, box_id, code, is_open, changed_at)
        VALUES ($1, $2, $3, $4, now() - make_interval(secs => $5))
    """
    await run(shop, opened, shop.tenant, shop.box_id, "A1", True, 100)
    await run(shop, opened, shop.tenant, shop.box_id, "A2", False, 1000)
    await run(shop, opened, shop.tenant, shop.box_id, "A3", True, 200)
    assert [one.code for one in (await look(shop)).open_doors.first] == ["A3"]


async def test_an_endpoint_needs_a_hand_while_it_fails_or_is_disabled(shop: Shop) -> None:
    for slot in (1, 2, 3):
        await run(
            shop,
            """
            INSERT INTO webhook_endpoints (tenant_id, id, slot, url, description, secret_id, secret_sealed)
            VALUES ($1, $2, $3, $4, '', 'k1', 'x')
            """,
            shop.tenant,
            f"whe_{shop.tenant}_{slot}",
            slot,
            f"https://shop.test/{slot}",
        )
    assert (await look(shop)).failing == ()
    await run(shop, "INSERT INTO webhook_failures (endpoint_id, failures) VALUES ($1, 3)", f"whe_{shop.tenant}_2")
    await run(
        shop,
        "UPDATE webhook_endpoints SET enabled = false, disabled_at = now(), disabled_because = 'gone' WHERE id = $1",
        f"whe_{shop.tenant}_3",
    )
    assert [one.url for one in (await look(shop)).failing] == ["https://shop.test/2", "https://shop.test/3"]


async def test_the_trouble_of_another_tenant_is_not_seen(shop: Shop, other_shop: Shop) -> None:
    await other_shop.reserved("A", "fault")
    await add_device(other_shop, online=False, seen_seconds=30)
    assert (await look(shop)).quiet
    topic = TOPICS["tenant"]
    assert await topic.fetch(shop.core, [(shop.tenant, other_shop.tenant)]) == {}
    both = await topic.fetch(shop.core, [(shop.tenant, shop.tenant), (other_shop.tenant, other_shop.tenant)])
    assert both[shop.tenant, shop.tenant].quiet
    assert not both[other_shop.tenant, other_shop.tenant].quiet


async def test_what_is_live_is_the_same_until_something_changes(shop: Shop) -> None:
    topic, thing = TOPICS["tenant"], (shop.tenant, shop.tenant)
    await shop.reserved("A", "fault")
    first = (await topic.fetch(shop.core, [thing]))[thing]
    assert (await topic.fetch(shop.core, [thing]))[thing] == first
    shipment = await shop.reserved("B", "fault")
    after = (await topic.fetch(shop.core, [thing]))[thing]
    assert after != first
    assert shipment in topic.render(after)["attention"]


async def test_what_fell_silent_is_not_searched_for_at_every_ring(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    list_silent = attention.list_silent

    async def overheard(connection: Any, tenants: list[str]) -> Any:
        asked.append(tenants)
        return await list_silent(connection, tenants)

    monkeypatch.setattr(attention, "list_silent", overheard)
    watch = Watch()
    for _ in range(3):
        await watch.look(shop.core, [shop.tenant])
    assert asked == [[shop.tenant]]


async def test_todays_numbers_and_the_chart_are_what_happened(office: Office) -> None:
    shop = office.shop
    await shop.reserved("A", "loaded", "picked_up", "door_available")
    await shop.reserved("B", "loaded")
    await settled(shop)
    text = (await (await office.sign_in(Role.VIEWER)).get("/")).text
    tiles = dict(re.findall(r'data-today="(\w+)">(\d+)<', text))
    found = re.search(r'id="figures">(.+?)</script>', text)
    assert found is not None
    figures = json.loads(found[1])
    assert len(figures["hours"]) == 15 * 24
    assert figures["first"] % 3600 == 0
    # An hour or a day may have ended meanwhile: the sums are sure.
    reserved, _, picked_up, *_, in_use = (sum(column) for column in zip(*figures["hours"][-2:], strict=True))
    assert (reserved, picked_up) == (2, 1)
    assert figures["hours"][-1][-1] == 1
    assert in_use in (1, 2)
    assert tiles["reserved"] in ("2", "0")


async def test_todays_numbers_are_told_anew_and_of_one_tenant_alone(shop: Shop, other_shop: Shop) -> None:
    topic, thing = TOPICS["figures"], (shop.tenant, shop.tenant)
    assert await topic.fetch(shop.core, [(shop.tenant, other_shop.tenant)]) == {}
    await other_shop.reserved("A")
    before = (await topic.fetch(shop.core, [thing, (other_shop.tenant, other_shop.tenant)]))[thing]
    await shop.reserved("A")
    await settled(shop)
    after = (await topic.fetch(shop.core, [thing]))[thing]
    assert after != before
    told = json.loads(topic.render(after)["figures"])
    assert len(told["hours"]) == 48
    assert sum(hour[0] for hour in told["hours"]) == 1
    assert told["hours"][-1][-1] == 1


async def test_a_tenant_to_whom_nothing_has_happened_is_told_what_to_do_next(office: Office) -> None:
    assert 'href="/lab"' in (await (await office.sign_in(Role.OPERATOR)).get("/")).text
    assert "Nothing has happened yet" in (await (await office.sign_in(Role.VIEWER)).get("/")).text


async def test_a_viewer_is_offered_no_removals(office: Office) -> None:
    await office.shop.reserved("A", "fault")
    assert 'href="/removals"' not in (await (await office.sign_in(Role.VIEWER)).get("/")).text
    assert 'href="/removals"' in (await (await office.sign_in(Role.OPERATOR)).get("/")).text
