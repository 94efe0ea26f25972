"""A line for each event: to be read, or for programs."""

import json
from datetime import UTC, datetime

import pytest
from pickupbox_sdk import Event

from pickupbox.desk.lines import Outcome, answer_of, json_of, line_of
from pickupbox.desk.turns import Told
from pickupbox.domain.lifecycle import Event as Kind
from pickupbox.webhooks.bodies import example_of


def told(order: str = "order-1", previous: str | None = "evt_0") -> Told:
    body = json.loads(example_of("c1", "evt_1", Kind.LOADED, datetime(2026, 11, 15, 14, 22, 7, tzinfo=UTC)))
    body["data"]["external_order_id"] = order
    return Told(Event.from_json(body), json.dumps(body).encode(), previous)


@pytest.mark.parametrize(
    ("outcome", "end"),
    [
        (Outcome("accepted", 204, None, 12.4, 1), "204 in 12 ms"),
        (Outcome("accepted", 200, None, 0.3, 2), "200 in 0 ms, at attempt 2"),
        (Outcome("refused", 500, None, 3.0, 1, 1.0), "500 in 3 ms, again in 1 s"),
        (Outcome("refused", None, "cut", 3.0, 2, 2.0), "cut off before its answer, again in 2 s"),
        (Outcome("refused", None, "timeout", 15000.0, 3, 5.0), "no answer in time, again in 5 s"),
        (
            Outcome("given_up", 404, None, 1.0, 4),
            "404 in 1 ms, given up after 4 attempts. To have it again: pickupbox listen --after evt_0 …",
        ),
    ],
)
def test_what_the_server_did_is_said(outcome: Outcome, end: str) -> None:
    assert answer_of(told(), outcome) == end


def test_a_line_is_a_table_without_lines() -> None:
    line = line_of(told())
    assert line[8:] == "  loaded          order-1               shp_c1_example  Example box A1      "


def test_the_oldest_event_is_had_again_from_the_start() -> None:
    answer = answer_of(told(previous=None), Outcome("given_up", 500, None, 1.0, 4))
    assert answer.endswith("pickupbox listen --from-start …")


def test_an_order_cannot_move_the_cursor() -> None:
    line = line_of(told("\x1b[2J\r\norder\u202e"))
    assert line.isprintable()
    assert "order" in line


def test_json_is_the_event_as_it_was_sent_and_what_came_of_it() -> None:
    written = json.loads(json_of(told("é"), Outcome("refused", 500, None, 3.14159, 1, 1.0)))
    assert written["event"] == json.loads(told("é").body)
    assert written["forwarded"] == {
        "outcome": "refused",
        "status": 500,
        "error": None,
        "milliseconds": 3.1,
        "attempt": 1,
    }
    assert json.loads(json_of(told(), None))["forwarded"] is None
