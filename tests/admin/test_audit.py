"""The audit trail in the administration: filtered, verified, and taken away without harm."""

import asyncio
import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import asyncpg
import pytest

from pickupbox.admin.pages.audit import harmless
from pickupbox.admin.pages.audit_words import GROUPS, catalogue, say
from pickupbox.database.audit_log import Wanted
from pickupbox.settings import Settings
from pickupbox.usecases import audit_log, audit_verification
from pickupbox.usecases.audit import note
from pickupbox.usecases.audit_chain import seal
from pickupbox.usecases.audit_log import Filter, list_entries
from pickupbox.usecases.audit_verification import verify_piece
from pickupbox.usecases.core import Caller, Core
from tests.admin.integrations import administrator, words
from tests.admin.office import Office, Person
from tests.admin.people import run
from tests.support.shop import Shop

NEVER = 10_000


async def act(shop: Shop, action: str, obj: str = "thing", actor: str = "someone") -> None:
    await asyncio.sleep(0.002)  # ids of one millisecond are in no order
    async with shop.core.db.transaction() as tx:
        await note(shop.core, tx, Caller(shop.tenant, actor, "req_1", "203.0.113.9"), action, obj)


async def walk(shop: Shop, asked: Filter) -> list[str]:
    """The actions that fit, page by page."""
    found, cursor = list[str](), ""
    for _ in range(100):
        page = await list_entries(shop.core, shop.tenant, asked, cursor)
        found += [entry.action for entry in page.rows]
        if page.next is None:
            return found
        cursor = page.next
    raise AssertionError("the trail has no end")


async def actions(person: Person, **query: str) -> list[str]:
    """What an export has, newest first."""
    rows = list(csv.DictReader(io.StringIO((await person.get(f"/audit.csv?{urlencode(query)}")).text)))
    return [row["action"] for row in rows]


async def test_entries_are_filtered_by_actor_action_object_and_time(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "ROWS", 2)
    monkeypatch.setattr(audit_log, "LOOK", 3)
    for number in range(8):
        await act(shop, f"key.issue.{number}", "even" if number % 2 == 0 else "odd", "ada" if number < 5 else "bob")
    newest = [f"key.issue.{number}" for number in reversed(range(8))]
    assert await walk(shop, Filter()) == newest
    assert await walk(shop, Filter(Wanted(actors=["bob"]))) == newest[:3]
    assert await walk(shop, Filter(Wanted(action="key.issue.4"))) == newest[3:4]
    assert await walk(shop, Filter(Wanted(action="box"))) == []
    assert await walk(shop, Filter(object="even")) == newest[1::2]
    assert await walk(shop, Filter(Wanted(actors=["ada"]), "odd")) == ["key.issue.3", "key.issue.1"]
    now = datetime.now(UTC)
    assert await walk(shop, Filter(Wanted(since=now - timedelta(minutes=1)))) == newest
    assert await walk(shop, Filter(Wanted(until=now - timedelta(minutes=1)))) == []
    assert await walk(shop, Filter(Wanted(since=now + timedelta(minutes=1)))) == []


