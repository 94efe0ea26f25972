"""Identifiers: a prefix that says what, the cell that says where, then time and chance.

`shp_c1_01k9zq3v8e…`: 48 bits of milliseconds keep them in order of creation, 80 bits of chance keep them
unguessable. 26 characters of Crockford's base 32 in lower case, so they sort as text.
"""

import re
import zlib

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CELL_PATTERN = "^[a-z][a-z0-9]{0,7}$"

_PAIRS = [a + b for a in ALPHABET for b in ALPHABET]


def identifier(prefix: str, cell: str, milliseconds: int, chance: bytes) -> str:
    """Make an identifier from 10 bytes of chance."""
    if len(chance) != 10:
        raise ValueError("an identifier takes 10 bytes of chance")
    number = (milliseconds & (1 << 48) - 1) << 80 | int.from_bytes(chance)
    pairs = [_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)]
    return f"{prefix}_{cell}_{''.join(pairs)}"


def api_key(environment_word: str, cell: str, chance: bytes) -> str:
    """`pbx_live_c1_…`: 32 bytes of chance and a checksum by which a scanner knows a key when it sees one."""
    if len(chance) != 32:
        raise ValueError("an API key takes 32 bytes of chance")
    body = f"pbx_{environment_word}_{cell}_{_base62(int.from_bytes(chance), 43)}"
    return body + _checksum(body)


def is_api_key(text: str) -> bool:
    """Whether the text has a key's form and checksum; says nothing of whether it was ever issued."""
    if re.fullmatch(r"pbx_(live|test)_[a-z][a-z0-9]{0,7}_[0-9A-Za-z]{49}", text) is None:
        return False
    return _checksum(text[:-6]) == text[-6:]


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), 6)


def _base62(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits.append(BASE62[digit])
    return "".join(reversed(digits))
