"""`pickupbox trigger`: every event of the contract, on a fresh shipment and on a given one."""

import asyncio
import json
import os
import re
from collections.abc import Callable

import pytest
from click.testing import Result
from typer.testing import CliRunner

from pickupbox.cli import app
from pickupbox.domain.lifecycle import Event
from tests.support.shop import Shop

type Trigger = Callable[..., asyncio.Future[Result]]


@pytest.fixture
def trigger(base_url: str, shop: Shop) -> Trigger:
    """Run the command for the shop."""
    variables = os.environ | {"BASE_URL": base_url, "API_KEY": shop.api_key, "COLUMNS": "200"}

    async def trigger(*arguments: str) -> Result:
        # In a thread: the command runs a loop of its own.
        return await asyncio.to_thread(CliRunner().invoke, app, ["trigger", *arguments], env=variables)

    return trigger


# Told on the way, and the compartment's state at the end.
TOLD = {
    Event.RESERVED: (["reserved"], "reserved"),
    Event.LOADED: (["reserved", "loaded"], "occupied"),
    Event.PICKED_UP: (["reserved", "loaded", "picked_up"], "cooldown"),
    Event.EXPIRED: (["reserved", "expired", "door_available"], "available"),
    Event.CANCELLED: (["reserved", "cancelled", "door_available"], "available"),
    Event.FAULT: (["reserved", "fault"], "awaiting_removal"),
    Event.REMOVED: (["reserved", "fault", "removed", "door_available"], "available"),
    Event.DOOR_AVAILABLE: (["reserved", "cancelled", "door_available"], "available"),
}


@pytest.mark.parametrize("event", Event)
async def test_a_fresh_shipment_is_driven_until_the_event_is_told(trigger: Trigger, shop: Shop, event: Event) -> None:
    done = await trigger(event, "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    told, state = TOLD[event]
    assert result["told"] == told
    assert (await shop.events(result["shipment_id"]))[: len(told)] == told
    assert result["compartment_state"] == state
    assert re.fullmatch("[0-9]{6}", result["pickup_pin"])


@pytest.mark.parametrize("event", [Event.RESERVED, Event.PICKED_UP, Event.FAULT])
async def test_with_finish_nothing_is_left_behind(trigger: Trigger, shop: Shop, event: Event) -> None:
    for _ in range(3):
        result = json.loads((await trigger(event, "--finish", "--json")).stdout)
        assert event in result["told"]
        assert result["told"][-1] == "door_available"
        assert (await shop.read(result["shipment_id"])).json()["compartment_state"] == "available"


async def test_it_says_what_it_did_and_how_to_release_the_compartment(trigger: Trigger, shop: Shop) -> None:
    done = await trigger("fault")
    assert done.exit_code == 0
    shipment = re.search(r"^shipment  (shp_\S+)$", done.stdout, re.MULTILINE)
    assert shipment
    assert re.search(r"^trigger-\w+: reserved \w+ at Test box, tells reserved$", done.stdout, re.MULTILINE)
    assert "fault: fault / awaiting_removal, tells fault" in done.stdout
    pin = (await shop.pin(await shop.reserved("A"))).json()["pickup_pin"]
    assert re.search(r"^PIN       [0-9]{6}$", done.stdout, re.MULTILINE)
    assert pin not in done.stdout
    release = re.search(r"^  pickupbox trigger (door_available --shipment \S+)$", done.stdout, re.MULTILINE)
    assert release
    freed = await trigger(*release[1].split())
    assert (freed.exit_code, "keeps compartment" in freed.stdout) == (0, False)
    assert await shop.events(shipment[1]) == ["reserved", "fault", "removed", "door_available"]


async def test_a_given_shipment_goes_on_from_where_it_is(trigger: Trigger, shop: Shop) -> None:
    shipment = await shop.reserved("A", "loaded")
    done = await trigger("picked_up", "--shipment", shipment)
    assert done.exit_code == 0, done.output
    assert await shop.events(shipment) == ["reserved", "loaded", "picked_up"]
    assert "PIN" not in done.stdout
    again = await trigger("picked_up", "--shipment", shipment)
    assert again.exit_code == 1
    assert f"{shipment} is picked_up / " in again.stderr
    assert "Leave --shipment and --order out" in again.stderr


async def test_an_order_of_the_shops_own_is_used(trigger: Trigger, shop: Shop) -> None:
    result = json.loads((await trigger("reserved", "--order", "order-1042", "--json")).stdout)
    assert result["external_order_id"] == "order-1042"
    second = json.loads((await trigger("fault", "--order", "order-1042", "--json")).stdout)
    assert (second["shipment_id"], second["told"]) == (result["shipment_id"], ["fault"])
    third = await trigger("reserved", "--order", "order-1042")
    assert third.exit_code == 1
    assert "order-1042 was reserved before" in third.stderr


async def test_the_next_box_is_tried_and_full_ones_are_said(trigger: Trigger, shop: Shop) -> None:
    for number in range(12):
        await shop.reserved(f"order-{number}")
    full = await trigger("reserved")
    assert full.exit_code == 1
    assert "All boxes are full" in full.stderr
    assert "pickupbox trigger door_available --shipment" in full.stderr
    second = await shop.add_box(1)
    made = json.loads((await trigger("reserved", "--json")).stdout)
    assert (await shop.read(made["shipment_id"])).json()["box_id"] == second
    assert "The box is full" in (await trigger("reserved", "--box", second)).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["loaded", "--shipment", "shp_nowhere"], 1, "There is no such shipment"),
        (["reserved", "--shipment", "shp_nowhere"], 2, "leave --shipment out"),
        (["loaded", "--shipment", "shp_1", "--order", "A"], 2, "leave --order and --box out"),
        (["loaded", "--box", "box_nowhere"], 2, "There is no box box_nowhere. Those of this tenant: box_c1_"),
        (["teleported"], 2, "teleported"),
    ],
)
async def test_what_cannot_be_is_said_with_the_cure(
    trigger: Trigger, arguments: list[str], code: int, said: str
) -> None:
    done = await trigger(*arguments)
    assert (done.exit_code, said in done.stderr) == (code, True), done.output
    assert done.stdout == ""
