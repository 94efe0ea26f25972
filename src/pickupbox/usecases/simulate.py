"""The sandbox's simulated events: advance a virtual shipment as the street would."""

from enum import StrEnum

from pickupbox.database import commands, devices
from pickupbox.database.connection import Connection
from pickupbox.domain.doors import SIMULATIONS, Simulation
from pickupbox.domain.errors import InvalidSandboxTransition
from pickupbox.domain.lifecycle import TRANSITIONS, NotInTableError, Stage, Trigger
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.steps import lock, moving, prepare, record


class SandboxEvent(StrEnum):
    LOADED = "loaded"
    PICKED_UP = "picked_up"
    DOOR_AVAILABLE = "door_available"
    EXPIRED = "expired"
    FAULT = "fault"
    REMOVED = "removed"


TRIGGERS = {
    SandboxEvent.LOADED: Trigger.LOAD,
    SandboxEvent.PICKED_UP: Trigger.PICK_UP,
    SandboxEvent.DOOR_AVAILABLE: Trigger.RELEASE,
    SandboxEvent.EXPIRED: Trigger.EXPIRE,
    SandboxEvent.FAULT: Trigger.FAULT,
    SandboxEvent.REMOVED: Trigger.REMOVE,
}


def fitting(stage: Stage) -> list[SandboxEvent]:
    """The events that fit a shipment at this stage."""
    return [event for event, trigger in TRIGGERS.items() if (stage, trigger) in TRANSITIONS]


async def simulate(
    core: Core, tenant: str, shipment_id: str, event: SandboxEvent, *, person: Caller | None = None
) -> Shipment:
    """Take the step that the event stands for; an event that does not fit changes nothing.

    A virtual box follows: what lies behind its door is what the shipment says. What a person does is noted.
    """
    trigger = TRIGGERS[event]
    async with moving(core) as tx:
        locked = await lock(tx, tenant, shipment_id)
        try:
            recording = prepare(core, locked, trigger, simulated=True)
        except NotInTableError:
            raise InvalidSandboxTransition from None
        if person is not None:
            await note(core, tx, person, f"sandbox.{event}", shipment_id)
        shipment = await record(tx, recording)
        if trigger in SIMULATIONS:
            await _move_virtual_door(core, tx, tenant, shipment, SIMULATIONS[trigger])
    return shipment


async def _move_virtual_door(
    core: Core, tx: Connection, tenant: str, shipment: Shipment, simulation: Simulation
) -> None:
    device_id = await devices.device_of(tx, tenant, shipment.box_id)
    if device_id is None:
        return
    await commands.insert(
        tx,
        tenant,
        core.new_id("cmd"),
        device_id=device_id,
        box_id=shipment.box_id,
        compartment_code=shipment.compartment_code,
        purpose=simulation,
        shipment_id=shipment.id,
        about=None,
        actor="sandbox",
        seconds=commands.SIMULATION_SECONDS,
    )
