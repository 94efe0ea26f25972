"""PINs: their form, and when they can be read."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.domain.lifecycle import Stage
from pickupbox.domain.pins import PIN_COUNT, PIN_PATTERN, can_be_revealed, pin_of


@given(st.integers(0, 999_999))
def test_every_number_has_a_pin_of_six_digits_that_is_its_own(number: int) -> None:
    pin = pin_of(number)
    assert re.fullmatch(PIN_PATTERN, pin)
    assert int(pin) == number


def test_small_numbers_keep_their_leading_zeros() -> None:
    assert (pin_of(0), pin_of(42), pin_of(PIN_COUNT - 1)) == ("000000", "000042", "999999")


@pytest.mark.parametrize("number", [-1, 1_000_000])
def test_a_number_without_a_pin_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="six digits"):
        pin_of(number)


def test_a_pin_can_be_read_while_the_shipment_is_reserved_or_loaded() -> None:
    readable = {stage for stage in Stage if can_be_revealed(stage)}
    assert readable == {
        Stage.RESERVED,
        Stage.LOADING,
        Stage.PROTECTED,
        Stage.CORRECTING,
        Stage.READY,
        Stage.COLLECTING,
    }
