"""The sandbox on one machine."""

from typing import Annotated

import typer

from pickupbox import demo as demonstration
from pickupbox.cli.speaking import JsonOption, fail
from pickupbox.settings import database_url


def demo(
    as_json: JsonOption = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin with an empty database.")] = False,
    port: Annotated[int, typer.Option(help="Port of the API; its pages take those after it.")] = 8080,
) -> None:
    """A whole sandbox on loopback, from nothing but a reachable PostgreSQL."""
    try:
        demonstration.run(database_url(), port, fresh=fresh, as_json=as_json)
    except demonstration.DemoError as error:
        raise fail(str(error)) from None