async def test_the_page_names_people_and_keys_and_says_what_they_did(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    await person.post("/keys/new", {"name": "Web shop"})
    shipment = await shop.reserved("A")
    await shop.pin(shipment)
    page = (await person.get("/audit")).text
    said = words(page)
    assert "Made an API key" in said
    assert "Administrator" in said
    assert f"test …{shop.api_key[-4:]}" in said
    assert f'href="/shipments/{shipment}"' in page
    mine = words((await person.get(f"/audit?{urlencode({'actor': f'…{shop.api_key[-4:]}'})}")).text)
    assert "Revealed a PIN" in mine
    assert "Made an API key" not in mine
    keys = words((await person.get("/audit?action=key")).text)
    assert "Made an API key" in keys
    assert "Revealed a PIN" not in keys
    assert "Revealed a PIN" in words((await person.get(f"/audit?object={shipment}")).text)
    assert "No entry fits" in (await person.get("/audit?from=2001-01-01&to=2001-01-02")).text


async def test_days_are_those_of_the_zone_that_the_page_names(office: Office, shop: Shop) -> None:
    await shop.pin(await shop.reserved("A"))
    ((at,),) = await run(shop.core, "SELECT max(at) FROM audit WHERE tenant_id = $1", shop.tenant)
    person = await administrator(office)
    for zone in ("Pacific/Kiritimati", "Pacific/Niue"):  # 25 hours apart: never the same day
        there = at.astimezone(ZoneInfo(zone)).date()
        for day, seen in ((there - timedelta(days=1), False), (there, True), (there + timedelta(days=1), False)):
            page = (
                await person.get(f"/audit?{urlencode({'from': day, 'to': day, 'zone': zone, 'action': 'pin'})}")
            ).text
            assert ("Revealed a PIN" in words(page)) is seen, (zone, day)
            assert f'name="zone" value="{zone}"' in page
            assert f"a day in {zone}" in words(page)
    unknown = (await person.get(f"/audit?from={at:%Y-%m-%d}&zone=Nowhere/Town")).text
    assert 'name="zone" value="UTC"' in unknown
    assert "a day in UTC" in words(unknown)
    assert 'name="zone" value=""' in (await person.get("/audit")).text, "the script names the viewer's"


@pytest.mark.parametrize("query", ["from=x", "to=0000-00-00", "after=%00", "actor=%00", "object=%ff", "after=aud_zzz"])
async def test_a_query_that_makes_no_sense_is_answered_all_the_same(office: Office, query: str) -> None:
    assert (await (await administrator(office)).get(f"/audit?{query}")).status_code == 200


async def test_the_trail_of_others_is_not_shown(office: Office, shop: Shop, other_shop: Shop) -> None:
    await act(other_shop, "key.issue: theirs", "their thing")
    person = await administrator(office)
    for path in ("/audit", "/audit?object=their+thing", "/audit.csv", "/audit.csv?object=their+thing"):
        assert "theirs" not in (await person.get(path)).text


async def test_an_export_has_what_the_filter_shows_and_is_noted_itself(
    office: Office, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "EXPORTED_AT_ONCE", 3)
    for number in range(7):
        await act(shop, f"box.add: {number}", "box_1")
    person = await administrator(office)
    answer = await person.get("/audit.csv?action=box")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["action"] for row in rows] == [f"box.add: {number}" for number in reversed(range(7))]
    assert rows[0]["address"] == "203.0.113.9"
    assert rows[0]["time_utc"].endswith("+00:00")
    assert await actions(person, object="box_1", action="box.add: 3") == ["box.add: 3"]
    assert await actions(person, object="box_1") == [row["action"] for row in rows]
    exports = "SELECT count(*) FROM audit WHERE tenant_id = $1 AND action = 'audit.export' AND actor = $2"
    assert await run(shop.core, exports, shop.tenant, person.id) == [(3,)]


async def test_a_cell_of_an_export_is_never_a_formula(office: Office, shop: Shop) -> None:
    for actor in ("=HYPERLINK(1)", "+1", "-1", "@a", "\tx", "plain"):
        await act(shop, "box.add", "box_1", actor)
    person = await administrator(office)
    text = (await person.get("/audit.csv?object=box_1")).text
    actors = [row["actor"] for row in csv.DictReader(io.StringIO(text, newline=""))]
    assert actors == ["plain", "'\tx", "'@a", "'-1", "'+1", "'=HYPERLINK(1)"]
    assert harmless("2031-01-01") == "2031-01-01"


@pytest.fixture
async def tamper(settings: Settings) -> Any:
    """A superuser's connection on which no trigger fires."""
    connection = await asyncpg.connect(settings.database_url)
    await connection.execute("SET session_replication_role = replica")
    yield connection
    await connection.close()


