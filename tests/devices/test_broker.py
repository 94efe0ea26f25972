"""The broker's config: who a box is, what it may read and write, and who is not let in. On a real Mosquitto."""

import asyncio
import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from pickupbox.certificates import (
    Authority,
    new_authority,
    read_authority,
    read_certificate,
    revocation_list,
    sign,
)
from pickupbox.devices.messages import MESSAGES, Direction
from pickupbox.usecases.core import Core
from pickupbox.usecases.devices import enroll, exchange, renew, revocations, revoke
from tests.devices.broker import DEPLOY, SERVICE, Broker, Certificate, mosquitto, request_of
from tests.devices.street import operator
from tests.support.shop import Shop

A, B = (f"dev_c1_{letter * 32}" for letter in "ab")
UP, DOWN = (f"pickupbox/v1/{{}}/{way}/event".format for way in ("up", "down"))
SECONDS = 10
# CONNECT of MQTT 5 with a clean start and no client id.
CONNECT = bytes.fromhex("100d00044d51545405020000000000")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with mosquitto(tmp_path_factory.mktemp("broker")) as running:
        yield running


def client(broker: Broker, name: str, certificate: Certificate | None = None, **more: Any) -> aiomqtt.Client:
    """A client by its certificate: at the boxes' port, or the service at its own."""
    return aiomqtt.Client(
        "127.0.0.1",
        broker.service_port if name == SERVICE else broker.port,
        protocol=aiomqtt.ProtocolVersion.V5,
        tls_context=(certificate or broker.certificate_for(name)).context(),
        timeout=SECONDS,
        **more,
    )


async def heard(listener: aiomqtt.Client, last: bytes) -> list[tuple[str, bytes]]:
    """All that the listener gets, up to a message that it is known to get."""
    got = []
    async with asyncio.timeout(SECONDS):
        async for message in listener.messages:
            got.append((message.topic.value, bytes(message.payload)))
            if message.payload == last:
                return got
    raise AssertionError("the connection ended")


def answer_at(port: int, context: ssl.SSLContext) -> str:
    """What the broker says to a client: `in`, or the alert with which it hangs up."""
    # In TLS 1.3 the client is done before the broker has judged it, and a reset may overtake the alert.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", port), SECONDS) as wire:
        try:
            with context.wrap_socket(wire, server_hostname="127.0.0.1") as secured:
                secured.sendall(CONNECT)
                answer = secured.recv(1024)
        except ssl.SSLError as error:
            return str(error.reason)
    assert answer[:1] == b"\x20", answer
    return "in" if answer[3] == 0 else f"refused with {answer[3]}"


def met(broker: Broker, certificate: Certificate) -> str:
    """The answer to that certificate where boxes come in."""
    return answer_at(broker.port, certificate.context())


async def test_a_box_and_the_service_hear_each_other(broker: Broker) -> None:
    async with client(broker, SERVICE) as service, client(broker, A) as box:
        await service.subscribe("pickupbox/v1/+/up/+", qos=1)
        await box.subscribe(f"pickupbox/v1/{A}/down/+", qos=1)
        await box.publish(UP(A), b"up", qos=1)
        assert await heard(service, b"up") == [(UP(A), b"up")]
        await service.publish(DOWN(A), b"down", qos=1)
        assert await heard(box, b"down") == [(DOWN(A), b"down")]


@pytest.mark.parametrize(
    "topic",
    [
        UP(B),
        DOWN(B),
        DOWN(A),
        f"pickupbox/v1/{A}/up/k1",
        f"pickupbox/v1/{A}/up/event/more",
        f"pickupbox/v1/{A}/up",
        "pickupbox/v1/x",
        "else",
    ],
)
async def test_a_box_writes_nothing_but_its_own_reports(broker: Broker, topic: str) -> None:
    """Whoever may read the topic listens: the service, box B, and box A itself."""
    async with client(broker, A) as box, client(broker, SERVICE) as service, client(broker, B) as other:
        for listener in (service, other, box):
            await listener.subscribe("#", qos=1)
        await box.publish(topic, b"forged", qos=1)
        await box.publish(UP(A), b"last", qos=1)
        await service.publish(DOWN(B), b"last", qos=1)
        await service.publish(DOWN(A), b"last", qos=1)
        for listener in (service, other, box):
            assert b"forged" not in [payload for _, payload in await heard(listener, b"last")]


