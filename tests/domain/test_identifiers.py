"""Identifiers and the form of API keys."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pickupbox.domain.identifiers import BASE62, api_key, identifier, is_api_key

MOMENTS = st.integers(0, (1 << 48) - 1)
CHANCE = st.binary(min_size=10, max_size=10)
KEY_CHANCE = st.binary(min_size=32, max_size=32)


@given(MOMENTS, CHANCE)
def test_an_identifier_says_what_and_where_and_holds_32_digits(moment: int, chance: bytes) -> None:
    prefix, cell, rest = identifier("shp", "c1", moment, chance).split("_")
    assert (prefix, cell, len(rest)) == ("shp", "c1", 32)
    assert set(rest) <= set("0123456789abcdef")


@given(MOMENTS, MOMENTS, CHANCE, CHANCE)
def test_identifiers_sort_as_text_in_the_order_of_their_time(one: int, other: int, a: bytes, b: bytes) -> None:
    first, second = sorted((one, other))
    assume(first != second)
    assert identifier("shp", "c1", first, a) < identifier("shp", "c1", second, b)


@given(st.tuples(MOMENTS, CHANCE), st.tuples(MOMENTS, CHANCE))
def test_different_time_or_chance_gives_a_different_identifier(
    one: tuple[int, bytes], other: tuple[int, bytes]
) -> None:
    same = identifier("shp", "c1", *one) == identifier("shp", "c1", *other)
    assert same == (one == other)


@pytest.mark.parametrize("length", [0, 9, 11])
def test_an_identifier_takes_neither_less_nor_more_chance(length: int) -> None:
    with pytest.raises(ValueError, match="10 bytes"):
        identifier("shp", "c1", 1, bytes(length))


@given(KEY_CHANCE, st.sampled_from(["live", "test"]))
def test_an_api_key_has_its_form_and_is_known_as_one(chance: bytes, word: str) -> None:
    key = api_key(word, "c1", chance)
    assert re.fullmatch(rf"pbx_{word}_c1_[0-9A-Za-z]{{49}}", key)
    assert is_api_key(key)


@given(KEY_CHANCE, KEY_CHANCE)
def test_different_chance_gives_a_different_key(one: bytes, other: bytes) -> None:
    assert (api_key("live", "c1", one) == api_key("live", "c1", other)) == (one == other)


@given(KEY_CHANCE, st.integers(0, 48), st.sampled_from(BASE62))
def test_a_key_with_one_character_changed_is_caught(chance: bytes, place: int, instead: str) -> None:
    key = api_key("live", "c1", chance)
    place += len("pbx_live_c1_")
    assume(key[place] != instead)
    assert not is_api_key(key[:place] + instead + key[place + 1 :])


@given(KEY_CHANCE)
def test_a_key_of_another_environment_or_cell_is_caught(chance: bytes) -> None:
    key = api_key("live", "c1", chance)
    assert not is_api_key(key.replace("_live_", "_test_"))
    assert not is_api_key(key.replace("_c1_", "_c2_"))


@pytest.mark.parametrize("spoil", [str.lower, lambda key: key[:-1], lambda key: key + "0", lambda key: f" {key}"])
def test_a_key_in_another_form_is_not_one(spoil: object) -> None:
    key = api_key("live", "c1", bytes(range(32)))
    assert is_api_key(key)
    assert not is_api_key(spoil(key))  # type: ignore[operator]
    assert not is_api_key("")


@pytest.mark.parametrize("length", [0, 31, 33])
def test_an_api_key_takes_neither_less_nor_more_chance(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        api_key("live", "c1", bytes(length))
