"""How a page is declared: method, path, who may, and the function that answers. What is not declared is not served."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from pickupbox.admin.visit import Visit
from pickupbox.domain.roles import Act

type Handler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    """`act` None: open to strangers. `step_up`: whoever asks has confirmed within minutes that it is still them.
    `by_itself`: the browser asks for it without its person, so that it keeps no idle session alive."""

    method: str
    path: str
    act: Act | None
    handler: Handler
    step_up: bool = False
    by_itself: bool = False


def get(path: str, act: Act | None, handler: Handler, *, step_up: bool = False, by_itself: bool = False) -> Page:
    return Page("GET", path, act, handler, step_up, by_itself)


def post(path: str, act: Act | None, handler: Handler, *, step_up: bool = False) -> Page:
    return Page("POST", path, act, handler, step_up)