@pytest.mark.parametrize(
    "subscription",
    [
        "#",
        "+/+/+/+/+",
        "pickupbox/#",
        "pickupbox/v1/+/up/+",
        "pickupbox/v1/+/down/+",
        UP(B),
        DOWN(B),
        f"pickupbox/v1/{B}/#",
        f"$share/mine/pickupbox/v1/{B}/down/+",
        "$share/mine/#",
    ],
)
async def test_a_box_reads_nothing_of_others_whatever_it_subscribes_to(broker: Broker, subscription: str) -> None:
    async with client(broker, A) as box, client(broker, B) as other, client(broker, SERVICE) as service:
        await box.subscribe(subscription, qos=1)
        await other.publish(UP(B), b"up of B", qos=1)
        await service.publish(DOWN(B), b"down of B", qos=1)
        await service.publish(DOWN(B), b"retained", qos=1, retain=True)
        await box.subscribe(subscription, qos=1)  # anew, for what is retained
        await box.subscribe(DOWN(A), qos=1)
        await service.publish(DOWN(A), b"last", qos=1)
        assert {topic for topic, _ in await heard(box, b"last")} == {DOWN(A)}
        await service.publish(DOWN(B), b"", qos=1, retain=True)


async def test_a_last_will_is_bound_to_the_box_too(broker: Broker) -> None:
    async with client(broker, SERVICE) as service:
        await service.subscribe("pickupbox/v1/+/up/+", qos=1)
        for topic in (UP(B), UP(A)):
            dying = client(broker, A, will=aiomqtt.Will(topic, topic.encode(), qos=1))
            async with dying:
                dying._client.socket().shutdown(socket.SHUT_RDWR)  # cut off, without a goodbye
                with pytest.raises(aiomqtt.MqttError):
                    async with asyncio.timeout(SECONDS):
                        await anext(dying.messages)
        assert await heard(service, UP(A).encode()) == [(UP(A), UP(A).encode())]


def test_a_box_may_write_the_kinds_of_the_wire_and_no_others() -> None:
    written = re.findall(r"^pattern write pickupbox/v1/%u/up/(.+)$", (DEPLOY / "acl").read_text(), re.MULTILINE)
    assert written == [message.kind for message in MESSAGES if message.direction is Direction.UP]


async def test_what_a_box_retains_under_a_kind_of_its_own_is_not_kept(broker: Broker) -> None:
    async with client(broker, A) as box, client(broker, SERVICE) as service:
        await box.publish(f"pickupbox/v1/{A}/up/k1", b"forged", qos=1, retain=True)
        await service.subscribe(f"pickupbox/v1/{A}/up/+", qos=1)
        await box.publish(UP(A), b"last", qos=1)
        assert await heard(service, b"last") == [(UP(A), b"last")]


async def test_presence_is_retained_and_a_last_will(broker: Broker) -> None:
    presence = f"pickupbox/v1/{B}/up/presence"
    dying = client(broker, B, will=aiomqtt.Will(presence, b"gone", qos=1, retain=True))
    async with client(broker, SERVICE) as service:
        await service.subscribe(presence, qos=1)
        async with dying:
            await dying.publish(presence, b"there", qos=1, retain=True)
            dying._client.socket().shutdown(socket.SHUT_RDWR)  # cut off, without a goodbye
            with pytest.raises(aiomqtt.MqttError):
                async with asyncio.timeout(SECONDS):
                    await anext(dying.messages)
        assert await heard(service, b"gone") == [(presence, b"there"), (presence, b"gone")]
    async with client(broker, SERVICE) as later:
        await later.subscribe(presence, qos=1)
        assert await heard(later, b"gone") == [(presence, b"gone")]
    async with client(broker, B) as box:
        await box.publish(presence, b"", qos=1, retain=True)


