"""For the developer of a shop, at their desk: follow a sandbox, and make events happen in it."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Annotated, Any

import typer
import uvloop
from pickupbox_sdk import PickupboxError
from rich.console import Console
from rich.text import Text

from pickupbox.cli.speaking import JsonOption, fail, say
from pickupbox.desk import DeskError, triggering
from pickupbox.desk.beginning import Wish, begin
from pickupbox.desk.lines import Outcome, answer_of, json_of, line_of
from pickupbox.desk.listening import Listening
from pickupbox.desk.memory import alone_at, folder_of, place_in, secret_in
from pickupbox.desk.sandbox import client_of, sentence_of
from pickupbox.desk.turns import Told
from pickupbox.domain.lifecycle import Event
from pickupbox.webhooks.addresses import objection
from pickupbox.webhooks.signing import key_of

BaseUrl = Annotated[str | None, typer.Option(envvar="BASE_URL", help="The sandbox's API, as the demo prints it.")]
ApiKey = Annotated[str | None, typer.Option(envvar="API_KEY", show_envvar=True, help="A key of the sandbox.")]


def listen(
    forward_to: Annotated[
        str | None, typer.Option(metavar="URL", help="Send each event there as a signed webhook: http://localhost:…")
    ] = None,
    types: Annotated[
        list[Event] | None, typer.Option("--type", metavar="EVENT", help="Only this event; repeat it for more.")
    ] = None,
    after: Annotated[str | None, typer.Option(metavar="EVENT_ID", help="Begin after this event.")] = None,
    from_start: Annotated[bool, typer.Option("--from-start", help="Begin with the oldest that is kept.")] = False,
    from_now: Annotated[bool, typer.Option("--from-now", help="Skip what happened since it stopped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON per event.")] = False,
    base_url: BaseUrl = None,
    api_key: ApiKey = None,
) -> None:
    """Show a sandbox's events as they happen, and forward them to your own server, signed as real webhooks are.

    **Where it begins.** The first time: now. Later: where it stopped, so nothing is missed while it does not run.

    **When your server fails.** An event that it refuses is tried again after 1, 2 and 5 s, then given up; meanwhile the
    later events of that shipment wait and those of others go on. While it does not run, all wait for it. It gets one
    request at a time. What was under way when you ended this comes again: know events by their id.

    **The secret** that it signs with is the same at every start, and printed.

    Ctrl-C ends it.
    """
    if forward_to is not None and (wrong := objection(forward_to, loopback=True)):
        _refuse(DeskError(f"{wrong}\nYour own server is http://localhost:PORT/… on this machine.", 2))
    _run(
        _listen(forward_to or "", types or [], Wish(after, from_start, from_now), as_json, base_url, api_key), base_url
    )


async def _listen(
    target: str, types: list[Event], wish: Wish, as_json: bool, base_url: str | None, api_key: str | None
) -> None:
    out, beside = Console(soft_wrap=True, highlight=False), Console(stderr=True, soft_wrap=True, highlight=False)

    def note(text: str) -> None:
        beside.print(text, markup=False, style="dim")

    def show(told: Told, outcome: Outcome | None) -> None:
        if as_json:
            sys.stdout.write(json_of(told, outcome) + "\n")
            sys.stdout.flush()
        else:
            answer = ("  " + answer_of(told, outcome), outcome.colour) if outcome else ""
            out.print(Text.assemble(line_of(told), answer))

    async with client_of(base_url, api_key) as client:
        folder = folder_of(os.environ)
        secret = secret_in(folder)
        place = place_in(folder, target, [box.id for box in await client.list_boxes()])
        with alone_at(place):
            begins = await begin(client, place, wish, note)
            place.write()
            if target:
                note("Your server verifies with this, today and after every restart:")
                beside.print(f"\n  export WEBHOOK_SECRET={secret}\n", markup=False)
            note(f"{begins} From {base_url}{f' to {target}' if target else ''}. Ctrl-C ends it.")
            listening = Listening(client, base_url or "", place, key=key_of(secret), types=types, show=show, note=note)
            try:
                await listening.run(_told_to_stop())
            finally:
                note(_summary(listening, target))


def trigger(
    event: Annotated[Event, typer.Argument(metavar="EVENT", help="What the shop is to be told.")],
    shipment: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with this one instead of a fresh one.")
    ] = None,
    order: Annotated[str | None, typer.Option(metavar="ID", help="external_order_id of the fresh shipment.")] = None,
    box: Annotated[str | None, typer.Option(metavar="ID", help="Where to reserve; else where there is room.")] = None,
    finish: Annotated[bool, typer.Option("--finish", help="Release the compartment afterwards.")] = False,
    as_json: JsonOption = False,
    base_url: BaseUrl = None,
    api_key: ApiKey = None,
) -> None:
    """Make an event happen in a sandbox: reserve for a fresh order, and take the shortest way to that event.

    **EVENT** is one of `reserved`, `loaded`, `picked_up`, `expired`, `cancelled`, `fault`, `removed`, `door_available`.
    `loaded` is told when the protection period has ended, which is waited for (5 s in the demo).

    A shipment keeps its compartment until it is released, and a box has few: `--finish` leaves nothing behind, and
    `pickupbox trigger door_available --shipment ID` releases one later.
    """
    if shipment and (order or box):
        _refuse(DeskError("A shipment has its order and its box: leave --order and --box out, or --shipment.", 2))
    _run(_trigger(event, shipment, order, box, finish, as_json, base_url, api_key), base_url)


async def _trigger(
    event: Event,
    shipment: str | None,
    order: str | None,
    box: str | None,
    finish: bool,
    as_json: bool,
    base_url: str | None,
    api_key: str | None,
) -> None:
    out = Console(soft_wrap=True, highlight=False, quiet=as_json)

    def step(text: str) -> None:
        out.print(text, markup=False)

    async with client_of(base_url, api_key) as client:
        driven = await triggering.trigger(
            client, event, shipment_id=shipment, box_id=box, order=order, finish=finish, say=step
        )
    at = driven.shipment
    pin = f"\nPIN       {driven.pin}" if driven.pin and not driven.is_released else ""
    release = f"pickupbox trigger door_available --shipment {at.id}"
    holds = (
        ""
        if driven.is_released
        else f"\n\nIt keeps compartment {at.compartment_code} until you release it:\n  {release}"
    )
    say(
        f"\nshipment  {at.id}\norder     {at.external_order_id}{pin}{holds}",
        {
            "shipment_id": at.id,
            "external_order_id": at.external_order_id,
            "pickup_pin": driven.pin,
            "status": at.status,
            "compartment_state": at.compartment_state,
            "told": driven.told,
        },
        as_json=as_json,
    )


def _told_to_stop() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _summary(listening: Listening, target: str) -> str:
    count = listening.count
    text = f"\n{count.events:,} {'event' if count.events == 1 else 'events'}"
    if target:
        text += f", {count.accepted:,} accepted, {count.given_up:,} given up"
        text += f", {listening.waiting:,} waiting" if listening.waiting else ""
    return f"{text}. Started again, it goes on from here."


def _run(work: Coroutine[Any, Any, None], base_url: str | None) -> None:
    try:
        uvloop.run(work)
    except PickupboxError as error:
        _refuse(sentence_of(error, base_url or ""))
    except DeskError as error:
        _refuse(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # who read us has left; nothing more is said


def _refuse(error: DeskError) -> None:
    fail(str(error))
    raise typer.Exit(error.code)
