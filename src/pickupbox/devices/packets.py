"""MQTT 5 packets: those that a client needs that neither keeps a session nor uses QoS 2. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

RECEIVE_MAXIMUM, SERVER_KEEP_ALIVE, MESSAGE_EXPIRY = 0x21, 0x13, 0x02
# How long the value of a property of a CONNACK is; those that are texts or bytes say it themselves.
_WIDTHS = {0x11: 4, 0x13: 2, 0x21: 2, 0x22: 2, 0x24: 1, 0x25: 1, 0x27: 4, 0x28: 1, 0x29: 1, 0x2A: 1}
_TEXTS = {0x12: 1, 0x15: 1, 0x16: 1, 0x1A: 1, 0x1C: 1, 0x1F: 1, 0x26: 2}
PACKET_BYTES = 1 << 20


class Kind(IntEnum):
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    SUBACK = 9
    PINGRESP = 13
    DISCONNECT = 14


class PacketError(Exception):
    """What came is not MQTT 5, or not meant for a client like ours."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a broker said when it let us in."""

    receive_maximum: int = 65535
    keep_alive: int | None = None


PINGREQ = b"\xc0\x00"
DISCONNECT = b"\xe0\x00"


def connect(client: str, keep_alive: int, *, receive_maximum: int, user: str | None, password: str | None) -> bytes:
    """Clean start, and the session ends with the connection."""
    flags = 0x02 | (0x80 if user is not None else 0) | (0x40 if password is not None else 0)
    properties = bytes((3, RECEIVE_MAXIMUM)) + receive_maximum.to_bytes(2)
    texts = b"".join(_text(text) for text in (client, user, password) if text is not None)
    return _packet(0x10, _text("MQTT") + bytes((5, flags)) + keep_alive.to_bytes(2) + properties + texts)


def subscribe(number: int, topics: str) -> bytes:
    """By QoS 1, and without what is retained: the presence of every box is old news, and some brokers would send it."""
    return _packet(0x82, number.to_bytes(2) + b"\x00" + _text(topics) + b"\x21")


def publish(topic: str, payload: bytes, number: int | None = None, expiry: int | None = None) -> bytes:
    """With a number by QoS 1, without one by QoS 0. After `expiry` seconds the broker drops it."""
    properties = b"\x00" if expiry is None else bytes((5, MESSAGE_EXPIRY)) + expiry.to_bytes(4)
    if number is None:
        return _packet(0x30, _text(topic) + properties + payload)
    return _packet(0x32, _text(topic) + number.to_bytes(2) + properties + payload)


def puback(number: bytes) -> bytes:
    return b"\x40\x02" + number


def split(received: bytes) -> Iterator[tuple[int, bytes, int]]:
    """The first byte and the body of each packet that has come to its end, and where the next one begins."""
    start = 0
    while (found := _number_at(received, start + 1)) is not None:
        length, body = found
        if length > PACKET_BYTES:
            raise PacketError(f"a packet of {length} bytes")
        if body + length > len(received):
            return
        yield received[start], received[body : body + length], body + length
        start = body + length


def read_publish(first: int, body: bytes) -> tuple[str, bytes, bytes | None]:
    """Topic, payload, and the number that a PUBACK must name; None by QoS 0."""
    end = 2 + int.from_bytes(body[:2])
    topic, number = body[2:end].decode(), None
    if first & 0x06:
        number, end = body[end : end + 2], end + 2
    if (found := _number_at(body, end)) is None:
        raise PacketError("a message without its end")
    length, start = found
    return topic, body[start + length :], number


def read_connack(body: bytes) -> Accepted:
    """Raises PacketError if the broker does not let us in."""
    if body[1] != 0:
        raise PacketError(f"not let in: reason {body[1]:#x}")
    found = _number_at(body, 2)
    length, place = found or (0, len(body))
    end, given = place + length, {}
    while place < end:
        name, place = body[place], place + 1
        width = _WIDTHS.get(name, 0)
        given[name] = int.from_bytes(body[place : place + width])
        place += width
        for _ in range(_TEXTS.get(name, 0)):
            place += 2 + int.from_bytes(body[place : place + 2])
        if name not in _WIDTHS and name not in _TEXTS:
            raise PacketError(f"unknown property {name:#x}")
    return Accepted(given.get(RECEIVE_MAXIMUM, 65535), given.get(SERVER_KEEP_ALIVE))


def _packet(first: int, body: bytes) -> bytes:
    length, left = bytearray(), len(body)
    while left > 127:
        length.append(left & 127 | 128)
        left >>= 7
    length.append(left)
    return bytes((first, *length)) + body


def _text(text: str) -> bytes:
    written = text.encode()
    return len(written).to_bytes(2) + written


def _number_at(data: bytes, place: int) -> tuple[int, int] | None:
    """A number of variable length, and where it ends; None if it has not come to its end."""
    value = 0
    for shift, byte in enumerate(data[place : place + 4]):
        value |= (byte & 127) << (7 * shift)
        if byte < 128:
            return value, place + shift + 1
    if len(data) >= place + 4:
        raise PacketError("a length without end")
    return None
