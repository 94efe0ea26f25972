"""Secrets are rotated under way: every PIN stays readable and unique, before, during and after."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace

import pytest
import pytest_asyncio
from cryptography.exceptions import InvalidTag
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.database import pins
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.settings import Settings
from pickupbox.usecases import reserve as reserving
from pickupbox.usecases import rewrap as rewrapping
from pickupbox.usecases.core import Caller, Core, open_core
from pickupbox.usecases.reserve import Wish, reserve
from pickupbox.usecases.reveal_pin import reveal_pin
from pickupbox.usecases.rewrap import rewrap
from pickupbox.vault import Secret, Vault, new_secret, read_secrets
from tests.database.plans import assert_only_indexes, listening, plan_of
from tests.support.databases import own_database
from tests.support.shop import Shop

NEW = read_secrets(new_secret("k2"))[0]


@pytest.fixture(scope="module")
def settings() -> Iterator[Settings]:
    """A database of its own: a rewrap touches every PIN that is there."""
    with own_database() as made:
        yield made


@pytest_asyncio.fixture(scope="module")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    yield core
    await core.db.close()


@pytest.fixture(scope="module")
def app(core: Core) -> ASGIApp:
    return make_app(core, "memory://")


@dataclass(frozen=True, slots=True)
class Rotation:
    """The same service before, during and after a rotation."""

    before: Core
    during: Core
    after: Core


@pytest.fixture
def rotation(core: Core, settings: Settings) -> Rotation:
    old = settings.vault_secrets()[0]

    def holding(*secrets: Secret) -> Core:
        return replace(core, vault=Vault(list(secrets)))

    return Rotation(holding(old), holding(NEW, old), holding(NEW))


@pytest.fixture
def caller(shop: Shop) -> Caller:
    return Caller(shop.tenant, shop.key_id)


async def sealed_by(core: Core, shipment_id: str) -> str:
    async with core.db.connection() as connection:
        secret_id: str = await connection.fetchval("SELECT pin_secret_id FROM shipments WHERE id = $1", shipment_id)
    return secret_id


async def test_a_pin_is_readable_before_during_and_after(shop: Shop, caller: Caller, rotation: Rotation) -> None:
    made = await reserve(rotation.before, caller, Wish(shop.box_id, "A"))
    shipment = made.shipment.id
    assert await sealed_by(shop.core, shipment) == "k1"
    assert await reveal_pin(rotation.during, caller, shipment) == made.pin
    await rewrap(rotation.during)
    assert await sealed_by(shop.core, shipment) == "k2"
    assert await reveal_pin(rotation.during, caller, shipment) == made.pin
    assert await reveal_pin(rotation.after, caller, shipment) == made.pin
    with pytest.raises(KeyError):
        await reveal_pin(rotation.before, caller, shipment)


async def test_a_repeated_create_returns_its_pin_after_the_rotation(
    shop: Shop, caller: Caller, rotation: Rotation
) -> None:
    made = await reserve(rotation.before, caller, Wish(shop.box_id, "A"))
    await rewrap(rotation.during)
    again = await reserve(rotation.after, caller, Wish(shop.box_id, "A"))
    assert (again.replayed, again.shipment.id, again.pin) == (True, made.shipment.id, made.pin)


async def test_what_is_made_during_the_rotation_is_sealed_by_the_new_secret(
    shop: Shop, caller: Caller, rotation: Rotation
) -> None:
    made = await reserve(rotation.during, caller, Wish(shop.box_id, "A"))
    assert await sealed_by(shop.core, made.shipment.id) == "k2"


async def test_rewrapping_goes_through_all_pins_in_batches_and_a_second_time_finds_none(
    shop: Shop, caller: Caller, rotation: Rotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rewrap(rotation.during)
    monkeypatch.setattr(rewrapping, "BATCH", 2)
    made = [await reserve(rotation.before, caller, Wish(shop.box_id, order)) for order in "ABCDE"]
    finished = await shop.reserved("F", "expired")
    assert await rewrap(rotation.during) == 6
    assert await rewrap(rotation.during) == 0
    assert {await sealed_by(shop.core, shipment) for shipment in [finished, *(m.shipment.id for m in made)]} == {"k2"}
    assert [await reveal_pin(rotation.after, caller, m.shipment.id) for m in made] == [m.pin for m in made]


async def test_a_pin_sealed_by_another_secret_of_the_same_name_does_not_open(
    shop: Shop, caller: Caller, rotation: Rotation
) -> None:
    made = await reserve(rotation.before, caller, Wish(shop.box_id, "A"))
    forged = replace(shop.core, vault=Vault([Secret("k1", bytes(32))]))
    with pytest.raises(InvalidTag):
        await reveal_pin(forged, caller, made.shipment.id)


async def gives_out(core: Core, caller: Caller, wish: Wish, pin: str) -> bool:
    """Whether a reservation gets this very PIN, chance offering no other."""
    with pytest.MonkeyPatch.context() as chance:
        chance.setattr(reserving, "new_pin", lambda: pin)
        try:
            made = await reserve(core, caller, wish)
        except TemporarilyUnavailable:
            return False
    assert (made.pin, made.replayed) == (pin, False)
    return True


async def test_a_pin_that_lives_under_the_old_secret_is_not_given_out_again_in_its_box(
    shop: Shop, caller: Caller, rotation: Rotation
) -> None:
    wish = Wish(shop.box_id, "B")
    assert await gives_out(rotation.before, caller, Wish(shop.box_id, "A"), "123456")
    assert not await gives_out(rotation.before, caller, wish, "123456")
    assert not await gives_out(rotation.during, caller, wish, "123456")
    await rewrap(rotation.during)
    assert not await gives_out(rotation.during, caller, wish, "123456")
    assert not await gives_out(rotation.after, caller, wish, "123456")
    assert await gives_out(rotation.after, caller, wish, "123457")


async def test_a_pin_is_given_out_again_in_another_box_or_after_its_release(
    shop: Shop, caller: Caller, rotation: Rotation
) -> None:
    assert await gives_out(rotation.before, caller, Wish(shop.box_id, "A"), "123456")
    assert await gives_out(rotation.during, caller, Wish(await shop.add_box(2), "B"), "123456")
    first = (await shop.reserve("A")).json()["id"]
    assert (await shop.cancel(first)).json()["compartment_state"] == "available"
    assert await gives_out(rotation.during, caller, Wish(shop.box_id, "C"), "123456")


async def test_rewrapping_costs_no_more_per_pin_however_many_there_are(core: Core) -> None:
    """Each batch goes on in an index where the one before it ended; it neither sorts nor scans all PINs."""
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await pins.after(connection, "shp", "ten", 10)
        plan = await plan_of(connection, asked[0])
    assert_only_indexes(plan)
    assert "Sort" not in {node["Node Type"] for node in plan}
