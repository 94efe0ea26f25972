"""The list of boxes: page by page, searched, filtered, fast; and a box that is added."""

import re
import time
from dataclasses import replace

import asyncpg
import pytest

from pickupbox.database import box_pages
from pickupbox.database.box_pages import PAGE
from pickupbox.domain.box_setup import RANGES
from pickupbox.domain.errors import ValidationFailed
from pickupbox.domain.roles import Role
from pickupbox.usecases.boxes import change_setup, default_setup
from tests.admin.office import Office
from tests.devices.street import add_device, ask, operator
from tests.support.shop import Shop

SERVER_SECONDS = 0.3


def names(html: str) -> list[str]:
    return re.findall(r'<a class="box-name"[^>]*>([^<]+)</a>', html)


async def heard(shop: Shop, box_id: str, ago: str = "1 second") -> None:
    device = await add_device(shop, box_id)
    async with shop.core.db.connection() as connection:
        await connection.execute(
            f"UPDATE devices SET online = true, last_seen_at = now() - interval '{ago}' WHERE id = $1", device
        )


async def test_boxes_come_by_name_page_after_page_and_none_is_missed(office: Office, shop: Shop) -> None:
    for number in range(PAGE + 20):
        await shop.add_box(1, name=f"Box {number % 3}")  # a page ends among boxes of one name
    person = await office.sign_in(Role.VIEWER)
    page = (await person.get("/boxes")).text
    found = names(page)
    assert len(found) == PAGE
    more = re.search(r'hx-get="(/boxes\?[^"]+)"', page)
    assert more is not None
    page = (await person.get(more[1].replace("&amp;", "&"))).text
    found += names(page)
    assert found == [*sorted(f"Box {number % 3}" for number in range(PAGE + 20)), "Test box"]
    assert "data-more" not in page


async def test_a_search_finds_any_part_of_name_location_or_address(office: Office, shop: Shop) -> None:
    await shop.add_box(1, name="Main station", location_name="Hall 2", address="Square 1")
    person = await office.sign_in(Role.VIEWER)
    for wanted in ("main", "STATION", "all 2", "quare"):
        assert names((await person.get(f"/boxes?q={wanted}")).text) == ["Main station"], wanted
    answer = await person.get("/boxes?q=%25")  # no pattern, a text like any other
    assert names(answer.text) == []
    assert "No such box" in answer.text


async def test_the_filters_show_who_needs_a_hand_and_who_is_not_there(office: Office, shop: Shop) -> None:
    well, held, doubtful, silent = [await shop.add_box(2, name=name) for name in ("Well", "Held", "Doubtful", "Silent")]
    await heard(shop, well)
    await heard(shop, held)
    await heard(shop, doubtful)
    await heard(shop, silent, "2 minutes")
    await shop.reserved("A", "fault", box_id=held)
    async with shop.core.db.connection() as connection:
        await connection.execute("UPDATE compartments SET in_service = false WHERE box_id = $1", doubtful)
    person = await office.sign_in(Role.OPERATOR)
    assert names((await person.get("/boxes?only=hand")).text) == ["Doubtful", "Held"]
    assert names((await person.get("/boxes?only=offline")).text) == ["Silent", "Test box"]
    listed = (await person.get("/boxes")).text
    assert "1 awaits removal" in listed
    assert "2 out of service" in listed


async def test_another_tenants_boxes_are_not_listed(office: Office, other_shop: Shop) -> None:
    await other_shop.add_box(1, name="Theirs")
    person = await office.sign_in(Role.OWNER)
    assert names((await person.get("/boxes")).text) == ["Test box"]


