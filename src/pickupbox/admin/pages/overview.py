"""The overview: what needs a hand now, today in numbers, and two weeks as a chart."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.responses import Response

from pickupbox.admin.live import TOPICS, Thing, Topic
from pickupbox.admin.routes import get
from pickupbox.admin.templates import render
from pickupbox.admin.visit import Visit
from pickupbox.database.figures import Hour
from pickupbox.domain.roles import Act
from pickupbox.usecases.attention import Attention, Watch
from pickupbox.usecases.core import Core
from pickupbox.usecases.figures import catch_up, read_figures

DAYS = 14
HOURS = (DAYS + 1) * 24  # one day more: wherever the viewer lives, the first day is whole

COUNTED = ("reserved", "loaded", "picked_up", "expired", "cancelled", "fault")

PAUSE = 2.0  # seconds between two countings, however many pages watch
LATELY = 48  # hours that pages are told of anew; today is among them wherever the viewer lives

_watch = Watch()


@dataclass(frozen=True, slots=True)
class Day:
    """The sums of a day by UTC; the page's script makes them again for the viewer's zone."""

    day: datetime
    reserved: int
    loaded: int
    picked_up: int
    expired: int
    cancelled: int
    fault: int
    in_use: int


def days_of(hours: Sequence[Hour]) -> list[Day]:
    """The last fourteen days, the first one first."""
    today = hours[-1].hour.replace(hour=0)
    days = []
    for ago in reversed(range(DAYS)):
        day = today - timedelta(days=ago)
        own = [hour for hour in hours if day <= hour.hour < day + timedelta(days=1)]
        total = {name: sum(getattr(hour, name) for hour in own) for name in COUNTED}
        days.append(Day(day=day, in_use=own[-1].in_use, **total))
    return days


async def overview(visit: Visit) -> Response:
    await catch_up(visit.core, [visit.tenant])
    hours = (await read_figures(visit.core, [visit.tenant], HOURS, datetime.now(UTC)))[visit.tenant]
    attention = (await _watch.look(visit.core, [visit.tenant]))[visit.tenant]
    days = days_of(hours)
    return visit.page(
        "overview/page.html",
        attention=attention,
        days=days,
        today=days[-1],
        nothing_yet=not any(day.reserved for day in days) and not days[-1].in_use,
        figures=_figures(hours),
    )


def _figures(hours: Sequence[Hour]) -> dict[str, Any]:
    """What the page's script sums up to the viewer's days."""
    return {
        "first": int(hours[0].hour.timestamp()),
        "hours": [[*(getattr(hour, name) for name in COUNTED), hour.in_use] for hour in hours],
    }


async def _fetch(core: Core, things: Sequence[Thing]) -> Mapping[Thing, Any]:
    looked = await _watch.look(core, [tenant for tenant, _ in things])
    return {(tenant, thing): looked[tenant] for tenant, thing in things if thing == tenant}


def _render(attention: Attention) -> Mapping[str, str]:
    return {"attention": render("overview/attention.html", None, attention=attention)}


async def _fetch_figures(core: Core, things: Sequence[Thing]) -> Mapping[Thing, Any]:
    own = [tenant for tenant, thing in things if thing == tenant]
    await catch_up(core, own)
    read = await read_figures(core, own, LATELY, datetime.now(UTC))
    return {(tenant, tenant): _figures(read[tenant]) for tenant in own}


def _render_figures(figures: dict[str, Any]) -> Mapping[str, str]:
    return {"figures": json.dumps(figures)}


TOPICS["figures"] = Topic(Act.SEE_OVERVIEW, _fetch_figures, _render_figures, PAUSE)
TOPICS["tenant"] = Topic(Act.SEE_OVERVIEW, _fetch, _render)

PAGES = [get("/", Act.SEE_OVERVIEW, overview)]
