"""The golden messages: what is on the wire, as files, and what each file says. Both sides are tested against them.

A file is named `<direction>_<kind>.json`; a second face of a kind has a word more.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pickupbox.devices.messages import (
    MESSAGES,
    Ack,
    Certificate,
    Heartbeat,
    Journaled,
    Message,
    Open,
    PinAnswer,
    PinEntered,
    Presence,
    RefusedByBox,
    RefusedByService,
    RenewalAsked,
    Resend,
    Roster,
    RosterTaken,
    Simulated,
)
from pickupbox.domain.doors import Happening, Purpose, Simulation, Verdict

FOLDER = Path(__file__).parent / "golden"
DEVICE = "dev_c1_01a1d92f05e0a3b1c2d3e4f506172849"
BOOT = "5f0c2d7e9b8a4c31"
COMMAND = "cmd_c1_01a1d94ad76e8e10c1d2e3f405162738"


def payload(name: str) -> bytes:
    return (FOLDER / f"{name}.json").read_bytes()


def fields_of(name: str) -> dict[str, Any]:
    return json.loads(payload(name))


def kind_of(name: str) -> type[Message]:
    """The kind that a file is of; of `pin` and `pin_answer`, the longer one that fits."""
    fitting = [message for message in MESSAGES if f"{name}_".startswith(f"{message.direction}_{message.kind}_")]
    return max(fitting, key=lambda message: len(message.kind))


def _at(second: int, millisecond: int = 0) -> datetime:
    return datetime(2026, 11, 14, 9, 0, second, millisecond * 1000, tzinfo=UTC)


def _head(number: int, second: int, millisecond: int = 0) -> dict[str, Any]:
    return {"id": f"msg_{number:04}", "at": _at(second, millisecond)}


def _entry(seq: int, happening: Happening, **more: str) -> Journaled:
    return Journaled(**_head(seq, seq), boot=BOOT, seq=seq, happening=happening, **more)


_PEM = "-----BEGIN {0}-----\nbWFkZSB1cCwgbm90IGEgcmVhbCBvbmU=\n-----END {0}-----\n"

GOLDEN: dict[str, Message] = {
    "up_event": _entry(3, Happening.DOOR_OPENED, compartment="A4", command=COMMAND),
    "up_event_started": _entry(1, Happening.STARTED),
    "up_event_unlocked": _entry(2, Happening.UNLOCKED, compartment="A4", command=COMMAND),
    "up_event_uncommanded": _entry(5, Happening.DOOR_OPENED, compartment="B1"),
    "up_event_lock_failed": _entry(
        6, Happening.LOCK_FAILED, compartment="A4", command=COMMAND, reason="the bolt did not move: Tür klemmt 🚪"
    ),
    "up_event_command_refused": _entry(
        7, Happening.COMMAND_REFUSED, compartment="A4", command=COMMAND, reason="expired"
    ),
    "up_pin": PinEntered(**_head(20, 20, 118), pin="049381"),
    "up_pin_with_compartment": PinEntered(**_head(21, 21), pin="049381", compartment="A4"),
    "up_heartbeat": Heartbeat(
        **_head(22, 22), boot=BOOT, seq=7, open_doors=["A4", "B1"], software="pickupbox 0.1.0", roster=12
    ),
    "up_heartbeat_new": Heartbeat(**_head(23, 23), boot=BOOT, seq=0, open_doors=[], software="pickupbox 0.1.0"),
    "up_presence": Presence(**_head(24, 24), online=True),
    "up_presence_cut_off": Presence(**_head(24, 24), online=False),
    "up_roster": RosterTaken(**_head(29, 30), version=12),
    "up_renewal": RenewalAsked(**_head(25, 25), request=_PEM.format("CERTIFICATE REQUEST")),
    "up_refusal": RefusedByBox(**_head(26, 26), about="msg_0099", reason="unknown kind 'sing'"),
    "up_refusal_unreadable": RefusedByBox(**_head(27, 27), reason="not a JSON object"),
    "down_open": Open(
        id=COMMAND, at=_at(20, 204), compartment="A4", purpose=Purpose.LOAD, expires_at=_at(50, 201), about="msg_0020"
    ),
    "down_open_by_operator": Open(
        id=COMMAND, at=_at(20, 204), compartment="A4", purpose=Purpose.REMOVE, expires_at=_at(50, 201)
    ),
    "down_simulated": Simulated(**_head(48, 29), compartment="A4", simulation=Simulation.FILL),
    "down_pin_answer": PinAnswer(**_head(40, 20, 206), about="msg_0020", verdict=Verdict.OPENING, compartment="A4"),
    "down_pin_answer_refused": PinAnswer(**_head(41, 20, 206), about="msg_0020", verdict=Verdict.REFUSED),
    "down_pin_answer_closed": PinAnswer(
        **_head(42, 20, 206), about="msg_0020", verdict=Verdict.CLOSED, closed_seconds=60
    ),
    "down_ack": Ack(**_head(43, 7, 40), boot=BOOT, seq=7, about="msg_0007"),
    "down_ack_of_heartbeat": Ack(
        **_head(49, 22, 31), boot=BOOT, seq=7, about="msg_0022", environment="sandbox", roster=12
    ),
    "down_resend": Resend(**_head(44, 8), boot=BOOT, seq=3),
    "down_roster": Roster(
        **_head(49, 30),
        version=12,
        part=1,
        parts=1,
        key="5f0c2d7e9b8a4c31" * 4,
        grants=[
            "A4 load f40516273849 0 1794733200 3q2-7wAAAAAA",
            "B1 pick_up c1d2e3f40516 1794646920 1794819600 yv66vgAAAAAA",
        ],
    ),
    "down_certificate": Certificate(**_head(45, 26), about="msg_0025", chain=_PEM.format("CERTIFICATE") * 2),
    "down_refusal": RefusedByService(**_head(46, 27), about="msg_0099", reason="seq is missing"),
    "down_refusal_unreadable": RefusedByService(**_head(47, 28), reason="unknown kind 'sing'"),
}
