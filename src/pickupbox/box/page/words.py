"""What a person reads: the text on the keypad's display, and one line per message. Pure: ticks are an argument."""

from dataclasses import asdict, dataclass, fields
from math import ceil
from typing import Any

from pickupbox.box import keypad as pad
from pickupbox.devices.messages import Message, PinEntered
from pickupbox.domain.doors import Verdict

SAID_SECONDS = 6.0
TEXT_LENGTH = 120
# Fields that a line may show, in this order. What is not named here, such as a PIN, is not shown.
SHOWN = (
    "seq",
    "happening",
    "verdict",
    "compartment",
    "purpose",
    "simulation",
    "closed_seconds",
    "open_doors",
    "online",
    "environment",
    "version",
    "reason",
)


@dataclass(frozen=True, slots=True)
class Said:
    """The last verdict, for which compartment, and when."""

    text: str = ""
    compartment: str | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Display:
    title: str
    detail: str = ""
    tone: str = "idle"  # idle, wait, good, bad or off
    typed: int = 0  # digits of the PIN so far; which ones is nobody's business
    code: str | None = None  # the compartment's code so far, while it is asked for
    letters: bool = False  # the keypad takes letters now
    takes_keys: bool = False


VERDICTS = {
    Verdict.REFUSED: Display("Wrong PIN", "Check the six digits and try again", "bad"),
    "no_answer": Display("No answer", "Please try again in a moment", "bad"),
}
NO_POWER = Display("", "", "off")
ASKING = Display("Checking", "One moment, please", "wait", typed=pad.PIN_DIGITS)


def display(
    now: float, *, sandbox: bool, connected: bool, throttle: pad.Throttle, typed: pad.Typed, asks: bool, said: Said
) -> Display:
    if not sandbox:
        what = "Waiting to hear that this is a sandbox" if connected else "Waiting for the service"
        return Display("One moment", what, "wait")
    if asks:
        return ASKING
    closed = ceil(throttle.closed_seconds(now))
    if closed:
        return Display("Keypad closed", f"Please try again in {_time(closed)}", "bad")
    if not typed.text and typed.code is None and now - said.at < SAID_SECONDS:
        if said.text == Verdict.OPENING:
            where = f"Opening {said.compartment}" if said.compartment else "Opening"
            return Display(where, "Please close the door afterwards", "good")
        if said.text in VERDICTS:
            return VERDICTS[said.text]
    return _asking_for(typed, connected=connected, with_compartment=throttle.needs_compartment(now))


def _asking_for(typed: pad.Typed, *, connected: bool, with_compartment: bool) -> Display:
    tone, offline = ("idle", "") if connected else ("bad", "No connection")
    if with_compartment and typed.code is None:
        return Display(
            "Enter compartment and PIN",
            offline or "Code, then OK",
            tone,
            code=typed.text,
            letters=True,
            takes_keys=True,
        )
    title = f"PIN for {typed.code}" if with_compartment else "Enter your PIN"
    if offline:
        title, offline = offline, "PINs that this box knows still open"
    return Display(title, offline or "Six digits", tone, typed=len(typed.text), takes_keys=True)


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 100 else f"{seconds // 60}:{seconds % 60:02} min"


def line(message: Message) -> str:
    """What a message says, on one line, without its ids and secrets."""
    given: dict[str, Any] = {each.name: getattr(message, each.name) for each in fields(message)}
    parts = ["••••••"] if isinstance(message, PinEntered) else []
    parts += [_short(name, given[name]) for name in SHOWN if given.get(name) is not None]
    return " ".join(part for part in parts if part)[:TEXT_LENGTH]


def _short(name: str, value: Any) -> str:
    match name:
        case "seq":
            return f"#{value}"
        case "version":
            return f"version {value}"
        case "closed_seconds":
            return f"for {value} s"
        case "online":
            return "online" if value else "offline"
        case "open_doors":
            return f"open: {', '.join(value)}" if value else ""
        case _:
            return str(value)


def plain(display: Display) -> dict[str, Any]:
    return asdict(display)
