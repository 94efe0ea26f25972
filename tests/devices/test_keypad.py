"""A PIN at the keypad: what it opens, how the rest is refused, and what is written down about it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from pickupbox.domain.doors import Happening, Purpose, Verdict
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.keypad import Judged, UnknownDeviceError, enter_pin
from pickupbox.usecases.reserve import Wish, reserve
from pickupbox.vault import Vault, new_secret, read_secrets
from tests.devices.street import Journal, add_device, ask, pin_of, place_of, revoke, wrong_pin
from tests.support.databases import elapse
from tests.support.shop import Shop

type Case = Callable[[Shop, Shop], Awaitable[str]]
OPENINGS = [((), Purpose.LOAD), (("loaded",), Purpose.CORRECT)]


@pytest_asyncio.fixture
async def device(shop: Shop) -> str:
    return await add_device(shop)


async def type_in(core: Core, device: str, pin: str, compartment: str | None = None, about: str = "m1") -> Judged:
    return await enter_pin(core, device, pin, compartment, about)


async def counted(shop: Shop, box_id: str | None = None) -> tuple[int, int, int]:
    """Failures in a row, of the day, and closings in a row."""
    rows = await ask(
        shop.core, "SELECT failures, day_failures, closings FROM keypads WHERE box_id = $1", box_id or shop.box_id
    )
    return rows[0] if rows else (0, 0, 0)


async def make_ready(shop: Shop, order: str = "A") -> str:
    shipment = await shop.reserved(order, "loaded")
    async with shop.core.db.connection() as connection:
        await connection.execute(
            "UPDATE shipments SET stage = 'ready', due_at = pickup_expires_at WHERE id = $1", shipment
        )
    return shipment


async def fail_until(shop: Shop, device: str, failures: int, *right: str) -> None:
    """Fail that often, each time that the keypad closes waiting until it is open."""
    for _ in range(failures):
        judged = await type_in(shop.core, device, wrong_pin(*right))
        assert judged.verdict is Verdict.REFUSED
        if judged.closed_seconds:
            await reopen(shop)


async def reopen(shop: Shop) -> None:
    async with shop.core.db.connection() as connection:
        await connection.execute("UPDATE keypads SET closed_until = now() WHERE box_id = $1", shop.box_id)


@pytest.mark.parametrize(("events", "purpose"), OPENINGS)
async def test_the_right_pin_opens_its_own_door_for_its_purpose(
    shop: Shop, device: str, events: tuple[str, ...], purpose: Purpose
) -> None:
    await shop.reserved("before")
    shipment = await shop.reserved("A", *events)
    judged = await type_in(shop.core, device, await pin_of(shop, shipment))
    assert judged.verdict is Verdict.OPENING
    assert judged.command is not None
    assert judged.command.purpose == purpose
    assert (judged.command.shipment_id, judged.command.box_id) == (shipment, shop.box_id)
    assert judged.command.compartment_code == (await place_of(shop.core, shipment))[1]


async def test_when_it_is_ready_the_pin_opens_for_pickup(shop: Shop, device: str) -> None:
    shipment = await make_ready(shop)
    judged = await type_in(shop.core, device, await pin_of(shop, shipment))
    assert judged.command is not None
    assert judged.command.purpose == Purpose.PICK_UP


@pytest.mark.parametrize(("events", "purpose"), OPENINGS)
async def test_while_the_door_is_open_the_pin_opens_it_for_the_same_purpose_again(
    shop: Shop, device: str, events: tuple[str, ...], purpose: Purpose
) -> None:
    shipment = await shop.reserved("A", *events)
    pin = await pin_of(shop, shipment)
    first = await type_in(shop.core, device, pin)
    assert first.command is not None
    await Journal(shop.core, device).tell(Happening.DOOR_OPENED, first.command.compartment_code, first.command.id)
    again = await type_in(shop.core, device, pin)
    assert again.command is not None
    assert again.command.purpose == purpose


async def wrong(shop: Shop, _: Shop) -> str:
    return wrong_pin(await pin_of(shop, await shop.reserved()))


async def expired(shop: Shop, _: Shop) -> str:
    shipment = await shop.reserved()
    pin = await pin_of(shop, shipment)
    await shop.simulate(shipment, "expired")
    return pin


async def expired_and_not_swept(shop: Shop, _: Shop) -> str:
    shipment = await shop.reserved()
    await elapse(shop.core, shipment, 1440 * 60 + 1)
    return await pin_of(shop, shipment)


async def uncollected_and_not_swept(shop: Shop, _: Shop) -> str:
    shipment = await make_ready(shop)
    await elapse(shop.core, shipment, 2880 * 60 + 1)
    return await pin_of(shop, shipment)


async def of_another_box(shop: Shop, _: Shop) -> str:
    return await pin_of(shop, await shop.reserved(box_id=await shop.add_box()))


async def of_another_tenant(_: Shop, other_shop: Shop) -> str:
    return await pin_of(other_shop, await other_shop.reserved())


def after(*events: str) -> Case:
    async def case(shop: Shop, _: Shop) -> str:
        shipment = await shop.reserved()
        pin = await pin_of(shop, shipment)
        for event in events:
            assert (await shop.simulate(shipment, event)).status_code == 200
        return pin

    return case


REFUSED: dict[str, Case] = {
    "wrong": wrong,
    "expired": expired,
    "expired, not swept yet": expired_and_not_swept,
    "uncollected, not swept yet": uncollected_and_not_swept,
    "of another box": of_another_box,
    "of another tenant": of_another_tenant,
    "faulted": after("loaded", "fault"),
    "cooling down": after("loaded", "picked_up"),
    "collected": after("loaded", "picked_up", "door_available"),
    "removed": after("loaded", "fault", "removed"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_whatever_is_wrong_with_a_pin_the_refusal_and_the_count_are_the_same(
    shop: Shop, other_shop: Shop, device: str, case: str
) -> None:
    pin = await REFUSED[case](shop, other_shop)
    assert await type_in(shop.core, device, pin) == Judged(Verdict.REFUSED)
    assert await counted(shop) == (1, 1, 0)
    assert (
        await ask(shop.core, "SELECT id FROM door_commands WHERE tenant_id = $1 AND actor <> 'sandbox'", shop.tenant)
        == []
    )


async def test_five_failures_close_the_keypad_also_for_the_right_pin(shop: Shop, device: str) -> None:
    pin = await pin_of(shop, await shop.reserved())
    answers = [await type_in(shop.core, device, wrong_pin(pin)) for _ in range(5)]
    assert [one.closed_seconds for one in answers] == [None, None, None, None, 60]
    closed = await type_in(shop.core, device, pin)
    assert (closed.verdict, closed.command) == (Verdict.CLOSED, None)
    assert closed.closed_seconds is not None
    assert 55 <= closed.closed_seconds <= 60
    assert await counted(shop) == (0, 5, 1)


async def test_closings_double_and_a_success_begins_anew_but_the_day_stays(shop: Shop, device: str) -> None:
    pin = await pin_of(shop, await shop.reserved())
    closed = []
    for _ in range(2):
        closed.append([(await type_in(shop.core, device, wrong_pin(pin))).closed_seconds for _ in range(5)][-1])
        await reopen(shop)
    assert closed == [60, 120]
    assert (await type_in(shop.core, device, pin)).verdict is Verdict.OPENING
    assert await counted(shop) == (0, 10, 0)


async def test_after_twenty_failures_the_compartment_is_needed_and_must_be_the_right_one(
    shop: Shop, device: str
) -> None:
    shipment, other = await shop.reserved("A"), await shop.reserved("B")
    pin = await pin_of(shop, shipment)
    await fail_until(shop, device, 20, pin, await pin_of(shop, other))
    assert await type_in(shop.core, device, pin) == Judged(Verdict.COMPARTMENT_NEEDED)
    assert await counted(shop) == (0, 20, 4)
    code, code_of_other = (await place_of(shop.core, shipment))[1], (await place_of(shop.core, other))[1]
    assert await type_in(shop.core, device, pin, code_of_other) == Judged(Verdict.REFUSED)
    assert await counted(shop) == (1, 21, 4)
    opened = await type_in(shop.core, device, pin, code)
    assert opened.command is not None
    assert opened.command.compartment_code == code
    assert await type_in(shop.core, device, pin) == Judged(Verdict.COMPARTMENT_NEEDED)


async def test_a_hundred_guesses_at_once_count_five_before_it_closes(shop: Shop, device: str) -> None:
    pin = await pin_of(shop, await shop.reserved())
    few = asyncio.Semaphore(10)

    async def guess() -> Judged:
        async with few:
            return await type_in(shop.core, device, wrong_pin(pin))

    verdicts = [judged.verdict for judged in await asyncio.gather(*(guess() for _ in range(100)))]
    assert (verdicts.count(Verdict.REFUSED), verdicts.count(Verdict.CLOSED)) == (5, 95)
    assert await counted(shop) == (0, 5, 1)


async def test_one_keypad_does_not_close_another(shop: Shop, device: str) -> None:
    other_box = await shop.add_box()
    shipment = await shop.reserved(box_id=other_box)
    pin = await pin_of(shop, shipment)
    await fail_until(shop, device, 4, pin)
    assert (await type_in(shop.core, device, wrong_pin(pin))).closed_seconds == 60
    assert (await type_in(shop.core, await add_device(shop, other_box), pin)).verdict is Verdict.OPENING


async def test_an_unknown_or_revoked_device_is_not_answered_and_counts_nothing(shop: Shop, device: str) -> None:
    pin = await pin_of(shop, await shop.reserved())
    await revoke(shop, device)
    for stranger in (device, shop.core.new_id("dev")):
        with pytest.raises(UnknownDeviceError):
            await type_in(shop.core, stranger, pin)
    assert await counted(shop) == (0, 0, 0)


async def test_a_pin_opens_before_and_during_a_rotation_of_the_secrets(shop: Shop, device: str) -> None:
    (new,) = read_secrets(new_secret("k2"))
    during = replace(shop.core, vault=Vault([new, shop.core.vault.current]))
    old_pin = await pin_of(shop, await shop.reserved())
    made = await reserve(during, Caller(shop.tenant, "test"), Wish(shop.box_id, "B"))
    assert (await type_in(shop.core, device, old_pin)).verdict is Verdict.OPENING
    assert (await type_in(during, device, old_pin)).verdict is Verdict.OPENING
    assert (await type_in(during, device, made.pin)).verdict is Verdict.OPENING


async def openings(shop: Shop) -> tuple[list[Any], list[Any]]:
    """The commands of the tenant and the audit entries of doors, each with the transaction that wrote it."""
    commands = await ask(
        shop.core,
        """
        SELECT xmin::text, shipment_id, purpose, about, actor, expires_at - created_at, sent_at, door_commands::text
        FROM door_commands WHERE tenant_id = $1 ORDER BY id
        """,
        shop.tenant,
    )
    audit = await ask(
        shop.core,
        """
        SELECT xmin::text, object, action, request_id, actor, audit::text FROM audit
        WHERE tenant_id = $1 AND action LIKE 'door.%' ORDER BY id
        """,
        shop.tenant,
    )
    return commands, audit


async def test_every_opening_is_one_command_and_one_audit_entry_of_one_commit_without_the_pin(
    shop: Shop, device: str
) -> None:
    shipment = await shop.reserved()
    pin = await pin_of(shop, shipment)
    await type_in(shop.core, device, wrong_pin(pin), about="no")
    await type_in(shop.core, device, pin, about="yes")
    (command,), (entry,) = await openings(shop)
    assert command[0] == entry[0], "two commits"
    assert command[1:5] == (shipment, "load", "yes", f"keypad of {shop.box_id}")
    assert (command[5].total_seconds(), command[6]) == (30, None)
    assert entry[1:5] == (shipment, "door.open.load", "yes", f"keypad of {shop.box_id}")
    assert not {pin} & set(command[7].strip("()").split(","))
    assert not {pin} & set(entry[5].strip("()").split(","))


async def test_an_opening_whose_audit_entry_fails_opens_nothing(
    shop: Shop, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = await pin_of(shop, await shop.reserved())
    monkeypatch.setattr("pickupbox.database.audit.append", _broken)
    with pytest.raises(ZeroDivisionError):
        await type_in(shop.core, device, pin)
    assert await openings(shop) == ([], [])


async def _broken(*_: Any, **__: Any) -> None:
    raise ZeroDivisionError
