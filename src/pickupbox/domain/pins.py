"""PINs: six digits, usable while the shipment is reserved or loaded."""

from pickupbox.domain.lifecycle import FACES, Stage, Status

PIN_COUNT = 1_000_000
PIN_PATTERN = "^[0-9]{6}$"


def pin_of(number: int) -> str:
    """The PIN with this number; 0 is 000000."""
    if not 0 <= number < PIN_COUNT:
        raise ValueError("a PIN number has at most six digits")
    return f"{number:06d}"


def can_be_revealed(stage: Stage) -> bool:
    return FACES[stage].status in (Status.RESERVED, Status.LOADED)
