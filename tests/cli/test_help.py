"""What a command says of itself is enough to use it."""

from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup

from pickupbox.cli import COMMANDS, load


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(command, TyperGroup):
        for below, one in command.commands.items():
            yield from commands(f"{name} {below}", one)
    else:
        yield name, command


ALL = dict(one for name in COMMANDS for one in commands(name, load(name)))


@pytest.mark.parametrize("name", ALL)
def test_every_argument_and_option_says_what_it_is(name: str) -> None:
    assert ALL[name].help
    assert [one.name for one in ALL[name].params if not one.help] == []


@pytest.mark.parametrize("name", ALL)
def test_what_is_to_be_filled_in_is_in_capitals(name: str) -> None:
    shown = [one.metavar or one.name for one in ALL[name].params if one.param_type_name == "argument"]
    assert [one for one in shown if not one.isupper()] == []


def test_an_id_says_which_list_shows_it() -> None:
    lists = {"BOX": "box list", "DEVICE": "box devices", "ENDPOINT": "webhook list", "KEY": "key list"}
    asked = [(one.metavar, one.help) for command in ALL.values() for one in command.params if one.metavar in lists]
    assert {metavar for metavar, _ in asked} == set(lists)
    assert [help_ for metavar, help_ in asked if f"`pickupbox {lists[metavar]}`" not in help_] == []


def test_rewrap_says_what_is_sealed_under_what() -> None:
    assert "under the current secret, what the one before sealed" in ALL["secret rewrap"].help
