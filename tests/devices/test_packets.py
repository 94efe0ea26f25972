"""MQTT packets: whatever the pieces in which they come, they are read whole; what is no packet is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.devices import packets
from pickupbox.devices.packets import Accepted, PacketError

PAYLOADS = st.binary(max_size=20) | st.integers(100, 20_000).map(bytes)


@given(st.lists(st.tuples(st.text(max_size=20), PAYLOADS, st.none() | st.integers(1, 65535), st.none() | st.just(30))))
def test_what_is_published_is_read_again(messages: list[tuple[str, bytes, int | None, int | None]]) -> None:
    stream = b"".join(packets.publish(*message) for message in messages)
    read = [packets.read_publish(first, body) for first, body, _ in packets.split(stream)]
    assert read == [(topic, payload, number and number.to_bytes(2)) for topic, payload, number, _ in messages]


@given(PAYLOADS, st.data())
def test_a_packet_that_has_not_come_to_its_end_waits(payload: bytes, data: st.DataObject) -> None:
    whole = packets.publish("t", payload, 7)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert list(packets.split(whole[:cut])) == []
    ((_, _, end),) = packets.split(whole + whole[:cut])
    assert end == len(whole)


@given(st.binary(max_size=200))
def test_any_bytes_are_packets_or_a_packet_error(received: bytes) -> None:
    try:
        for first, body, end in packets.split(received):
            assert end <= len(received)
            for read in (lambda b, f=first: packets.read_publish(f, b), packets.read_connack):
                try:
                    read(body)
                except (PacketError, IndexError, UnicodeDecodeError):
                    continue
    except PacketError:
        return


def test_what_a_broker_says_when_it_lets_us_in() -> None:
    properties = b"\x22\x00\x0a" + b"\x12\x00\x03auto" + b"\x21\x00\x14" + b"\x26\x00\x01a\x00\x02bc" + b"\x13\x00\x3c"
    properties = properties.replace(b"\x00\x03auto", b"\x00\x04auto")
    assert packets.read_connack(b"\x00\x00" + bytes((len(properties),)) + properties) == Accepted(20, 60)
    assert packets.read_connack(b"\x00\x00\x00") == Accepted(65535, None)


@pytest.mark.parametrize("body", [b"\x00\x87\x00", b"\x00\x00\x02\x7e\x00"], ids=["refused", "an unknown property"])
def test_a_broker_that_refuses_or_cannot_be_understood_is_an_error(body: bytes) -> None:
    with pytest.raises(PacketError):
        packets.read_connack(body)


@pytest.mark.parametrize("received", [b"\x30\xff\xff\xff\xff\x01", b"\x30\xff\xff\xff\x7f"], ids=["no end", "too long"])
def test_a_length_that_no_packet_of_ours_has_is_an_error(received: bytes) -> None:
    with pytest.raises(PacketError):
        list(packets.split(received))
