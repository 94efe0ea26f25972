"""What boxes report about their doors, taken in order, each exactly once, many boxes in one commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, zip_longest

from pickupbox.database import aside, commands, door_reports, doors, journals, removals, shipments
from pickupbox.database.aside import Unread
from pickupbox.database.commands import Command
from pickupbox.database.connection import Connection
from pickupbox.database.door_reports import Report
from pickupbox.database.shipments import Locked, Recording
from pickupbox.domain.doors import Happening, Purpose, leaves_doubt, triggers_of
from pickupbox.domain.grants import mark_of, read_offline_command
from pickupbox.domain.lifecycle import Trigger
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
    occurred_at: datetime | None = None  # by the box's own clock


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
        await aside.insert(tx, [unread])
        await journals.save(tx, [(entry.device_id, entry.boot, entry.seq)])
        return Taken(entry.seq)


async def _apply(core: Core, tx: Connection, due: Sequence[tuple[Entry, journals.Progress]]) -> None:
    named = [(entry, p.tenant_id, p.box_id, entry.compartment) for entry, p in due if entry.compartment is not None]
    given = await commands.find(tx, [entry.command_id for entry, _ in due if entry.command_id is not None])
    behind = await doors.lock_behind(tx, [(tenant, box, code) for _, tenant, box, code in named])
    steps: list[list[Recording]] = []
    doubtful: list[tuple[str, str, str]] = []
    for entry, tenant, box_id, code in named:
        locked = behind.get((box_id, code))
        purpose = _purpose(entry, given, box_id, code, locked)
        if locked is not None:
            steps.append(_steps(core, locked, triggers_of(entry.happening, locked.shipment.stage, purpose)))
        stage = locked.shipment.stage if locked else None
        if leaves_doubt(entry.happening, stage, commanded=purpose is not None):
            doubtful.append((tenant, box_id, code))
    moved = {
        (tenant, box_id, code): entry.happening is Happening.DOOR_OPENED
        for entry, tenant, box_id, code in named
        if entry.happening in (Happening.DOOR_OPENED, Happening.DOOR_CLOSED)
    }
    if moved:
        await doors.save(tx, [(*place, is_open) for place, is_open in moved.items()])
    for recordings in zip_longest(*steps):
        await shipments.record(tx, [recording for recording in recordings if recording is not None])
    shipments_behind = [
        (behind[box_id, code].shipment.id, entry.command_id, entry.happening is Happening.DOOR_OPENED)
        for entry, _, box_id, code in named
        if (box_id, code) in behind and entry.happening in (Happening.DOOR_OPENED, Happening.DOOR_CLOSED)
    ]
    if shipments_behind:
        await removals.note_doors(tx, shipments_behind)
    if doubtful:
        await doors.take_out_of_service(tx, doubtful)
        log.warning("compartment_in_doubt", doors=[f"{box}/{code}" for _, box, code in doubtful])
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
    await door_reports.insert(tx, [_report(entry, progress, given, behind) for entry, progress in due])
    for recording in chain.from_iterable(steps):
        STEPS.labels(recording.advance.trigger).inc()


def _report(
    entry: Entry, progress: journals.Progress, given: Mapping[str, Command], behind: Mapping[tuple[str, str], Locked]
) -> Report:
    """The entry as history keeps it: about its command's shipment, else about the one behind the door."""
    command = given.get(entry.command_id or "")
    if command is not None and command.box_id != progress.box_id:
        command = None
    own = read_offline_command(entry.command_id) if entry.command_id is not None else None
    locked = behind.get((progress.box_id, entry.compartment or ""))
    return Report(
        tenant_id=progress.tenant_id,
        box_id=progress.box_id,
        device_id=entry.device_id,
        boot=entry.boot,
        seq=entry.seq,
        occurred_at=entry.occurred_at,
        happening=entry.happening,
        code=entry.compartment,
        command_id=entry.command_id,
        purpose=command.purpose if command else own[0] if own else None,
        shipment_id=command.shipment_id if command else locked.shipment.id if locked else None,
        reason=entry.reason,
    )


def _steps(core: Core, locked: Locked, triggers: Sequence[Trigger]) -> list[Recording]:
    """One after the other; all but a few reports have one."""
    recordings: list[Recording] = []
    for trigger in triggers:
        recordings.append(prepare(core, locked, trigger))
        locked = replace(locked, shipment=recordings[-1].advance.shipment)
    return recordings


def _purpose(
    entry: Entry, given: Mapping[str, Command], box_id: str, code: str, locked: Locked | None
) -> Purpose | None:
    """For what the door was opened for the shipment that is behind it now: by a command, or by the box itself.

    None: nobody opened it for that shipment.
    """
    if locked is None or entry.command_id is None:
        return None
    command = given.get(entry.command_id)
    if command is not None:
        meant = (command.box_id, command.compartment_code, command.shipment_id)
        return Purpose(command.purpose) if meant == (box_id, code, locked.shipment.id) else None
    own = read_offline_command(entry.command_id)
    return own[0] if own is not None and own[1] == mark_of(locked.shipment.id) else None