async def sealed(shop: Shop, count: int) -> list[str]:
    for number in range(count):
        await act(shop, f"box.add: {number}")
    await seal(shop.core, NEVER)
    rows = await run(shop.core, "SELECT id FROM audit WHERE tenant_id = $1 ORDER BY chain_number", shop.tenant)
    return [entry for (entry,) in rows]


async def pieces(core: Core, tenant: str, piece: int) -> list[audit_verification.Verified]:
    found = [await verify_piece(core, tenant, 0, piece)]
    while not found[-1].complete:
        found.append(await verify_piece(core, tenant, found[-1].last, piece))
        assert len(found) < 50
    return found


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7])
async def test_an_intact_chain_verifies_piece_by_piece_to_its_end(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(audit_verification, "BATCH", 2)
    await sealed(shop, count)
    found = await pieces(shop.core, shop.tenant, 4)
    assert all(not one.broken and not one.cut_short for one in found)
    assert found[-1].last == found[-1].sealed == count


@pytest.mark.parametrize("place", range(6))
async def test_a_change_is_found_wherever_pieces_meet(
    shop: Shop, tamper: Any, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(audit_verification, "BATCH", 2)
    entries = await sealed(shop, 7)
    await tamper.execute("UPDATE audit SET actor = 'changed' WHERE id = $1", entries[place])
    assert [entry for one in await pieces(shop.core, shop.tenant, 2) for entry in one.broken] == [entries[place]]


@pytest.mark.parametrize("place", range(1, 6))
async def test_an_entry_taken_out_is_found_wherever_pieces_meet(
    shop: Shop, tamper: Any, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(audit_verification, "BATCH", 2)
    entries = await sealed(shop, 7)
    await tamper.execute("DELETE FROM audit WHERE id = $1", entries[place])
    assert [entry for one in await pieces(shop.core, shop.tenant, 2) for entry in one.broken] == [entries[place + 1]]


async def test_an_entry_that_vanishes_between_two_pieces_is_found(shop: Shop, tamper: Any) -> None:
    entries = await sealed(shop, 5)
    await tamper.execute("DELETE FROM audit WHERE id = $1", entries[2])
    assert (await verify_piece(shop.core, shop.tenant, after=3)).broken == [entries[3]]


async def test_the_verdict_is_a_page(office: Office, shop: Shop, tamper: Any) -> None:
    person = await administrator(office)
    entries = await sealed(shop, 3)
    assert "entries, the chain is intact" in words((await person.get("/audit/verify")).text)
    await tamper.execute("DELETE FROM audit WHERE id = $1", entries[-1])
    cut = words((await person.get("/audit/verify")).text)
    assert "The chain does not hold" in cut
    assert "Its end is missing" in cut
    await tamper.execute("UPDATE audit SET object = 'changed' WHERE id = $1", entries[-2])
    assert entries[-2] in (await person.get("/audit/verify")).text


async def test_a_long_chain_goes_on_by_itself_and_counts_all(
    office: Office, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_verification, "BATCH", 2)
    monkeypatch.setattr(audit_verification, "verify_piece", verify_piece)
    monkeypatch.setattr(verify_piece, "__defaults__", (0, 4))
    person = await administrator(office)
    entries = await sealed(shop, 9)
    path, seen = "/audit/verify", 0
    while path:
        page = (await person.get(path)).text
        path = page.partition('hx-get="')[2].partition('"')[0].replace("&amp;", "&")
        seen += 1
    assert seen == len(entries) // 4 + 1
    assert f"{len(entries)} entries, the chain is intact" in words(page)


def test_an_act_is_said_in_words_and_what_has_none_as_it_is_noted() -> None:
    known = catalogue()
    assert say("key.issue", known).words == "Made an API key"
    assert say("user.role.viewer.operator", known).detail == "viewer → operator"
    assert say("removal.emergency: box on fire", known).detail == "box on fire"
    assert say("pin.reveal: customer: called", known).detail == "customer: called"
    assert say("something.new", known) == say("something.new", {})
    assert {name.partition(".")[0] for name in known} == set(GROUPS)
