"""A box whose certificate ends soon: over the real broker, gateway and database it gets a new one and goes on."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from pickupbox.box import identity
from pickupbox.box.settings import BoxSettings
from pickupbox.certificates import (
    Authority,
    Identity,
    new_authority,
    public_key_of,
    read_authority,
    read_certificate,
    revocation_list,
    sign,
)
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.devices import enroll, exchange
from tests.box.street import COMPARTMENTS, Running, a_box
from tests.devices.broker import SERVICE, Broker, mosquitto, pem_of, request_of
from tests.devices.street import ask, gateway, operator
from tests.support.shop import Shop
from tests.support.waiting import until

AGE = timedelta(days=80)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with mosquitto(tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "LOOK_SECONDS", 0.1)


def said_by(pair: Path) -> Identity:
    text = pair.read_text()
    return read_certificate(text[text.index("-----BEGIN CERTIFICATE") :])


def leftovers(pair: Path) -> list[str]:
    return [path.name for path in pair.parent.glob(f"{pair.name}.*")]


@asynccontextmanager
async def old_box(shop: Shop, core: Core, broker: Broker, folder: Path) -> AsyncIterator[tuple[Running, Path]]:
    """A box that was enrolled 80 days ago."""
    core = replace(core, authority=broker.authority)
    made = await enroll(core, operator(shop), shop.box_id)
    assert made is not None
    key = ec.generate_private_key(ec.SECP256R1())
    assert await exchange(core, made.device, made.code, request_of(key))
    old = sign(broker.authority, made.device, public_key_of(request_of(key)), datetime.now(UTC) - AGE)
    await ask(
        core,
        "UPDATE device_certificates SET until = $2, serial = $3 WHERE device_id = $1",
        made.device,
        old.until,
        old.serial,
    )
    pair = folder / "identity.pem"
    pair.write_bytes(pem_of(key) + old.chain.encode())
    settings = BoxSettings(
        device=made.device,
        compartments=COMPARTMENTS,
        journal=folder / "journal",
        mqtt_port=broker.port,
        mqtt_tls=True,
        ca_file=broker.certificate_for(SERVICE).broker_authority,
        identity_file=pair,
        heartbeat_seconds=0.5,
    )
    async with a_box(settings) as running:
        yield running, pair


def settings_at(broker: Broker, settings: Settings) -> Settings:
    own = broker.certificate_for(SERVICE)
    return settings.model_copy(
        update={
            "mqtt_url": broker.service_url,
            "mqtt_ca": str(own.broker_authority),
            "mqtt_certificate": str(own.chain),
            "mqtt_key": str(own.key),
        }
    )


async def test_a_box_near_its_certificates_end_goes_on_with_a_new_one(
    shop: Shop, core: Core, settings: Settings, broker: Broker, tmp_path: Path
) -> None:
    signing = replace(core, authority=broker.authority)
    async with (
        gateway(signing, settings_at(broker, settings)),
        old_box(shop, core, broker, tmp_path) as (running, pair),
    ):
        before = said_by(pair)
        await until(lambda: said_by(pair).serial != before.serial)
        new = said_by(pair)
        assert new.device == before.device
        assert new.until - datetime.now(UTC) > timedelta(days=89)
        assert leftovers(pair) == []
        kept = await ask(core, "SELECT certificate_serial FROM devices WHERE id = $1", new.device)
        assert kept == [(new.serial,)]
        # From now on the old one is refused, and the box comes in.
        await until(lambda: running.box.link.connected)
        broker.write_revocations(
            revocation_list(broker.authority, [(before.serial, datetime.now(UTC))], datetime.now(UTC))
        )
        broker.kill()
        await until(lambda: not running.box.link.connected)
        broker.start()
        await until(lambda: running.box.link.connected)
        await until(lambda: running.box.journal.acked == running.box.journal.last)


async def test_a_certificate_that_the_broker_does_not_take_is_thrown_away(
    shop: Shop, core: Core, settings: Settings, broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The service signs with an authority that the broker does not know yet."""
    other: Authority = read_authority(new_authority("Test devices", datetime.now(UTC)))
    async with (
        gateway(replace(core, authority=other), settings_at(broker, settings)),
        old_box(shop, core, broker, tmp_path) as (running, pair),
    ):
        before = pair.read_text()
        await until(lambda: "it is thrown away" in caplog.text, seconds=30)
        await until(lambda: running.box.link.connected)
        assert pair.read_text() == before
        assert leftovers(pair) == ["identity.pem.asked"]
        await until(lambda: running.box.journal.acked == running.box.journal.last)
    ((signed,),) = await ask(
        core, "SELECT count(*) FROM device_certificates WHERE device_id = $1", said_by(pair).device
    )
    assert signed == 2
