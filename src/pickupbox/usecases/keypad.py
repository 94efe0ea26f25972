"""A PIN was typed at a box: whether it opens a door, and for what."""

from dataclasses import dataclass
from datetime import datetime

from pickupbox.database import commands, devices, keypads
from pickupbox.database.commands import Command
from pickupbox.domain.deadlines import WHEN_DUE
from pickupbox.domain.doors import PURPOSES, Verdict
from pickupbox.domain.lifecycle import Trigger
from pickupbox.domain.shipment import Shipment
from pickupbox.telemetry import PINS
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core


class UnknownDeviceError(Exception):
    """No box of this service, or no longer: it may be another service's on the same broker, so nobody answers it."""


@dataclass(frozen=True, slots=True)
class Judged:
    verdict: Verdict
    command: Command | None = None
    closed_seconds: int | None = None


async def enter_pin(core: Core, device_id: str, pin: str, compartment: str | None, about: str) -> Judged:
    """Judge a PIN; the command to open and its audit entry are committed before anyone is told.

    Wrong, expired and foreign PINs are refused alike, and count alike.
    """
    async with core.db.transaction() as tx:
        place = await devices.box_of(tx, device_id)
        if place is None:
            raise UnknownDeviceError
        tenant, box_id = place
        keypad, now = await keypads.lock(tx, tenant, box_id)
        if seconds := keypad.seconds_closed(now):
            return _judged(Verdict.CLOSED, closed_seconds=seconds)
        if compartment is None and keypad.needs_compartment(now):
            return _judged(Verdict.COMPARTMENT_NEEDED)
        lookups = core.vault.pin_lookups(box_id, pin)
        shipment = await keypads.find_by_pin(tx, tenant, box_id, lookups, compartment)
        if shipment is None or not _opens(shipment, now):
            failed = keypad.after_failure(now)
            await keypads.save(tx, tenant, box_id, failed)
            return _judged(Verdict.REFUSED, closed_seconds=failed.seconds_closed(now) or None)
        if (succeeded := keypad.after_success()) != keypad:
            await keypads.save(tx, tenant, box_id, succeeded)
        command = await commands.insert(
            tx,
            tenant,
            core.new_id("cmd"),
            device_id=device_id,
            box_id=box_id,
            compartment_code=shipment.compartment_code,
            purpose=PURPOSES[shipment.stage],
            shipment_id=shipment.id,
            about=about,
            actor=f"keypad of {box_id}",
        )
        await note(core, tx, Caller(tenant, f"keypad of {box_id}", about), f"door.open.{command.purpose}", shipment.id)
    return _judged(Verdict.OPENING, command)


def _opens(shipment: Shipment, now: datetime) -> bool:
    """Whether the shipment's PIN opens now. One that has expired and was not swept yet opens no more."""
    if shipment.stage not in PURPOSES:
        return False
    if WHEN_DUE.get(shipment.stage) is not Trigger.EXPIRE:
        return True
    return now < (shipment.pickup_expires_at or shipment.reservation_expires_at)


def _judged(verdict: Verdict, command: Command | None = None, closed_seconds: int | None = None) -> Judged:
    PINS.labels(verdict).inc()
    return Judged(verdict, command, closed_seconds)
