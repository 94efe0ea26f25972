"""Webhook endpoints in the administration: how each does, in words; a secret shown once; acts that are noted."""

import html
import inspect
import re

import pytest

from pickupbox.admin.pages.endpoint_words import objections
from pickupbox.database import endpoints, failures
from pickupbox.database.failures import Failed
from pickupbox.domain.lifecycle import Event
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.delivery_log import list_endpoints
from pickupbox.webhooks import addresses
from pickupbox.webhooks.schedule import BACK_OFF
from tests.admin.integrations import administrator, noted, on_this_machine, words
from tests.admin.office import Office
from tests.admin.people import run
from tests.support.shop import Shop
from tests.webhooks.receiving import always, delivering, event_ids, open_receiver, subscribe

SECRET = re.compile(r"whsec_[0-9A-Za-z+/=]{44}")
URL = "https://shop.example/hook"


async def live(shop: Shop) -> list[endpoints.Endpoint]:
    async with shop.core.db.connection() as connection:
        return await endpoints.list_all(connection, shop.tenant)


async def test_a_new_endpoint_shows_its_secret_once_and_keeps_its_filter(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    form = {"url": "https://shop.example/h", "description": "Orders", "which": "some", "event_loaded": "yes"}
    shown = await person.post("/endpoints/new", form)
    assert (shown.status_code, shown.headers["cache-control"]) == (200, "no-store")
    assert SECRET.search(html.unescape(shown.text))
    (made,) = await live(shop)
    assert (made.url, made.description, made.event_types) == ("https://shop.example/h", "Orders", ["loaded"])
    for path in ("/endpoints", f"/endpoints/{made.id}"):
        page = (await person.get(path)).text
        assert "https://shop.example/h" in page
        assert not SECRET.search(html.unescape(page))
    assert await noted(shop.core, made.id) == [(person.id, "endpoint.add")]


async def test_an_address_that_is_refused_says_why_in_the_readers_language(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    english = await person.post("/endpoints/new", {"url": "http://10.0.0.1/"})
    assert english.status_code == 422
    assert "not one of the public internet" in english.text
    german = await person.post("/endpoints/new", {"url": "http://10.0.0.1/"}, **{"Accept-Language": "de"})
    assert "gehört nicht zum öffentlichen Internet" in german.text
    assert await live(shop) == []


def test_every_objection_is_collected_for_translation() -> None:
    source = inspect.getsource(addresses)
    said = {text.replace("{LONGEST_URL}", "2048") for text in re.findall(r'"(The URL[^"]*)"', source)}
    assert len(said) > 10
    assert said <= set(objections())


async def test_without_an_endpoint_the_page_says_what_to_do_next(office: Office) -> None:
    page = await (await administrator(office)).get("/endpoints")
    assert "Nobody is told yet" in page.text
    assert 'href="/endpoints/new"' in page.text


async def test_a_failing_endpoint_says_since_when_and_when_it_is_tried_again(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    endpoint = (await subscribe(shop, URL)).id
    await shop.reserved("A")
    async with shop.core.db.connection() as connection:
        await failures.note(connection, [Failed(endpoint, 50, 3600)], BACK_OFF)
    for path in ("/endpoints", f"/endpoints/{endpoint}"):
        said = words((await person.get(path)).text)
        assert "Failing since" in said
        assert "Next try" in said
        assert "Events of 1 shipment wait." in said


async def test_what_waits_is_counted_up_to_a_thousand_and_no_further(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    endpoint = (await subscribe(shop, URL)).id
    statement = """
        INSERT INTO webhook_lanes (tenant_id, endpoint_id, shipment_id, shipment_created_at, waiting)
        SELECT $1, $2, 'shp_' || $2 || n, now(), '{1}' FROM generate_series(1, 1500) AS n RETURNING true
    """
    await run(shop.core, statement, shop.tenant, endpoint)
    (found,) = await list_endpoints(shop.core, shop.tenant)
    assert found.backlog.lanes == 1001
    assert "Events of more than 1,000 shipments wait." in words((await person.get("/endpoints")).text)


async def test_a_test_event_shows_the_answer_and_is_noted(office: Office, settings: Settings) -> None:
    async with on_this_machine(office, settings) as (local, shop), open_receiver() as receiver:
        person = await administrator(local)
        endpoint = (await subscribe(shop, receiver.url)).id
        receiver.reply = always(422, b"<b>no such order</b>")
        said = await person.post(f"/endpoints/{endpoint}/test", {"event": "picked_up"})
        assert receiver.got[0].event["type"] == "picked_up"
        assert "Not accepted It answered 422" in words(said.text)
        assert "<b>no such" not in said.text, "an answer is text, whatever it holds"
        receiver.reply = always(204)
        assert "Accepted It answered 204" in words((await person.post(f"/endpoints/{endpoint}/test")).text)
    acts = ["endpoint.test: picked_up", "endpoint.test: loaded"]
    assert (await noted(shop.core, endpoint))[1:] == [(person.id, act) for act in acts]


async def test_an_endpoint_is_changed_disabled_and_enabled_and_each_is_noted(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    endpoint = (await subscribe(shop, URL)).id
    await person.post(f"/endpoints/{endpoint}", {"description": "New", "which": "some", "event_fault": "yes"})
    (changed,) = await live(shop)
    assert (changed.description, changed.event_types) == ("New", ["fault"])
    await person.post(f"/endpoints/{endpoint}", {"description": "New", "which": "all", "event_fault": "yes"})
    assert (await live(shop))[0].event_types is None
    await person.post(f"/endpoints/{endpoint}/disable")
    assert "Disabled since" in words((await person.get(f"/endpoints/{endpoint}")).text)
    assert (await person.post(f"/endpoints/{endpoint}/disable")).status_code == 404, "it is disabled already"
    enabled = await person.post(f"/endpoints/{endpoint}/enable")
    assert "since=" in enabled.headers["location"]
    assert (await live(shop))[0].enabled
    acts = ["endpoint.change", "endpoint.change", "endpoint.disable", "endpoint.enable"]
    assert (await noted(shop.core, endpoint))[1:] == [(person.id, act) for act in acts]


async def test_a_rotated_secret_is_shown_once_to_someone_who_just_confirmed(office: Office, shop: Shop) -> None:
    endpoint = (await subscribe(shop, URL)).id
    unsure = await office.sign_in(Role.OWNER)
    assert (await unsure.post(f"/endpoints/{endpoint}/rotate")).headers["location"].startswith("/confirm")
    person = await administrator(office)
    shown = await person.post(f"/endpoints/{endpoint}/rotate")
    assert SECRET.search(html.unescape(shown.text))
    assert "two sign" in (await person.get(f"/endpoints/{endpoint}")).text
    assert (await noted(shop.core, endpoint))[1:] == [(person.id, "endpoint.rotate")]


async def test_an_endpoint_is_removed_only_by_typing_its_host(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    endpoint = (await subscribe(shop, "https://Shop.example/a/b")).id
    assert (await person.post(f"/endpoints/{endpoint}/remove", {"typed": "shop"})).status_code == 422
    assert len(await live(shop)) == 1
    assert (await person.post(f"/endpoints/{endpoint}/remove", {"typed": "shop.example"})).status_code == 303
    assert await live(shop) == []
    assert (await person.get(f"/endpoints/{endpoint}")).status_code == 404


async def test_endpoints_of_others_are_not_there(office: Office, shop: Shop, other_shop: Shop) -> None:
    person = await administrator(office)
    theirs = (await subscribe(other_shop, "https://theirs.example")).id
    assert "theirs.example" not in (await person.get("/endpoints")).text
    for path in ("", "/rotate", "/remove", "/deliveries", "/test"):
        assert (await person.get(f"/endpoints/{theirs}{path}")).status_code == 404
    for path in ("", "/test", "/rotate", "/disable", "/enable", "/remove"):
        form = {"typed": "theirs.example", "description": "mine now"}
        assert (await person.post(f"/endpoints/{theirs}{path}", form)).status_code == 404
    since = {"since": "2020-01-01T00:00"}
    await person.post(f"/endpoints/{theirs}/replay", since)
    assert await run(shop.core, "SELECT id FROM replay_jobs WHERE endpoint_id = $1", theirs) == []
    assert len(await live(other_shop)) == 1
    assert len(await noted(shop.core, theirs)) == 1


@pytest.mark.parametrize("url", ["javascript:alert(1)", '"><script>alert(1)</script>'])
async def test_what_was_typed_comes_back_as_text(office: Office, url: str) -> None:
    person = await administrator(office)
    answer = await person.post("/endpoints/new", {"url": url, "description": "<script>"})
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text


async def test_the_last_attempt_says_how_an_endpoint_does(office: Office, settings: Settings) -> None:
    async with on_this_machine(office, settings) as (local, shop), open_receiver() as receiver:
        person = await administrator(local)
        endpoint = (await subscribe(shop, receiver.url, Event.RESERVED)).id
        assert "Nothing was sent here yet" in words((await person.get("/endpoints")).text)
        async with delivering(shop.core):
            shipment = await shop.reserved("A")
            await receiver.until(1)
        said = words((await person.get(f"/endpoints/{endpoint}")).text)
        assert "Accepted the last one" in said
        assert "Nothing waits." in said
        (event,) = await event_ids(shop.core, [shipment])
        assert f"/deliveries/{event}" in (await person.get(f"/endpoints/{endpoint}")).text
