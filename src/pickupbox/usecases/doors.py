"""What boxes report about their doors, taken in order, each exactly once, many boxes in one commit."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database import commands, doors, journals, presence, removals, shipments
from pickupbox.database.commands import Command
from pickupbox.database.connection import Connection
from pickupbox.database.presence import Unread
from pickupbox.database.shipments import Locked, Recording
from pickupbox.domain.doors import Happening, leaves_doubt, trigger_of
from pickupbox.telemetry import HAPPENINGS, STEPS, log
from pickupbox.usecases.core import Core
from pickupbox.usecases.steps import moving, prepare


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of one box's journal."""

    device_id: str
    boot: str
    seq: int
    happening: Happening
    compartment: str | None
    command_id: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Taken:
    """How far the journal is committed now. `gap`: what comes after that is missing and must be sent again."""

    seq: int
    gap: bool = False


_OUTCOMES = {
    Happening.UNLOCKED: "unlocked",
    Happening.DOOR_OPENED: "opened",
    Happening.LOCK_FAILED: "failed",
    Happening.COMMAND_REFUSED: "refused",
}


async def take_entries(core: Core, entries: Sequence[Entry]) -> Sequence[Taken | None]:
    """Take entries of different journals; None for one of a device that is not known.

    An entry that was taken before changes nothing; one that comes too early waits until what is missing has come.
    """
    async with moving(core) as tx:
        known = await journals.lock(tx, [(entry.device_id, entry.boot) for entry in entries])
        answers: list[Taken | None] = []
        due: list[tuple[Entry, journals.Progress]] = []
        for entry in entries:
            progress = known.get((entry.device_id, entry.boot))
            if progress is None:
                answers.append(None)
            elif entry.seq == progress.seq + 1:
                answers.append(Taken(entry.seq))
                due.append((entry, progress))
            else:
                answers.append(Taken(progress.seq, gap=entry.seq > progress.seq))
        if due:
            await _apply(core, tx, due)
            await journals.save(tx, [(entry.device_id, entry.boot, entry.seq) for entry, _ in due])
    for entry, _ in due:
        HAPPENINGS.labels(entry.happening).inc()
    return answers


async def take_past(core: Core, entry: Entry, unread: Unread) -> Taken | None:
    """Set an entry aside that cannot be applied; in the same commit the journal goes on behind it."""
    async with core.db.transaction() as tx:
        known = await journals.lock(tx, [(entry.device_id, entry.boot)])
        progress = known.get((entry.device_id, entry.boot))
        if progress is None:
            return None
        if entry.seq != progress.seq + 1:
            return Taken(progress.seq, gap=entry.seq > progress.seq)
        await presence.set_aside(tx, [unread])
        await journals.save(tx, [(entry.device_id, entry.boot, entry.seq)])
        return Taken(entry.seq)


async def _apply(core: Core, tx: Connection, due: Sequence[tuple[Entry, journals.Progress]]) -> None:
    named = [(entry, p.tenant_id, p.box_id, entry.compartment) for entry, p in due if entry.compartment is not None]
    given = await commands.find(tx, [entry.command_id for entry, _ in due if entry.command_id is not None])
    behind = await doors.lock_behind(tx, [(tenant, box, code) for _, tenant, box, code in named])
    recordings: list[Recording] = []
    doubtful: list[tuple[str, str, str]] = []
    for entry, tenant, box_id, code in named:
        locked = behind.get((box_id, code))
        commanded = _is_meant(given.get(entry.command_id or ""), box_id, code, locked)
        trigger = trigger_of(entry.happening, locked.shipment.stage, commanded=commanded) if locked else None
        if locked is not None and trigger is not None:
            recordings.append(prepare(core, locked, trigger))
        if leaves_doubt(entry.happening, locked.shipment.stage if locked else None, commanded=commanded):
            doubtful.append((tenant, box_id, code))
    moved = {
        (tenant, box_id, code): entry.happening is Happening.DOOR_OPENED
        for entry, tenant, box_id, code in named
        if entry.happening in (Happening.DOOR_OPENED, Happening.DOOR_CLOSED)
    }
    if moved:
        await doors.save(tx, [(*place, is_open) for place, is_open in moved.items()])
    if recordings:
        await shipments.record(tx, recordings)
    shipments_behind = [
        (behind[box_id, code].shipment.id, entry.command_id, entry.happening is Happening.DOOR_OPENED)
        for entry, _, box_id, code in named
        if (box_id, code) in behind and entry.happening in (Happening.DOOR_OPENED, Happening.DOOR_CLOSED)
    ]
    if shipments_behind:
        await removals.note_doors(tx, shipments_behind)
    if doubtful:
        await doors.take_out_of_service(tx, doubtful)
        log.warning("door_opened_uncommanded", doors=[f"{box}/{code}" for _, box, code in doubtful])
    outcomes = [
        (entry.command_id, _OUTCOMES[entry.happening], entry.reason)
        for entry, progress in due
        if entry.command_id is not None
        and entry.happening in _OUTCOMES
        and entry.command_id in given
        and given[entry.command_id].box_id == progress.box_id
    ]
    if outcomes:
        await commands.note(tx, outcomes)
    for recording in recordings:
        STEPS.labels(recording.advance.trigger).inc()


def _is_meant(command: Command | None, box_id: str, code: str, locked: Locked | None) -> bool:
    """Whether the command was for this very door, and for the shipment that is behind it now."""
    if command is None or (command.box_id, command.compartment_code) != (box_id, code):
        return False
    return locked is not None and command.shipment_id == locked.shipment.id