async def test_the_service_writes_nothing_up_and_reads_nothing_down(broker: Broker) -> None:
    async with client(broker, SERVICE) as service, client(broker, A) as box:
        await service.subscribe("#", qos=1)
        await service.publish(UP(A), b"forged", qos=1)
        await service.publish(DOWN(A), b"down", qos=1)
        await box.publish(UP(A), b"last", qos=1)
        assert await heard(service, b"last") == [(UP(A), b"last")]


async def test_a_box_cannot_call_itself_by_another_name(broker: Broker) -> None:
    """Neither by user name nor by client id: the other would lose its connection, or its session."""
    async with client(broker, B, identifier=B) as other, client(broker, SERVICE) as service:
        await other.subscribe(DOWN(B), qos=1)
        await service.subscribe("pickupbox/v1/+/up/+", qos=1)
        async with client(broker, A, identifier=B, username=B, password="x") as liar:
            await liar.publish(UP(B), b"forged", qos=1)
            await liar.publish(UP(A), b"last", qos=1)
            assert await heard(service, b"last") == [(UP(A), b"last")]
        await service.publish(DOWN(B), b"still there", qos=1)
        assert await heard(other, b"still there") == [(DOWN(B), b"still there")]


async def shared(broker: Broker, group: str, joined: str) -> list[bytes]:
    """What a gateway of the group gets of ten reports of box B while box A is in the group `joined`."""
    async with client(broker, SERVICE) as service, client(broker, A) as thief, client(broker, B) as box:
        await service.subscribe(f"$share/{group}/pickupbox/v1/+/up/+", qos=1)
        await thief.subscribe(f"$share/{joined}/pickupbox/v1/+/up/+", qos=1)
        for number in range(10):
            await box.publish(UP(B), b"%d" % number, qos=1)
        await thief.unsubscribe(f"$share/{joined}/pickupbox/v1/+/up/+")
        await box.publish(UP(B), b"last", qos=1)
        return [payload for _, payload in await heard(service, b"last")][:-1]


async def test_a_box_takes_nothing_from_gateways_whose_group_it_does_not_know(broker: Broker) -> None:
    assert await shared(broker, "unguessable", "gateways") == [b"%d" % number for number in range(10)]


async def test_a_box_in_the_gateways_group_makes_reports_vanish(broker: Broker) -> None:
    """Why the group's name is a secret: Mosquitto lets anyone join, and drops what the chosen member may not read."""
    assert len(await shared(broker, "gateways", "gateways")) == 5


async def test_a_message_of_8_kib_passes_and_a_larger_packet_ends_the_connection(broker: Broker) -> None:
    async with client(broker, SERVICE) as service:
        await service.subscribe("pickupbox/v1/+/up/+", qos=1)
        async with client(broker, A) as box:
            await box.publish(UP(A), b"x" * 8192, qos=1)
            assert await heard(service, b"x" * 8192)
            sending = asyncio.create_task(box.publish(UP(A), b"y" * 10_000, qos=1))
            with pytest.raises(aiomqtt.MqttError):
                async with asyncio.timeout(SECONDS):
                    await anext(box.messages)
            sending.cancel()
        async with client(broker, A) as box:
            await box.publish(UP(A), b"last", qos=1)
        assert await heard(service, b"last") == [(UP(A), b"last")]


def test_a_certificate_lets_in_where_it_belongs_and_nowhere_else(broker: Broker) -> None:
    box, service = broker.certificate_for(A), broker.certificate_for(SERVICE)
    assert answer_at(broker.port, box.context()) == "in"
    assert answer_at(broker.service_port, service.context()) == "in"
    assert answer_at(broker.service_port, box.context()) == "TLSV1_ALERT_UNKNOWN_CA"
    assert answer_at(broker.port, service.context()) == "TLSV1_ALERT_UNKNOWN_CA"


def test_nobody_comes_in_without_a_certificate(broker: Broker) -> None:
    for port in (broker.port, broker.service_port):
        bare = ssl.create_default_context(cafile=broker.certificate_for(A).broker_authority)
        assert answer_at(port, bare) == "SSLV3_ALERT_HANDSHAKE_FAILURE"


