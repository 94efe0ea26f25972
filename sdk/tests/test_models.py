"""Models: what they show, what they keep to themselves, and words of tomorrow."""

import copy
import pickle
from datetime import UTC, datetime

import pytest
from scripted import CREATED, SHIPMENT

from pickupbox_sdk import CompartmentState, CreatedShipment, EventType, PickupPin, Shipment, Status

PIN = "135790"


def test_a_shipment_has_moments_in_utc_and_words_of_the_contract() -> None:
    shipment = Shipment.from_json(SHIPMENT)
    assert shipment.updated_at == datetime(2026, 11, 14, 9, 0, 0, 1, tzinfo=UTC)
    assert (shipment.status, shipment.loaded_at) == (Status.RESERVED, None)
    assert shipment.status is Status.RESERVED
    assert shipment.compartment_state is CompartmentState.RESERVED


@pytest.mark.parametrize("secret", [CreatedShipment.from_json(CREATED), PickupPin("shp_1", PIN)])
def test_a_pin_is_there_and_never_shown(secret: CreatedShipment | PickupPin) -> None:
    assert secret.pickup_pin == PIN
    for shown in (repr(secret), str(secret), f"{secret}", f"{[secret]}"):
        assert PIN not in shown


def test_a_created_shipment_is_a_shipment() -> None:
    assert isinstance(CreatedShipment.from_json(CREATED), Shipment)


def test_a_field_of_tomorrow_is_left_out() -> None:
    assert Shipment.from_json({**SHIPMENT, "colour": "blue"}) == Shipment.from_json(SHIPMENT)


def test_equal_values_are_equal_and_hash_alike() -> None:
    one, other = Shipment.from_json(SHIPMENT), Shipment.from_json(dict(SHIPMENT))
    assert one == other
    assert len({one, other}) == 1
    assert one != Shipment.from_json({**SHIPMENT, "status": "loaded"})


@pytest.mark.parametrize("words", [Status, CompartmentState, EventType])
def test_a_word_of_tomorrow_is_kept_as_it_came(words: type[Status]) -> None:
    word = words("teleported")
    assert isinstance(word, words)
    assert (word, word.value, str(word)) == ("teleported", "teleported", "teleported")
    assert {word: 1}["teleported"] == 1  # type: ignore[index]
    assert word not in list(words)
    assert words("teleported") == word
    assert pickle.loads(pickle.dumps(word)) == copy.deepcopy(word) == word  # noqa: S301 - our own


def test_a_word_is_text() -> None:
    with pytest.raises(ValueError, match="7"):
        Status(7)


def test_a_shipment_with_a_status_of_tomorrow_can_be_read() -> None:
    shipment = Shipment.from_json({**SHIPMENT, "status": "teleported"})
    assert shipment.status == "teleported"
    assert shipment.status not in (Status.RESERVED, Status.LOADED)
