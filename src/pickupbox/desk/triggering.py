"""Make an event happen in a sandbox, over the public API: a fresh shipment or a given one, step by step."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pickupbox_sdk import AsyncPickupbox, NoCompartmentAvailable, Shipment
from pickupbox_sdk import Status as PublicStatus

from pickupbox.desk import DeskError
from pickupbox.desk.ways import CANCEL, WAIT, told_between, way_to
from pickupbox.domain.lifecycle import CompartmentState, Event, Face, Status

STEPS_MOST = 8
POLL_SECONDS = 0.3
GRACE_SECONDS = 15.0  # beyond the end of protection, for the worker that ends it
WAIT_MOST_SECONDS = 900.0

type Say = Callable[[str], None]


@dataclass
class Driven:
    """A shipment on its way, and what the shop was told meanwhile."""

    shipment: Shipment
    pin: str | None = None
    told: list[Event] = field(default_factory=list)

    @property
    def face(self) -> Face:
        shown = self.shipment
        return Face(Status(shown.status), CompartmentState(shown.compartment_state), shown.pickup_enabled)

    @property
    def is_released(self) -> bool:
        return self.face.compartment_state is CompartmentState.AVAILABLE


async def fresh(client: AsyncPickupbox, box_id: str | None, order: str | None, say: Say) -> Driven:
    """Reserve in the first box that has room, for a new order unless one is named."""
    boxes = {box.id: box.name for box in await client.list_boxes()}
    if box_id is not None and box_id not in boxes:
        raise DeskError(f"There is no box {box_id}. Those of this tenant: {', '.join(boxes) or 'none'}.", 2)
    named = order or f"trigger-{secrets.token_hex(4)}"
    for candidate in [box_id] if box_id is not None else boxes:
        try:
            made = await client.create_shipment(candidate, named)
        except NoCompartmentAvailable:
            continue
        if made.replayed:
            say(f"{named}: has {made.compartment_code} at {boxes[candidate]} already")
            return Driven(made, made.pickup_pin)
        say(f"{named}: reserved {made.compartment_code} at {boxes[candidate]}, tells reserved")
        return Driven(made, made.pickup_pin, [Event.RESERVED])
    if not boxes:
        raise DeskError("The tenant has no box. `pickupbox box add` makes one; the demo has two.")
    raise DeskError(
        f"{'The box is' if box_id else 'All boxes are'} full. For each shipment that you no longer need:\n"
        "  pickupbox trigger door_available --shipment SHIPMENT\nWith --finish, nothing is left behind."
    )


async def drive(client: AsyncPickupbox, driven: Driven, event: Event, say: Say) -> None:
    """Take step after step until the shop is told the event."""
    known = len(driven.told)
    for _ in range(STEPS_MOST):
        if event in driven.told[known:]:
            return
        way = way_to(event, driven.face)
        if way is None:
            shown = f"{driven.shipment.status} / {driven.shipment.compartment_state}"
            raise DeskError(
                f"{driven.shipment.id} is {shown}: from there nothing leads to {event}.\n"
                "Leave --shipment and --order out to begin with a fresh one."
            )
        await _step(client, driven, way[0], say)
    raise DeskError(f"{driven.shipment.id} moves by other hands too: {event} was not reached in {STEPS_MOST} steps.")


async def _step(client: AsyncPickupbox, driven: Driven, act: str, say: Say) -> None:
    before = driven.face
    if act == WAIT:
        driven.shipment = await _protection_ended(client, driven.shipment, say)
    elif act == CANCEL:
        driven.shipment = await client.cancel_shipment(driven.shipment.id)
    else:
        driven.shipment = await client.simulate_event(driven.shipment.id, act)
    told = told_between(before, act, driven.face)
    driven.told += told
    shown = f"{driven.shipment.status} / {driven.shipment.compartment_state}"
    say(f"{_DID.get(act, act)}: {shown}{f', tells {" and ".join(told)}' if told else ''}")


_DID = {WAIT: "protection ended", CANCEL: "cancelled"}


async def _protection_ended(client: AsyncPickupbox, shipment: Shipment, say: Say) -> Shipment:
    """`loaded` is told when the protection period ends, not when the parcel is inside."""
    ends = shipment.pickup_available_at or datetime.now(UTC)
    seconds = (ends - datetime.now(UTC)).total_seconds()
    if seconds > WAIT_MOST_SECONDS:
        raise DeskError(f"The protection of {shipment.id} ends only at {ends:%Y-%m-%d %H:%M} UTC; ask again then.")
    say(f"waiting {max(1.0, seconds):.0f} s for the end of the protection period; only then `loaded` is told")
    try:
        async with asyncio.timeout(max(0.0, seconds) + GRACE_SECONDS):
            while not shipment.pickup_enabled and shipment.status is PublicStatus.LOADED:
                await asyncio.sleep(POLL_SECONDS)
                shipment = await client.get_shipment(shipment.id)
    except TimeoutError:
        raise DeskError(
            f"The protection of {shipment.id} did not end. Is its door open? Is `pickupbox worker` running?"
        ) from None
    return shipment


async def trigger(
    client: AsyncPickupbox,
    event: Event,
    *,
    shipment_id: str | None,
    box_id: str | None,
    order: str | None,
    finish: bool,
    say: Say,
) -> Driven:
    """Make the event happen; with `finish`, release the compartment afterwards."""
    if shipment_id is None:
        driven = await fresh(client, box_id, order, say)
    elif event is Event.RESERVED:
        raise DeskError("A shipment is reserved when it is made: leave --shipment out.", 2)
    else:
        driven = Driven(await client.get_shipment(shipment_id))
    if event is Event.RESERVED and event not in driven.told:
        raise DeskError(f"{order} was reserved before and is not told again: use another --order, or none.")
    if event is not Event.RESERVED:
        await drive(client, driven, event, say)
    if finish and not driven.is_released:
        await drive(client, driven, Event.DOOR_AVAILABLE, say)
    return driven
