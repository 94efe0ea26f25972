"""How far a removal has come, as the person before the box must see it: decided from what is known."""

from enum import StrEnum


class Screen(StrEnum):
    """What a person has to do next; one of them at any time."""

    OPEN_IT = "open_it"
    NO_DEVICE = "no_device"
    ALREADY_OPEN = "already_open"  # it stands open, and not by our command: that opening proves nothing
    OPENING = "opening"
    PULL = "pull"  # the lock is released, the door has not moved yet
    EMPTY_IT = "empty_it"
    CONFIRM = "confirm"
    OPENED_AGAIN = "opened_again"  # it moved after the command's own opening: what was seen counts no more
    JAMMED = "jammed"
    REFUSED = "refused"
    NO_ANSWER = "no_answer"
    DONE = "done"
    NOT_HELD = "not_held"


def screen_of(
    *,
    held: bool,
    removed: bool,
    device: bool,
    is_open: bool | None,
    commanded: bool,
    expired: bool,
    outcome: str | None,
    cycle: str,
) -> Screen:
    """`is_open` is what the sensor last said, None if it never did; `outcome` what became of the command."""
    if not held:
        return Screen.DONE if removed else Screen.NOT_HELD
    if cycle == "closed":
        return Screen.CONFIRM
    if cycle == "open":
        return Screen.EMPTY_IT
    if outcome == "failed":
        return Screen.JAMMED
    if outcome == "refused":
        return Screen.REFUSED
    if is_open:
        return Screen.ALREADY_OPEN
    if not device:
        return Screen.NO_DEVICE
    if not commanded:
        return Screen.OPEN_IT
    if outcome == "opened":
        return Screen.OPENED_AGAIN
    if outcome == "unlocked":
        return Screen.PULL
    return Screen.NO_ANSWER if expired else Screen.OPENING
