"""One shipment: its words, its timeline from all sources, its attempts; cancel, retry and PIN by a person."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pickupbox.admin.live import TOPICS
from pickupbox.admin.pages.shipment import fits
from pickupbox.database import commands, timelines
from pickupbox.domain.lifecycle import Stage
from pickupbox.domain.roles import Role
from pickupbox.usecases.read import read
from pickupbox.usecases.timeline import read_story
from tests.admin.office import Office
from tests.support.shop import Shop


async def noted(shop: Shop, shipment_id: str) -> list[tuple[str, str]]:
    async with shop.core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT actor, action FROM audit WHERE tenant_id = $1 AND object = $2 ORDER BY id", shop.tenant, shipment_id
        )
    return [(row["actor"], row["action"]) for row in rows]


async def put_in(shop: Shop, statement: str, *values: Any) -> None:
    async with shop.core.db.connection() as connection:
        await connection.execute(statement, *values)


async def busy_shipment(shop: Shop) -> str:
    """A shipment of which all sources know something."""
    shipment_id = await shop.reserved("A-1", "loaded", "fault")
    assert (await shop.pin(await shop.reserved("A-2"))).status_code == 200
    now = datetime.now(UTC)
    async with shop.core.db.connection() as connection:
        await commands.insert(
            connection,
            shop.tenant,
            shop.core.new_id("cmd"),
            device_id="dev",
            box_id=shop.box_id,
            compartment_code="A1",
            purpose="remove",
            shipment_id=shipment_id,
            about=None,
            actor="keypad of box",
        )
    await put_in(
        shop,
        """
        INSERT INTO door_reports (at, tenant_id, box_id, device_id, boot, seq, occurred_at, happening, code,
            shipment_id)
        VALUES ($1, $2, $3, 'dev', 'boot', 1, $1, 'door_opened', 'A1', $4)
        """,
        now + timedelta(seconds=1),
        shop.tenant,
        shop.box_id,
        shipment_id,
    )
    await put_in(
        shop,
        """
        INSERT INTO webhook_attempts (at, tenant_id, endpoint_id, shipment_id, sequence, event_id, event_type, number,
            outcome, status, milliseconds, answer)
        VALUES ($1, $2, 'whe_gone', $3, 1, 'evt', 'reserved', 2, 'failed', 503, 12, '')
        """,
        now + timedelta(seconds=2),
        shop.tenant,
        shipment_id,
    )
    await put_in(
        shop,
        "INSERT INTO audit (at, tenant_id, id, actor, action, object) VALUES ($1, $2, $3, $4, 'pin.reveal: lost', $5)",
        now + timedelta(seconds=3),
        shop.tenant,
        shop.core.new_id("aud"),
        shop.key_id,
        shipment_id,
    )
    return shipment_id


async def test_the_timeline_is_one_list_of_all_sources_the_newest_first(shop: Shop) -> None:
    shipment_id = await busy_shipment(shop)
    story = await read_story(shop.core, shop.tenant, shipment_id)
    assert [(moment.source, moment.what) for moment in story.moments] == [
        ("audit", "pin.reveal: lost"),
        ("webhook", "reserved"),
        ("door", "door_opened"),
        ("command", "remove"),
        ("event", "fault"),
        ("event", "protected"),
        ("event", "reserved"),
    ]
    assert story.moments[0].actor == "test"  # the key's name
    assert story.before is None


@pytest.mark.parametrize("limit", [2, 3, 4, 8])
async def test_a_long_timeline_goes_on_behind_its_page_without_gap_or_repetition(shop: Shop, limit: int) -> None:
    shipment_id = await busy_shipment(shop)
    shipment = await read(shop.core, shop.tenant, shipment_id)
    await shop.simulate(shipment_id, "removed")  # two events of the same moment
    found: list[tuple[str, str]] = []
    until: datetime | None = None
    async with shop.core.db.connection() as connection:
        for _ in range(10):
            moments, until = await timelines.read(connection, shipment, until, limit)
            found += [(moment.source, moment.what) for moment in moments]
            if until is None:
                break
    assert len(found) == 9
    assert len(set(found)) == 9


async def test_another_tenants_shipment_has_no_story(office: Office, other_shop: Shop) -> None:
    theirs = await busy_shipment(other_shop)
    person = await office.sign_in(Role.OWNER)
    for path in ("", "/cancel", "/pin"):
        await person.step_up()
        assert (await person.get(f"/shipments/{theirs}{path}")).status_code == 404
    for path in ("/cancel", "/retry", "/pin"):
        answer = await person.post(f"/shipments/{theirs}{path}", {"typed": "A1", "reason": "because"})
        assert answer.status_code == 404
    assert (await TOPICS["shipment"].fetch(office.core, [(office.shop.tenant, theirs)])) == {}
    assert (await read(other_shop.core, other_shop.tenant, theirs)).stage is Stage.FAULT_HELD


async def test_the_page_tells_each_moment_in_words(office: Office) -> None:
    shipment_id = await busy_shipment(office.shop)
    text = (await (await office.sign_in(Role.VIEWER)).get(f"/shipments/{shipment_id}")).text
    for words in (
        "Fault, awaits removal",
        "The PIN was shown",
        "by test",
        "reserved sent to whe_gone",
        "failed · 503",
        "The door opened",
        "Door commanded open for removal",
        "by PIN at the box",
        "A compartment was reserved",
    ):
        assert words in text, words


async def test_protected_is_said_with_its_time_rather_than_a_bare_loaded(office: Office) -> None:
    shipment_id = await office.shop.reserved("A", "loaded")
    shipment = await read(office.core, office.shop.tenant, shipment_id)
    assert shipment.pickup_available_at is not None
    text = (await (await office.sign_in(Role.VIEWER)).get(f"/shipments/{shipment_id}")).text
    (said,) = re.findall(r'status-words">Protected until <time datetime="([^"]+)"', text)
    assert datetime.fromisoformat(said) == shipment.pickup_available_at.replace(
        microsecond=shipment.pickup_available_at.microsecond // 1000 * 1000
    )


async def test_what_can_be_done_follows_the_stage(shop: Shop) -> None:
    async def able(*journey: str) -> set[str]:
        shipment_id = await shop.reserved("-".join(("order", *journey)), *journey)
        story = await read_story(shop.core, shop.tenant, shipment_id)
        return {act for act in fits(story) if not act.startswith("event-")}

    assert await able() == {"cancel", "fault", "pin"}
    assert await able("loaded") == {"cancel", "fault", "pin"}
    assert await able("fault") == {"remove"}
    assert await able("fault", "removed") == {"retry"}
    assert await able("expired") == set()


async def test_a_cancellation_by_hand_is_confirmed_by_the_doors_code_and_noted(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    shipment_id = await shop.reserved("A", "loaded")
    shipment = await read(shop.core, shop.tenant, shipment_id)
    refused = await person.post(f"/shipments/{shipment_id}/cancel", {"typed": "wrong"})
    assert refused.status_code == 422
    assert (await read(shop.core, shop.tenant, shipment_id)).stage is shipment.stage
    assert await noted(shop, shipment_id) == []
    done = await person.post(f"/shipments/{shipment_id}/cancel", {"typed": shipment.compartment_code.lower()})
    assert (done.status_code, done.headers["location"]) == (303, f"/shipments/{shipment_id}")
    assert (await read(shop.core, shop.tenant, shipment_id)).stage is Stage.CANCELLED_HELD
    assert await noted(shop, shipment_id) == [(person.id, "shipment.cancel")]
    assert "awaits removal" in (await person.get(done.headers["location"])).text


async def test_a_shop_that_cancels_by_its_key_is_not_a_person_in_the_audit_trail(shop: Shop) -> None:
    shipment_id = await shop.reserved("A")
    assert (await shop.cancel(shipment_id)).status_code == 200
    assert await noted(shop, shipment_id) == []


async def test_what_cannot_be_cancelled_is_refused_and_not_noted(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    shipment_id = await shop.reserved("A", "fault")
    answer = await person.post(f"/shipments/{shipment_id}/cancel", {"typed": "A1"})
    assert answer.status_code == 409
    assert await noted(shop, shipment_id) == []


async def test_a_retry_by_hand_makes_the_next_attempt_and_is_noted(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    shipment_id = await shop.reserved("A", "fault", "removed")
    answer = await person.post(f"/shipments/{shipment_id}/retry")
    assert answer.status_code == 303
    following = answer.headers["location"].removeprefix("/shipments/")
    assert (await read(shop.core, shop.tenant, following)).attempt_number == 2
    assert await noted(shop, shipment_id) == [(person.id, "shipment.retry")]
    text = (await person.get(f"/shipments/{shipment_id}")).text
    assert f'href="/shipments/{following}"' in text
    assert fits(await read_story(shop.core, shop.tenant, shipment_id)) == []


async def test_a_retry_that_does_not_fit_is_refused_and_not_noted(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    shipment_id = await shop.reserved("A", "fault")
    assert (await person.post(f"/shipments/{shipment_id}/retry")).status_code == 409
    assert await noted(shop, shipment_id) == []


async def test_a_pin_is_shown_once_for_a_reason_that_is_noted_with_the_person(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    shipment_id = await shop.reserved("A")
    pin = (await shop.pin(shipment_id)).json()["pickup_pin"]
    await person.step_up()
    asked = await person.get(f"/shipments/{shipment_id}/pin")
    assert pin not in asked.text.replace(" ", "")
    without = await person.post(f"/shipments/{shipment_id}/pin", {"reason": " x "})
    assert (without.status_code, "few words" in without.text) == (422, True)
    shown = await person.post(f"/shipments/{shipment_id}/pin", {"reason": "Customer  lost\nthe message"})
    assert (shown.status_code, shown.headers["cache-control"]) == (200, "no-store")
    assert " ".join(pin) in shown.text
    assert (await noted(shop, shipment_id))[1:] == [(person.id, "pin.reveal: Customer lost the message")]
    assert pin not in (await person.get(f"/shipments/{shipment_id}")).text


async def test_a_pin_is_not_shown_before_the_person_has_confirmed_who_they_are(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    shipment_id = await shop.reserved("A")
    answer = await person.post(f"/shipments/{shipment_id}/pin", {"reason": "Customer lost it"})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/confirm")
    assert await noted(shop, shipment_id) == []


async def test_a_finished_shipment_has_no_pin_to_show(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    shipment_id = await shop.reserved("A", "expired")
    await person.step_up()
    assert "no PIN any more" in (await person.get(f"/shipments/{shipment_id}/pin")).text
    assert (await person.post(f"/shipments/{shipment_id}/pin", {"reason": "Why not"})).status_code == 409
    assert await noted(shop, shipment_id) == []


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
async def test_buttons_are_there_for_those_who_may(office: Office, role: Role) -> None:
    shipment_id = await office.shop.reserved("A")
    text = (await (await office.sign_in(role)).get(f"/shipments/{shipment_id}")).text
    assert (f"/shipments/{shipment_id}/cancel" in text) == (role is Role.OPERATOR)
    assert (f"/shipments/{shipment_id}/pin" in text) == (role is Role.OPERATOR)


async def test_what_is_live_changes_with_each_step_and_not_without(shop: Shop) -> None:
    topic, thing = TOPICS["shipment"], (shop.tenant, await shop.reserved("A"))
    first = (await topic.fetch(shop.core, [thing]))[thing]
    again = (await topic.fetch(shop.core, [thing]))[thing]
    assert again is first
    await shop.simulate(thing[1], "loaded")
    after = (await topic.fetch(shop.core, [thing]))[thing]
    assert after != first
    rendered = topic.render(after)
    assert set(rendered) == {"status", "facts", "timeline"}
    assert "Protected until" in rendered["status"]
    assert "csrf" not in "".join(rendered.values())
