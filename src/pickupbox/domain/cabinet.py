"""Where each compartment is in the cabinet, from the codes: letters name the column, the number counts down it."""

import re
from collections.abc import Sequence

ROWS = 6  # of a cabinet, unless its codes say otherwise
ROWS_MOST = 12
_CODE = re.compile(r"([A-Z]{1,2})([0-9]{1,2})")


def places(codes: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Column and row of each compartment, from 1."""
    found = [_CODE.fullmatch(code) for code in codes]
    named = [(match[1], int(match[2])) for match in found if match]
    columns = list(dict.fromkeys(letters for letters, _ in named))
    lowest = min((number for _, number in named), default=0)
    if len(named) < len(codes) or max((number for _, number in named), default=0) - lowest >= ROWS_MOST:
        return {code: (number // ROWS + 1, number % ROWS + 1) for number, code in enumerate(codes)}
    return {
        code: (columns.index(letters) + 1, number - lowest + 1)
        for code, (letters, number) in zip(codes, named, strict=True)
    }


def columns(codes: Sequence[str]) -> list[list[str | None]]:
    """The codes column by column, each from the top; None where the cabinet has no door."""
    grid = {place: code for code, place in places(codes).items()}
    width = max((column for column, _ in grid), default=0)
    height = max((row for _, row in grid), default=0)
    return [[grid.get((column, row)) for row in range(1, height + 1)] for column in range(1, width + 1)]