def test_a_certificate_of_another_authority_is_refused_whatever_that_calls_itself(broker: Broker) -> None:
    stranger = read_authority(new_authority("Test devices", datetime.now(UTC)))
    assert stranger.certificate.subject == broker.authority.certificate.subject
    assert met(broker, broker.certificate_for(A, authority=stranger)) != "in"


def test_a_certificate_that_has_ended_or_not_begun_is_refused(broker: Broker) -> None:
    now = datetime.now(UTC)
    ended = broker.certificate_for(A, now=now - timedelta(days=91))
    early = broker.certificate_for(A, now=now + timedelta(days=1))
    assert met(broker, ended) == "SSLV3_ALERT_CERTIFICATE_EXPIRED"
    assert met(broker, early) != "in"


def test_a_box_cannot_sign_for_others(broker: Broker) -> None:
    mine, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    own = sign(broker.authority, A, mine.public_key(), datetime.now(UTC)).chain
    usurper = Authority(mine, x509.load_pem_x509_certificate(own.encode()))
    forged = sign(usurper, B, key.public_key(), datetime.now(UTC)).chain
    assert met(broker, broker.keep(forged + own, key)) != "in"


def revoked(broker: Broker, certificates: list[Certificate], later: int) -> str:
    serials = [read_certificate(one.chain.read_text()).serial for one in certificates]
    now = datetime.now(UTC) + timedelta(seconds=later)
    return revocation_list(broker.authority, [(serial, now) for serial in serials], now)


async def test_a_revoked_certificate_is_refused_once_the_list_is_read_again(broker: Broker) -> None:
    first, second, good = (broker.certificate_for(name) for name in (A, A, B))
    async with client(broker, A, first) as connected:
        for later, gone in enumerate(([first], [first, second])):
            broker.write_revocations(revoked(broker, gone, later))
            broker.reload()
            assert {met(broker, one) for one in gone} == {"SSLV3_ALERT_CERTIFICATE_REVOKED"}
            assert met(broker, good) == "in"
        # A list is looked at when a connection begins: one that stands goes on.
        await connected.publish(UP(A), b"still connected", qos=1)
    broker.stop()
    broker.start()
    assert met(broker, second) == "SSLV3_ALERT_CERTIFICATE_REVOKED"
    assert met(broker, good) == "in"


async def test_a_broker_that_was_killed_comes_back_as_it_was(broker: Broker) -> None:
    broker.kill()
    broker.start()
    assert met(broker, broker.certificate_for(B)) == "in"
    assert answer_at(broker.service_port, broker.certificate_for(SERVICE).context()) == "in"


async def test_a_box_lives_from_its_code_to_its_revocation(tmp_path: Path, core: Core, shop: Shop) -> None:
    with mosquitto(tmp_path) as broker:
        signing = replace(core, authority=broker.authority)
        made = await enroll(signing, operator(shop), shop.box_id)
        assert made is not None
        first, second = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        chain = await exchange(signing, made.device, made.code, request_of(first))
        assert chain is not None
        async with client(broker, SERVICE) as service:
            await service.subscribe("pickupbox/v1/+/up/+", qos=1)
            async with client(broker, made.device, broker.keep(chain, first)) as box:
                await box.publish(UP(made.device), b"first", qos=1)
            async with core.db.connection() as connection:
                aged = "UPDATE device_certificates SET until = until - interval '70 days' WHERE device_id = $1"
                await connection.execute(aged, made.device)
            renewed = await renew(signing, made.device, request_of(second))
            assert renewed is not None
            async with client(broker, made.device, broker.keep(renewed, second)) as box:
                await box.publish(UP(made.device), b"second", qos=1)
            assert await heard(service, b"second") == [(UP(made.device), b"first"), (UP(made.device), b"second")]
        assert await revoke(signing, operator(shop), made.device)
        broker.write_revocations(await revocations(signing))
        broker.reload()
        for certificate in (broker.keep(chain, first), broker.keep(renewed, second)):
            assert met(broker, certificate) == "SSLV3_ALERT_CERTIFICATE_REVOKED"
