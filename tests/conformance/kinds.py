"""What a rule is."""

from typing import NamedTuple


class Rule(NamedTuple):
    id: str
    kind: str
    text: str


ROW = "table row"
NUMBERED = "numbered"
PROSE = "text"
