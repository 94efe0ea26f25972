"""The AsyncAPI document: complete, in itself consistent, and true to what is really on the wire.

There is no kept validator of AsyncAPI 3 for Python that is strict, so its structure is checked here, field by field.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, FormatChecker

from pickupbox.devices.asyncapi import document
from pickupbox.devices.messages import MESSAGES, Direction, Message
from pickupbox.devices.values import WireError
from pickupbox.devices.wire import decode, encode, read_topic
from tests.devices.garbled import garbled
from tests.devices.golden import DEVICE, GOLDEN, fields_of, kind_of
from tests.devices.messages import messages

DOCUMENT = document()
SCHEMAS = {message: DOCUMENT["components"]["messages"][message.__name__]["payload"] for message in MESSAGES}
VALIDATORS = {message: Draft7Validator(schema, format_checker=FormatChecker()) for message, schema in SCHEMAS.items()}
# What AsyncAPI 3.0.0 allows where we use it: needed, then optional.
SHAPES = {
    "document": ({"asyncapi", "info"}, {"defaultContentType", "channels", "operations", "components"}),
    "info": ({"title", "version"}, {"description", "license"}),
    "channel": (set(), {"address", "parameters", "messages"}),
    "parameter": (set(), {"description"}),
    "operation": ({"action", "channel"}, {"bindings"}),
    "mqtt operation": (set(), {"qos", "retain", "bindingVersion"}),
    "message": (set(), {"name", "summary", "payload"}),
}


def has_shape(what: str, given_part: dict[str, Any]) -> bool:
    needed, optional = SHAPES[what]
    return needed <= set(given_part) <= needed | optional


def at(reference: dict[str, str]) -> Any:
    """What a reference in the document points to."""
    (pointer,) = reference.values()
    assert pointer.startswith("#/")
    found = DOCUMENT
    for part in pointer.removeprefix("#/").split("/"):
        found = found[part]
    return found


def test_the_document_is_an_asyncapi_3_document() -> None:
    assert json.loads(json.dumps(DOCUMENT)) == DOCUMENT
    assert DOCUMENT["asyncapi"] == "3.0.0"
    assert has_shape("document", DOCUMENT)
    assert has_shape("info", DOCUMENT["info"])
    assert DOCUMENT["info"]["license"].keys() == {"name"}
    assert DOCUMENT["components"].keys() == {"messages"}


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_every_message_of_the_wire_is_in_it(message: type[Message]) -> None:
    name = f"{message.direction}_{message.kind}"
    described = DOCUMENT["components"]["messages"][message.__name__]
    channel, operation = DOCUMENT["channels"][name], DOCUMENT["operations"][name]
    assert has_shape("message", described)
    assert described["summary"].endswith(".")
    assert has_shape("channel", channel)
    assert read_topic(channel["address"].format(device=DEVICE)) == (DEVICE, message.direction, message.kind)
    assert channel["parameters"].keys() == {"device"}
    assert has_shape("parameter", channel["parameters"]["device"])
    assert at(channel["messages"][message.__name__]) is described
    assert has_shape("operation", operation)
    assert operation["action"] == {Direction.UP: "receive", Direction.DOWN: "send"}[message.direction]
    assert at(operation["channel"]) is channel
    assert operation["bindings"].keys() == {"mqtt"}
    assert has_shape("mqtt operation", operation["bindings"]["mqtt"])
    assert operation["bindings"]["mqtt"]["qos"] == (0 if name == "down_ack" else 1)
    assert operation["bindings"]["mqtt"]["retain"] is (name == "up_presence")


def test_nothing_else_is_in_it() -> None:
    names = {f"{message.direction}_{message.kind}" for message in MESSAGES}
    assert DOCUMENT["channels"].keys() == DOCUMENT["operations"].keys() == names
    assert DOCUMENT["components"]["messages"].keys() == {message.__name__ for message in MESSAGES}


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_a_payload_is_described_by_a_schema(message: type[Message]) -> None:
    Draft7Validator.check_schema(SCHEMAS[message])
    assert SCHEMAS[message]["type"] == "object"
    assert "additionalProperties" not in SCHEMAS[message]  # unknown fields are tolerated


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_message_is_accepted_and_a_broken_one_is_not(name: str) -> None:
    accepts, fields = VALIDATORS[kind_of(name)].is_valid, fields_of(name)
    assert accepts(fields)
    assert accepts(fields | {"colour": "blue"})
    for field, value in fields.items():
        assert not accepts(fields | {field: {}})
        assert not accepts(fields | {field: -1})
        assert not accepts(fields | {field: "\0" * 2})
        assert field not in SCHEMAS[kind_of(name)]["required"] or not accepts({**fields, field: None})
        without = {key: there for key, there in fields.items() if key != field}
        assert accepts(without) is (field not in SCHEMAS[kind_of(name)]["required"]), (field, value)


@given(messages())
def test_whatever_is_written_is_accepted(message: Message) -> None:
    VALIDATORS[type(message)].validate(json.loads(encode(message)))


@given(st.integers(0, 10_000))
def test_what_the_schema_refuses_is_refused_by_the_wire(seed: int) -> None:
    for kind, written in garbled(seed, 20):
        try:
            decode(kind.direction, kind.kind, written)
        except WireError:
            continue
        VALIDATORS[kind].validate({name: value for name, value in json.loads(written).items() if value is not None})
