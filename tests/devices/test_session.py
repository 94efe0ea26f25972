"""The gateway's session with a real broker, and with ones that misbehave."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pickupbox.devices import session
from pickupbox.devices.session import BrokerError, connect
from pickupbox.settings import Settings
from tests.devices.broker import SERVICE, Broker, mosquitto

CONNACK = b"\x20\x03\x00\x00\x00"
FEW = b"\x20\x06\x00\x00\x03\x21\x00\x02"  # no more than two messages under way
DEVICE = "dev_c1_" + "0" * 32
UP, DOWN = f"pickupbox/v1/{DEVICE}/up/event", f"pickupbox/v1/{DEVICE}/down/ack"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with mosquitto(tmp_path, plain=True) as broker:
        yield broker


def at(settings: Settings, url: str) -> Settings:
    return settings.model_copy(update={"mqtt_url": url})


def unheard(*_: object) -> None:
    raise AssertionError("nothing was said")


@pytest.mark.parametrize("qos", [0, 1])
async def test_what_is_published_is_heard(settings: Settings, broker: Broker, qos: int) -> None:
    heard: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
    async with connect(at(settings, broker.url), "test", lambda *said: heard.put_nowait(said)) as mqtt:
        await mqtt.subscribe("pickupbox/v1/+/up/+")
        payloads = [b"", b"a", b"b" * 8192]
        await asyncio.gather(*(mqtt.publish(UP, payload, qos=qos, expiry=30) for payload in payloads))
        async with asyncio.timeout(5):
            assert [await heard.get() for _ in payloads] == [(UP, payload) for payload in payloads]


async def test_many_more_than_may_be_under_way_are_published(settings: Settings, broker: Broker) -> None:
    heard: set[bytes] = set()
    every = {str(number).encode() for number in range(3 * session.INFLIGHT)}
    async with connect(at(settings, broker.url), "test", lambda _, payload: heard.add(payload)) as mqtt:
        await mqtt.subscribe("pickupbox/v1/+/up/+")
        await asyncio.gather(*(mqtt.publish(UP, payload, qos=1) for payload in every))
        async with asyncio.timeout(10):
            while heard != every:  # noqa: ASYNC110 - what is awaited is said by the broker
                await asyncio.sleep(0.02)


async def test_over_mutual_tls_the_service_hears_and_speaks_and_no_more(settings: Settings, tmp_path: Path) -> None:
    with mosquitto(tmp_path) as broker:
        own = broker.certificate_for(SERVICE)
        with_certificate = at(settings, broker.service_url).model_copy(
            update={
                "mqtt_ca": str(own.broker_authority),
                "mqtt_certificate": str(own.chain),
                "mqtt_key": str(own.key),
            }
        )
        async with connect(with_certificate, "test", unheard) as mqtt:
            await mqtt.subscribe("pickupbox/v1/+/up/+")
            await mqtt.publish(DOWN, b"x", qos=1)
            with pytest.raises(BrokerError, match=r"not published: reason 0x87"):
                await mqtt.publish(UP, b"x", qos=1)
        with pytest.raises(BrokerError):
            async with connect(with_certificate.model_copy(update={"mqtt_certificate": None}), "test", unheard):
                pass


async def test_a_broker_that_dies_ends_the_session_and_all_that_waits_for_it(
    settings: Settings, broker: Broker
) -> None:
    async with connect(at(settings, broker.url), "test", unheard) as mqtt:
        ended = asyncio.create_task(mqtt.ended())
        broker.kill()
        with pytest.raises(BrokerError):
            await asyncio.wait_for(ended, 5)
        for qos in (0, 1):
            with pytest.raises(BrokerError):
                await mqtt.publish(DOWN, b"x", qos=qos)
        with pytest.raises(BrokerError):
            await mqtt.subscribe("pickupbox/v1/+/up/+")
    with pytest.raises(BrokerError, match="not connected"):
        async with connect(at(settings, broker.url), "test", unheard):
            pass


@asynccontextmanager
async def false_broker(answers: Callable[[int], bytes]) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answers the first, the second … thing that it gets by what it is told to; its address, and what it got."""
    got: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            got.append(data)
            writer.write(answers(len(got)))
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}", got
    finally:
        server.close()


@pytest.mark.parametrize(
    "answer", [b"\x20\x03\x00\x87\x00", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x20\x00"], ids=["no", "another", "cut"]
)
async def test_a_broker_that_does_not_let_us_in_is_an_error(settings: Settings, answer: bytes) -> None:
    async with false_broker(lambda _: answer) as (url, _):
        with pytest.raises(BrokerError):
            async with connect(at(settings, url), "test", unheard):
                pass


async def test_a_broker_that_says_nothing_is_not_waited_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "ANSWER_SECONDS", 0.2)
    async with false_broker(lambda _: b"") as (url, _):
        with pytest.raises(BrokerError, match="does not answer"):
            async with connect(at(settings, url), "test", unheard):
                pass


async def test_a_broker_that_falls_silent_is_given_up(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "KEEP_ALIVE_SECONDS", 1)
    async with (
        false_broker(lambda number: CONNACK if number == 1 else b"") as (url, got),
        connect(at(settings, url), "test", unheard) as mqtt,
    ):
        with pytest.raises(BrokerError, match="silent"):
            await asyncio.wait_for(mqtt.ended(), 5)
    assert b"\xc0\x00" in got[1]


async def test_no_more_is_under_way_than_the_broker_takes(settings: Settings) -> None:
    async with (
        false_broker(lambda number: FEW if number == 1 else b"") as (url, got),
        connect(at(settings, url), "test", unheard) as mqtt,
    ):
        waiting = [asyncio.create_task(mqtt.publish(DOWN, b"payload", qos=1)) for _ in range(5)]
        await asyncio.wait(waiting, timeout=0.3)
        assert b"".join(got).count(b"payload") == 2
        for one in waiting:
            one.cancel()


async def test_rubbish_from_the_broker_ends_the_session(settings: Settings) -> None:
    async with (
        false_broker(lambda number: CONNACK if number == 1 else b"\xf0\x00") as (url, _),
        connect(at(settings, url), "test", unheard) as mqtt,
    ):
        ended = asyncio.create_task(mqtt.ended())
        with pytest.raises(BrokerError, match="unexpected packet"):
            await mqtt.publish(DOWN, b"x", qos=1)
        with pytest.raises(BrokerError):
            await asyncio.wait_for(ended, 5)
