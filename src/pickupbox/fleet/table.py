"""The street's figures as a table: live on a terminal, a line now and then elsewhere, and at the end."""

import asyncio

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from pickupbox.fleet.figures import WRONG, Figures, Outcome, Timings

REDRAWN_SECONDS = 0.5
LINE_SECONDS = 10.0


def table_of(figures: Figures) -> Table:
    table = Table("", "", "", box=SIMPLE_HEAD, show_header=False, title=_title(figures), title_justify="left")
    per_second = f"{figures.begun / figures.seconds:.1f}/s of {figures.rate:g}/s" if figures.seconds else ""
    table.add_row("shipments begun", f"{figures.begun:,}", per_second)
    table.add_row("  under way", f"{figures.under_way:,}", "")
    for outcome in Outcome:
        if figures.outcomes[outcome] or outcome is Outcome.COLLECTED:
            share = f"{figures.outcomes[outcome] / max(1, figures.begun):.1%}"
            style = "red" if outcome in WRONG else ""
            table.add_row(f"  {_words(outcome)}", f"{figures.outcomes[outcome]:,}", share, style=style)
    for label, count in (
        ("no room", figures.no_room),
        ("wrong PINs", figures.wrong_pins),
        ("cables cut", figures.cables_cut),
        ("PINs without an answer", figures.no_answers),
        ("right PINs refused", figures.refused),
    ):
        if count:
            table.add_row(label, f"{count:,}", "")
    table.add_section()
    table.add_row("door cycles", f"{figures.door_cycles:,}", "")
    table.add_row("messages", f"{figures.messages:,}", "")
    table.add_row("API", *_timings(figures.api))
    table.add_row("PIN to door", *_timings(figures.pin_to_door))
    return table


async def watch_live(figures: Figures) -> None:
    """Until this is cancelled."""
    with Live(table_of(figures), console=Console(), auto_refresh=False, transient=True) as live:
        while True:
            await asyncio.sleep(REDRAWN_SECONDS)
            live.update(table_of(figures), refresh=True)


async def watch_lines(figures: Figures) -> None:
    """A line every ten seconds, until this is cancelled."""
    console = Console()
    while True:
        await asyncio.sleep(LINE_SECONDS)
        faults = sum(figures.outcomes[outcome] for outcome in WRONG)
        console.print(
            f"{_title(figures)}: {figures.begun} begun, {figures.outcomes[Outcome.COLLECTED]} collected, "
            f"{figures.under_way} under way, {faults} wrong; API {' '.join(_timings(figures.api))}, "
            f"PIN to door {' '.join(_timings(figures.pin_to_door))}",
            highlight=False,
            soft_wrap=True,
        )


async def watch_nothing(_: Figures) -> None:
    """For a program that reads the end alone."""


def _title(figures: Figures) -> str:
    boxes = "1 box" if figures.boxes == 1 else f"{figures.boxes} boxes"
    if figures.connected < figures.boxes:
        return f"{figures.connected} of {boxes} connected"
    return f"{boxes}, {figures.seconds:.0f} s"


def _timings(timings: Timings) -> tuple[str, str]:
    half, most = timings.milliseconds(0.5), timings.milliseconds(0.95)
    if half is None or most is None:
        return "-", ""
    return f"p50 {half:,.0f} ms", f"p95 {most:,.0f} ms"


def _words(outcome: Outcome) -> str:
    return outcome.value.replace("_", " ")
