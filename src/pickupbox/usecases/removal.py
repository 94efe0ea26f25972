"""Removal: free a compartment that awaits it, by what its door has shown and a person has seen."""

from pickupbox.database import commands, devices, removals
from pickupbox.database.commands import Command
from pickupbox.database.connection import Connection
from pickupbox.database.shipments import Locked
from pickupbox.domain.doors import Purpose
from pickupbox.domain.errors import (
    BoxNotConnected,
    DoorCodeWrong,
    NotAwaitingRemoval,
    RemovalCycleMissing,
    SecondPersonNeeded,
)
from pickupbox.domain.lifecycle import CompartmentState, Trigger
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.steps import lock, moving, prepare, record


async def open_for_removal(core: Core, operator: Caller, shipment_id: str) -> Command:
    """Command the door open. What lies inside may then be taken out; the door must be closed again."""
    async with core.db.transaction() as tx:
        locked = await _held(tx, operator.tenant, shipment_id)
        shipment = locked.shipment
        device_id = await devices.device_of(tx, operator.tenant, shipment.box_id)
        if device_id is None:
            raise BoxNotConnected
        command = await commands.insert(
            tx,
            operator.tenant,
            core.new_id("cmd"),
            device_id=device_id,
            box_id=shipment.box_id,
            compartment_code=shipment.compartment_code,
            purpose=Purpose.REMOVE,
            shipment_id=shipment.id,
            about=None,
            actor=operator.actor,
        )
        await removals.begin(tx, operator.tenant, shipment.id, command.id)
        await note(core, tx, operator, "door.open.remove", shipment.id)
    core.db.ring()
    return command


async def confirm_empty(core: Core, operator: Caller, shipment_id: str) -> Shipment:
    """The operator has seen that it is empty, and the door went closed, open, closed since it was commanded."""
    async with moving(core) as tx:
        locked = await _held(tx, operator.tenant, shipment_id)
        removal = await removals.find(tx, operator.tenant, shipment_id)
        if removal is None or removal.cycle != "closed":
            raise RemovalCycleMissing
        await note(core, tx, operator, "removal.confirm", shipment_id)
        return await record(tx, prepare(core, locked, Trigger.REMOVE))


async def leave_contents(core: Core, operator: Caller, shipment_id: str) -> None:
    """The operator has looked, and something is still inside: it stays held, and the door must be opened again."""
    async with moving(core) as tx:
        await _held(tx, operator.tenant, shipment_id)
        await removals.void(tx, operator.tenant, shipment_id)
        await note(core, tx, operator, "removal.still_has_contents", shipment_id)


async def release_in_emergency(
    core: Core, operator: Caller, shipment_id: str, reason: str, *, typed_code: str | None = None
) -> Shipment | None:
    """Without the door's word, two different people vouch for it within 15 minutes. None after the first of them.

    `typed_code` is what the person read off the door; None where people name the shipment by a command.
    """
    async with moving(core) as tx:
        locked = await _held(tx, operator.tenant, shipment_id)
        if typed_code is not None and typed_code.upper() != locked.shipment.compartment_code.upper():
            raise DoorCodeWrong
        removal = await removals.find(tx, operator.tenant, shipment_id)
        await note(core, tx, operator, f"removal.emergency: {reason}", shipment_id)
        if removal is None or removal.emergency_by is None:
            await removals.vouch(tx, operator.tenant, shipment_id, operator.actor, reason)
            return None
        if removal.emergency_by == operator.actor:
            raise SecondPersonNeeded
        return await record(tx, prepare(core, locked, Trigger.REMOVE))


async def _held(tx: Connection, tenant: str, shipment_id: str) -> Locked:
    locked = await lock(tx, tenant, shipment_id)
    if locked.shipment.compartment_state is not CompartmentState.AWAITING_REMOVAL:
        raise NotAwaitingRemoval
    return locked
