"""Garbled payloads without end: bytes, JSON, and golden messages with something changed. The same for the same seed."""

import json
import random
from collections.abc import Iterator
from typing import Any

from pickupbox.devices.messages import MESSAGES, Message
from pickupbox.devices.wire import hints_of
from tests.devices.golden import GOLDEN, fields_of, kind_of, payload

_NAMES = sorted({name for message in MESSAGES for name in hints_of(message)})
_WORDS = ["", "A4", "049381", "dance", "x" * 65, "x" * 5000, "\0", "\ud800", "١٢٣٤٥٦", "🚪", "2026-11-14T09:00:00"]
_WORDS += ["2026-11-14T09:00:00Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "{}", "-" * 40, "\n"]
_NUMBERS = [0, 1, -1, 2**31, 2**53 - 1, 2**53, 2**64, -(2**63), 10**400, 0.5, 1e308, float("inf"), float("nan")]
_PIECES = [
    b"",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b'"',
    b"{",
    b"[" * 2000,
    b"}",
    b",",
    b":",
    b"NaN",
    b"1e400",
    b"\\u0000",
]
_PIECES += [b"\\ud800", b"9" * 5000, b'{"id":' * 1000, b'"id":"a",', b"null", b"true", b"-", b" " * 8192]


def garbled(seed: int, cases: int) -> Iterator[tuple[type[Message], bytes]]:
    """A kind and what comes as its payload, so many times."""
    chance = random.Random(seed)  # noqa: S311 - it must be the same again
    golden = {name: (kind_of(name), fields_of(name), payload(name)) for name in GOLDEN}
    for _ in range(cases):
        kind, fields, written = chance.choice(list(golden.values()))
        match chance.randrange(8):
            case 0:
                yield kind, chance.randbytes(chance.randrange(200))
            case 1:
                yield kind, json.dumps(_anything(chance, 4)).encode()
            case 2:
                yield chance.choice(MESSAGES), written
            case 3 | 4:
                yield kind, _changed_bytes(chance, written)
            case _:
                changes = {chance.choice(_NAMES): _anything(chance, 2) for _ in range(chance.randint(1, 3))}
                yield kind, json.dumps(fields | changes, ensure_ascii=True).encode()


def _changed_bytes(chance: random.Random, written: bytes) -> bytes:
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(written) + 1)
        new = chance.choice(_PIECES) if chance.random() < 0.7 else chance.randbytes(2)
        written = written[:start] + new + written[start + chance.choice((0, 1, len(new), 20)) :]
    return written


def _anything(chance: random.Random, depth: int) -> Any:
    match chance.randrange(7 if depth else 5):
        case 0:
            return chance.choice((None, True, False))
        case 1:
            return chance.choice(_NUMBERS)
        case 2:
            return "".join(chr(chance.randrange(0x3000)) for _ in range(chance.randrange(20)))
        case 3 | 4:
            return chance.choice(_WORDS)
        case 5:
            return [_anything(chance, depth - 1) for _ in range(chance.randrange(4))]
        case _:
            return {chance.choice(_NAMES): _anything(chance, depth - 1) for _ in range(chance.randrange(4))}
