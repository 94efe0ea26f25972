"""`pickupbox verify`: every reason why a signature does not hold, as it happens to people."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from pickupbox.cli import app
from pickupbox.desk.diagnosis import ANY_TIME, Finding, Verdict, diagnose
from pickupbox.webhooks.bodies import body_of
from pickupbox.webhooks.signing import key_of, new_secret, signed_headers

SECRET = new_secret(bytes(range(32)))
OTHER = new_secret(bytes(range(1, 33)))
NOW = 1_794_646_923
DATA = {
    "shipment_id": "shp_c1_1",
    "external_order_id": 'order/1042 "é" <&> 📦',
    "attempt_number": 1,
    "retry_of_shipment_id": None,
    "box_id": "box_c1_1",
    "box_name": "Central Station",
    "compartment_code": "A4",
    "status": "loaded",
    "compartment_state": "occupied",
    "pickup_available_at": "2026-11-14T09:02:02.904417Z",
    "pickup_expires_at": "2026-11-16T09:00:02.904417Z",
}
# As PostgreSQL writes it.
BODY = body_of(
    "evt_c1_1",
    "loaded",
    datetime(2026, 11, 14, 9, tzinfo=UTC),
    json.dumps(DATA, ensure_ascii=False, separators=(", ", " : ")),
)
EVENT = json.loads(BODY)


def headers(body: bytes = BODY, secret: str = SECRET, event_id: str = "evt_c1_1", at: int = NOW) -> dict[str, str]:
    signed = signed_headers([key_of(secret)], event_id, at, body)
    return {name.lower(): value for name, value in signed.items()}


def changed(**values: str) -> dict[str, str]:
    """The headers with other values, under both names; `id`, `timestamp` and `signature` are the names."""
    new = headers()
    for name, value in values.items():
        new[f"webhook-{name}"] = new["service-event-id" if name == "id" else f"service-{name}"] = value
    return new


def found(body: bytes = BODY, given: dict[str, str] | None = None, secret: str = SECRET, **options: Any) -> Finding:
    return diagnose(body, headers() if given is None else given, secret, **{"now": NOW, **options})


def test_one_that_holds_is_said_so() -> None:
    assert found().verdict is Verdict.HOLDS
    event = found().event
    assert event is not None
    assert event.data.external_order_id == DATA["external_order_id"]
    stock = {name: value for name, value in headers().items() if name.startswith("webhook-")}
    assert found(given=stock).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("written", "by"),
    [
        (json.dumps(EVENT), "json.dumps of Python"),
        (json.dumps(EVENT, ensure_ascii=False), "json.dumps of Python with ensure_ascii=False"),
        (json.dumps(EVENT, separators=(",", ":")), "json.dumps of Python with compact separators"),
        (json.dumps(EVENT, indent=2), "json.dumps of Python with indent=2"),
        (json.dumps(EVENT, indent=4), "json.dumps of Python with indent=4"),
        (json.dumps(EVENT, sort_keys=True), "json.dumps of Python with sort_keys=True"),
    ],
)
def test_a_body_that_python_wrote_again_is_recognised(written: str, by: str) -> None:
    finding = found(written.encode())
    assert finding.verdict is Verdict.REWRITTEN_BODY
    assert f"as {by} writes it" in finding.text
    assert "request.get_data() in Flask" in finding.text


NODE = "let t='';process.stdin.on('data',d=>t+=d).on('end',()=>process.stdout.write(JSON.stringify(JSON.parse(t){})))"
PHP = "echo json_encode(json_decode(file_get_contents('php://stdin'), true){});"


@pytest.mark.parametrize(
    ("program", "by"),
    [
        (["node", "-e", NODE.format("")], "JSON.stringify of JavaScript"),
        (["node", "-e", NODE.format(",null,2")], "JSON.stringify of JavaScript with an indent of 2, or jq"),
        (["node", "-e", NODE.format(",null,4")], "JSON.stringify of JavaScript with an indent of 4"),
        (["php", "-r", PHP.format("")], "json_encode of PHP"),
        (["php", "-r", PHP.format(", JSON_PRETTY_PRINT")], "json_encode of PHP with JSON_PRETTY_PRINT"),
    ],
)
def test_a_body_that_node_or_php_wrote_again_is_recognised(program: list[str], by: str) -> None:
    assert shutil.which(program[0]), f"{program[0]} is not installed: .ci/services"
    written = subprocess.run(program, input=BODY, capture_output=True, timeout=30, check=True).stdout
    finding = found(written)
    assert finding.verdict is Verdict.REWRITTEN_BODY
    assert f"as {by} writes it" in finding.text


def test_a_map_of_go_is_recognised_and_an_unknown_writer_is_not_guessed() -> None:
    go = json.dumps(EVENT, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    go = go.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    assert "as json.Marshal of Go, from a map writes it" in found(go.encode()).text
    odd = found(json.dumps(EVENT, indent=7).encode())
    assert (odd.verdict, "written again. Secret" in odd.text) == (Verdict.REWRITTEN_BODY, True)


def test_a_line_break_at_the_end_is_seen() -> None:
    finding = found(BODY + b"\n")
    assert finding.verdict is Verdict.REWRITTEN_BODY
    assert "line break at its end" in finding.text
    both = found(json.dumps(EVENT).encode() + b"\r\n")
    assert "as json.dumps of Python writes it. There is a line break at its end, too" in both.text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"junk" + BODY, "bytes before the body"),
        (BODY.decode("latin-1").encode(), "decoded as Latin-1"),
    ],
)
def test_bytes_that_changed_on_the_way_are_seen(body: bytes, said: str) -> None:
    finding = found(body)
    assert (finding.verdict, said in finding.text) == (Verdict.CHANGED_BYTES, True), finding


def test_a_wrong_secret_is_said() -> None:
    finding = found(secret=OTHER)
    assert finding.verdict is Verdict.WRONG_SECRET
    assert "secret is that of another endpoint" in finding.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (f'"{SECRET}"', "quotes around it"),
        (f"'{SECRET}'", "quotes around it"),
        (f"{SECRET}\n", "a line break around it"),
        (f" {SECRET}", "a space"),
        (SECRET.removeprefix("whsec_"), "lacks whsec_"),
    ],
)
def test_a_secret_with_something_around_it_is_seen_and_not_repeated(given: str, said: str) -> None:
    finding = found(secret=given)
    assert (finding.verdict, said in finding.text) == (Verdict.DRESSED_SECRET, True), finding
    assert SECRET[6:] not in finding.text


@pytest.mark.parametrize("key", [SECRET, SECRET.removeprefix("whsec_")])
def test_a_secret_that_was_not_decoded_is_seen(key: str) -> None:
    signed = signed_headers([key.encode()], "evt_c1_1", NOW, BODY)
    finding = found(given={name.lower(): value for name, value in signed.items()})
    assert finding.verdict is Verdict.UNDECODED_SECRET
    assert "decoded from base64" in finding.text


@pytest.mark.parametrize("secret", ["", "whsec_", "hello", "whsec_aGVsbG8=", "sk_live_123"])
def test_what_is_no_secret_is_said(secret: str) -> None:
    finding = found(secret=secret)
    assert finding.verdict is Verdict.NO_SECRET
    assert "44 characters" in finding.text


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (NOW + 301, "sent 5 min ago"),
        (NOW + 7300, "sent 2 h ago"),
        (NOW + 10 * 86400, "sent 10 days ago"),
        (NOW - 310, "sent 5 min in the future"),
    ],
)
def test_the_clock_is_named_with_by_how_much(now: int, said: str) -> None:
    finding = found(now=now)
    assert (finding.verdict, said in finding.text) == (Verdict.CLOCK, True), finding
    assert found(now=now, tolerance=ANY_TIME).verdict is Verdict.HOLDS


@pytest.mark.parametrize("name", ["Event-Id", "Timestamp", "Signature"])
def test_a_missing_header_is_named(name: str) -> None:
    short = {"Event-Id": "id"}.get(name, name.lower())
    given = {k: v for k, v in headers().items() if k not in (f"service-{name.lower()}", f"webhook-{short}")}
    finding = found(given=given)
    assert finding.verdict is Verdict.MISSING_HEADER
    assert f"There is no Service-{name} header." in finding.text


def test_a_timestamp_that_is_no_number_is_said() -> None:
    finding = found(given=changed(timestamp="2026-11-14T09:02:03Z"))
    assert (finding.verdict, "Service-Timestamp" in finding.text) == (Verdict.BAD_HEADER, True)


@pytest.mark.parametrize(("signature", "said"), [("v2,abc v1a,def", "of version v1a, v2"), ("abcdef", "no version")])
def test_a_signature_of_another_version_is_said(signature: str, said: str) -> None:
    finding = found(given=changed(signature=signature))
    assert (finding.verdict, said in finding.text) == (Verdict.ANOTHER_VERSION, True), finding


def test_headers_of_another_delivery_are_seen() -> None:
    finding = found(given=headers(BODY.replace(b"evt_c1_1", b"evt_c1_2"), event_id="evt_c1_2"))
    assert finding.verdict is Verdict.ANOTHER_DELIVERY
    assert "Service-Event-Id is evt_c1_2, the body is evt_c1_1" in finding.text
    mixed = found(given=changed(timestamp=str(NOW + 300)))
    assert mixed.verdict is Verdict.ANOTHER_DELIVERY
    assert f"is {NOW + 300}, but the signature was made for {NOW}" in mixed.text


def test_a_body_that_is_not_whole_is_seen() -> None:
    finding = found(BODY[:-20], headers() | {"content-length": str(len(BODY))})
    assert finding.verdict is Verdict.CUT_BODY
    assert f"has {len(BODY) - 20} bytes, and Content-Length says {len(BODY)}" in finding.text


def test_a_signed_body_that_is_no_event_is_said() -> None:
    assert found(b"{}", headers(b"{}")).verdict is Verdict.NOT_AN_EVENT


def test_every_verdict_has_its_test() -> None:
    source = Path(__file__).read_text()
    assert [verdict for verdict in Verdict if f"Verdict.{verdict.name}" not in source] == []


def run(*arguments: str, input: bytes | None = None, secret: str | None = SECRET) -> Result:  # noqa: A002 - click's word
    variables = os.environ | {"COLUMNS": "200", "WEBHOOK_SECRET": secret}
    return CliRunner().invoke(app, ["verify", *arguments], env=variables, input=input)


def as_http(given: dict[str, str], end: str = "\r\n", mark: str = "") -> bytes:
    lines = [
        "POST /hook HTTP/1.1",
        "Host: localhost:8000",
        *(f"{name.title()}: {value}" for name, value in given.items()),
    ]
    return "".join(f"{mark}{line}{end}" for line in [*lines, ""]).encode()


def fresh() -> dict[str, str]:
    return headers(at=int(time.time()))


DUMPS: dict[str, Callable[[], bytes]] = {
    "http": lambda: as_http(fresh()) + BODY,
    "with line feeds": lambda: as_http(fresh(), "\n") + BODY,
    "of curl -v": lambda: as_http(fresh(), "\n", "> ") + BODY,
    "with a line break that a terminal added": lambda: (
        as_http(fresh() | {"content-length": str(len(BODY))}) + BODY + b"\n"
    ),
}
HEADERS: dict[str, Callable[[], bytes]] = {
    "http": lambda: as_http(fresh()),
    "JSON": lambda: json.dumps(fresh()).encode(),
    "JSON with lists": lambda: json.dumps({name: [value] for name, value in fresh().items()}).encode(),
    "CGI": lambda: json.dumps(
        {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in fresh().items()}
    ).encode(),
}


@pytest.mark.parametrize("dump", DUMPS)
def test_a_whole_request_is_read_from_a_file_or_from_stdin(tmp_path: Path, dump: str) -> None:
    written = DUMPS[dump]()
    (tmp_path / "request").write_bytes(written)
    for done in (run(str(tmp_path / "request")), run("-", input=written)):
        assert done.exit_code == 0, done.output
        assert done.stdout == f"The signature holds. loaded of {DATA['external_order_id']} (shp_c1_1)\n"


@pytest.mark.parametrize("kind", HEADERS)
def test_headers_and_body_come_apart_too(tmp_path: Path, kind: str) -> None:
    written = HEADERS[kind]()
    (tmp_path / "headers").write_bytes(written)
    (tmp_path / "body").write_bytes(BODY)
    done = run("--headers", str(tmp_path / "headers"), "--body", str(tmp_path / "body"))
    assert (done.exit_code, done.stderr) == (0, "")
    done = run("--headers", "-", "--body", str(tmp_path / "body"), input=written)
    assert done.exit_code == 0


def test_what_does_not_hold_is_exit_1_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "request").write_bytes(as_http(headers()) + BODY)
    done = run(str(tmp_path / "request"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("clock: Secret and body are right, but it was sent ")
    assert run(str(tmp_path / "request"), "--any-time").exit_code == 0
    as_json = run(str(tmp_path / "request"), "--json")
    assert (as_json.exit_code, json.loads(as_json.stdout)["verdict"]) == (1, "clock")


@pytest.mark.parametrize(
    ("arguments", "secret", "said"),
    [
        (["-"], None, "Set WEBHOOK_SECRET"),
        ([], SECRET, "Give either one file with the whole request, or both"),
        (["--headers", "-"], SECRET, "Give either one file with the whole request, or both"),
        (["-", "--headers", "-", "--body", "-"], SECRET, "Give either one file with the whole request, or both"),
        (["--headers", "-", "--body", "-"], SECRET, "Only one of --headers and --body can be stdin"),
        (["/nowhere"], SECRET, "/nowhere cannot be read: No such file or directory."),
    ],
)
def test_what_is_asked_wrongly_is_exit_2_with_the_cure(arguments: list[str], secret: str | None, said: str) -> None:
    done = run(*arguments, input=b"", secret=secret)
    assert (done.exit_code, said in done.stderr) == (2, True), done.output