async def test_a_search_that_stops_half_way_says_where_to_go_on(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many boxes one page looks at so many, and the next goes on from there."""
    for number in range(6):
        await shop.add_box(1, name=f"Box {number}")
    monkeypatch.setattr(
        box_pages,
        "_ALL",
        box_pages._ALL.replace(f"LIMIT {box_pages.SCAN}", "LIMIT 4").replace("OFFSET 9999", "OFFSET 3"),
    )
    async with shop.core.db.connection() as connection:
        first = await box_pages.list_page(connection, shop.tenant, None, search="box 5")
        assert (first.rows, first.next) == ([], box_pages.Cursor("Box 3", first.next.id if first.next else ""))
        second = await box_pages.list_page(connection, shop.tenant, first.next, search="box 5")
    assert [row.name for row in second.rows] == ["Box 5"]


@pytest.mark.slow
async def test_five_thousand_boxes_open_in_less_than_300_ms(office: Office, shop: Shop) -> None:
    async with shop.core.db.connection() as connection:
        await connection.execute(
            """
            WITH made AS (
                INSERT INTO boxes SELECT (jsonb_populate_record(b, jsonb_build_object('id', b.id || n, 'name',
                    'Street ' || n))).* FROM boxes b, generate_series(1, 5000) AS n WHERE b.id = $1
            ), doors AS (
                INSERT INTO compartments SELECT tenant_id, box_id || n, code, position
                FROM compartments, generate_series(1, 5000) AS n WHERE box_id = $1
            )
            INSERT INTO devices (tenant_id, id, box_id, online, last_seen_at)
            SELECT $2, 'dev_' || $1 || n, $1 || n, n % 2 = 0, now() FROM generate_series(1, 5000) AS n
            """,
            shop.box_id,
            shop.tenant,
            timeout=60,
        )
    person = await office.sign_in(Role.VIEWER)
    for path in ("/boxes", "/boxes?q=4999", "/boxes?q=nowhere", "/boxes?only=hand", "/boxes?only=offline"):
        await person.get(path)
        began = time.perf_counter()
        answer = await person.get(path)
        assert answer.status_code == 200
        assert time.perf_counter() - began < SERVER_SECONDS, path


async def test_a_box_is_added_with_its_doors_and_the_trail_says_by_whom(office: Office, shop: Shop) -> None:
    person = await office.sign_in(Role.ADMINISTRATOR)
    form = {"name": "New", "location_name": "", "address": "Here 1", "compartments": "7", **settings()}
    answer = await person.post("/boxes", form)
    assert answer.status_code == 303
    box_id = answer.headers["location"].split("/")[2]
    ((name, location, doors),) = await ask(
        shop.core,
        """
        SELECT name, location_name, (SELECT count(*) FROM compartments WHERE box_id = b.id) FROM boxes b
        WHERE id = $1 AND tenant_id = $2
        """,
        box_id,
        shop.tenant,
    )
    assert (name, location, doors) == ("New", None, 7)
    noted = await ask(shop.core, "SELECT actor, action FROM audit WHERE object = $1", box_id)
    assert noted == [(person.id, "box.add: 7 compartments")]


def settings(**changed: str) -> dict[str, str]:
    return {name: str(low) for name, (low, _) in RANGES.items()} | changed


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 121},
        {"compartments": "0"},
        {"compartments": "501"},
        {"compartments": "many"},
        *({name: str(low - 1)} for name, (low, _) in RANGES.items()),
        *({name: str(high + 1)} for name, (_, high) in RANGES.items()),
    ],
)
async def test_what_is_wrong_with_a_new_box_stands_beside_its_field_and_nothing_is_lost(
    office: Office, shop: Shop, wrong: dict[str, str]
) -> None:
    person = await office.sign_in(Role.ADMINISTRATOR)
    form = {"name": "New", "location_name": "Kept as typed", "address": "", "compartments": "1", **settings(), **wrong}
    answer = await person.post("/boxes", form)
    assert answer.status_code == 422
    (field,) = wrong
    assert re.search(rf'id="f-{field}"[^>]*aria-invalid="true"', answer.text)
    assert answer.text.count('aria-invalid="true"') == 1
    assert "Kept as typed" in answer.text
    assert await ask(shop.core, "SELECT FROM boxes WHERE tenant_id = $1 AND name = 'New'", shop.tenant) == []


@pytest.mark.parametrize("field", RANGES)
async def test_the_ranges_are_those_of_the_table(shop: Shop, field: str) -> None:
    for value in RANGES[field]:
        await shop.add_box(1, **{field: value})
    for value in (RANGES[field][0] - 1, RANGES[field][1] + 1):
        with pytest.raises(asyncpg.CheckViolationError):
            await shop.add_box(1, **{field: value})


async def test_nothing_out_of_range_gets_past_the_use_case(shop: Shop) -> None:
    setup = replace(default_setup(shop.core, "Box"), cooldown_seconds=-1)
    with pytest.raises(ValidationFailed):
        await change_setup(shop.core, operator(shop), shop.box_id, setup)
