"""Whether a webhook's signature holds."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pickupbox.cli.speaking import JsonOption, fail
from pickupbox.desk.diagnosis import ANY_TIME, TOLERANCE, Finding, Verdict, diagnose
from pickupbox.desk.requests import headers_in, request_in

STDIN = "-"


def verify(
    request: Annotated[
        str | None,
        typer.Argument(metavar="REQUEST", help="A file with headers, an empty line and the body; - is stdin."),
    ] = None,
    secret: Annotated[
        str | None, typer.Option(envvar="WEBHOOK_SECRET", help="whsec_…, as it is in your settings.")
    ] = None,
    headers: Annotated[
        str | None, typer.Option(metavar="FILE", help="The headers alone, also as JSON; - is stdin.")
    ] = None,
    body: Annotated[str | None, typer.Option(metavar="FILE", help="The body alone, byte for byte; - is stdin.")] = None,
    any_time: Annotated[bool, typer.Option("--any-time", help="Do not judge when it was sent.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say whether the signature of a webhook holds, and if not, why. Exit 1 if it does not.

    Give it what your server got: `pickupbox verify request.txt`, or `pickupbox verify --headers h.txt --body b.json`.
    """
    if secret is None:
        raise _misused("Which secret? Set WEBHOOK_SECRET, or give --secret whsec_…")
    if (request is None) == (headers is None or body is None) or (request and (headers or body)):
        raise _misused("Give either one file with the whole request, or both --headers and --body; - is stdin.")
    if headers == body == STDIN:
        raise _misused("Only one of --headers and --body can be stdin.")
    if request is not None:
        got, bytes_ = request_in(_read(request))
    else:
        got, bytes_ = headers_in(_read(headers or STDIN)), _read(body or STDIN)
    finding = diagnose(bytes_, got, secret, now=time.time(), tolerance=ANY_TIME if any_time else TOLERANCE)
    _tell(finding, as_json=as_json)
    if finding.verdict is not Verdict.HOLDS:
        raise typer.Exit(1)


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except OSError as error:
        raise _misused(f"{file} cannot be read: {error.strerror}.") from None


def _misused(text: str) -> typer.Exit:
    fail(text)
    return typer.Exit(2)


def _tell(finding: Finding, *, as_json: bool) -> None:
    event = finding.event
    if as_json:
        sys.stdout.write(json.dumps({"verdict": finding.verdict, "text": finding.text}) + "\n")
    elif event is None:
        fail(f"{finding.verdict}: {finding.text}")
    else:
        about = f"{event.type} of {event.data.external_order_id} ({event.data.shipment_id})"
        Console().print(f"{finding.text} {about}", style="green", highlight=False, markup=False, soft_wrap=True)
