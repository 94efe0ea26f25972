"""Identifiers: a prefix that says what, the cell that says where, then time and chance.

`shp_c1_019a8f3c…`: 48 bits of milliseconds keep them in order of creation, 80 bits of chance keep them unguessable;
32 hexadecimal digits, so they sort as text.
"""

import re
import zlib

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CELL_PATTERN = "^[a-z][a-z0-9]{0,7}$"
DEVICE_PATTERN = r"^dev_[a-z][a-z0-9]{0,7}_[0-9a-f]{32}$"


def identifier(prefix: str, cell: str, milliseconds: int, chance: bytes) -> str:
    """Make an identifier from 10 bytes of chance."""
    if len(chance) != 10:
        raise ValueError("an identifier takes 10 bytes of chance")
    return f"{prefix}_{cell}_{milliseconds:012x}{chance.hex()}"


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
