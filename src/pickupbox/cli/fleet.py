"""A street of virtual boxes, for load tests and to look at."""

import json
import sys
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from pickupbox.cli.running import away, settings
from pickupbox.cli.speaking import JsonOption, fail
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.fleet import BOXES_MOST, FleetError, Plan, run
from pickupbox.fleet.table import table_of, watch_lines, watch_live, watch_nothing


def fleet(
    boxes: Annotated[int, typer.Option(min=1, max=BOXES_MOST, help="Virtual boxes on the street.")] = 20,
    rate: Annotated[float, typer.Option(min=0.01, max=1_000, help="Shipments that begin per second.")] = 2.0,
    seconds: Annotated[float, typer.Option(min=1, max=86_400, help="For how long shipments begin.")] = 300,
    faults: Annotated[float, typer.Option(min=0, max=1, help="The share in which something goes wrong.")] = 0.01,
    base_url: Annotated[str, typer.Option(help="The sandbox's API.")] = "http://127.0.0.1:8080/v1",
    as_json: JsonOption = False,
) -> None:
    """Play a street of virtual boxes, loaders and customers in a sandbox; exit 1 if a shipment got stuck.

    Acts on the sandbox of PICKUPBOX_DATABASE_URL and PICKUPBOX_MQTT_URL, under a tenant of its own. Ctrl-C ends it.
    """
    chosen = settings()
    watch = watch_nothing if as_json else watch_live if sys.stdout.isatty() else watch_lines
    try:
        figures = uvloop.run(run(chosen, Plan(boxes, rate, seconds, faults, base_url), watch))
    except FleetError as error:
        raise fail(str(error)) from None
    except TemporarilyUnavailable as error:
        raise away(error.__cause__) from None
    if as_json:
        sys.stdout.write(json.dumps(figures.numbers()) + "\n")
    else:
        Console().print(table_of(figures))
    if figures.troubles:
        Console(stderr=True).print("\n".join(figures.troubles), style="red", highlight=False, markup=False)
    if figures.went_wrong:
        raise typer.Exit(1)
