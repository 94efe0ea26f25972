"""How a command is asked and how it answers: options that many share, text or JSON, what went wrong in red."""

import json
import sys
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

TenantOption = Annotated[str, typer.Option("--tenant", help="The tenant's id, as `pickupbox tenant list` shows it.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One line of JSON instead of text.")]
MetricsOption = Annotated[int | None, typer.Option("--metrics-port", help="Port of /metrics; none if omitted.")]


def not_empty(name: str) -> str:
    if not name.strip():
        raise typer.BadParameter("a name is not empty")
    return name


Name = Annotated[str, typer.Argument(metavar="NAME", callback=not_empty, help="As people know it.")]
OperatorOption = Annotated[str, typer.Option("--operator", callback=not_empty, help="Who does it, for the audit.")]


def fail(text: str) -> typer.Exit:
    Console(stderr=True).print(text, style="red", highlight=False, markup=False, soft_wrap=True)
    return typer.Exit(1)


def listing(*headers: str) -> Table:
    """A table that begins with an id, which is never cut: it is there to be copied."""
    return Table(Column("Id", no_wrap=True), *headers, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def say(text: str, value: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(value) + "\n")
    else:
        Console().print(text, highlight=False, markup=False, soft_wrap=True)
