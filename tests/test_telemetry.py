"""Logs: one JSON object per line on standard error, as a process of its own writes them."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

SAY = """
from pickupbox.telemetry import log, start_logs
start_logs("{level}")
{lines}
print("what a command says")
"""


def lines_of(lines: str, level: str = "info") -> list[dict[str, Any]]:
    """What a process logs."""
    code = SAY.format(level=level, lines=lines)
    command = [sys.executable, "-c", code]
    # No setting is needed to log.
    bare = {name: value for name, value in os.environ.items() if not name.startswith("PICKUPBOX_")}
    ran = subprocess.run(command, env=bare, capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == "what a command says\n"
    return [json.loads(line) for line in ran.stderr.removesuffix("\n").split("\n")]


def test_a_log_line_is_one_json_object_with_its_event_level_time_and_request_id() -> None:
    (line,) = lines_of("log.info('request', request_id='req_1', status=201)")
    at = datetime.fromisoformat(line.pop("at"))
    assert line == {"event": "request", "level": "info", "request_id": "req_1", "status": 201}
    assert at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)


def test_whatever_is_logged_stays_on_one_line() -> None:
    first, second = lines_of(
        "log.info('one\\ntwo', odd={1, 2}.__class__, name='Zo\\u00eb \\u2028 \"x\"')\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n"
        "    log.error('failed', request_id='req_2', exc_info=error)"
    )
    assert (first["event"], first["name"]) == ("one\ntwo", 'Zoë \u2028 "x"')
    assert second["request_id"] == "req_2"
    assert "ZeroDivisionError" in second["exception"]
    assert "Traceback" in second["exception"]


def test_what_is_below_the_level_is_not_logged() -> None:
    levels = "for level in ('debug', 'info', 'warning', 'error'):\n    getattr(log, level)('event')"
    assert [line["level"] for line in lines_of(levels, "warning")] == ["warning", "error"]
