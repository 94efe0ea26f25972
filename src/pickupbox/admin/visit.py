"""One visit to one page: who asks, what they sent, and how to answer."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Message, Receive

from pickupbox.admin.notices import NOTICE, Notices
from pickupbox.admin.templates import render
from pickupbox.domain.errors import FormNotOurs
from pickupbox.domain.roles import Act, may
from pickupbox.settings import Settings
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.sessions import Visitor

FORM_BYTES = 65_536
FORM_SECONDS = 10.0
type Form = dict[str, str]


@dataclass(slots=True)
class Visit:
    request: Request
    core: Core
    settings: Settings
    request_id: str
    visitor: Visitor | None
    csrf: str
    _form: Form | None = field(default=None)

    @property
    def person(self) -> Visitor:
        """Who is signed in; only open pages are called without anybody."""
        if self.visitor is None:
            raise RuntimeError("an open page asked who is signed in")
        return self.visitor

    @property
    def tenant(self) -> str:
        return self.person.tenant

    @property
    def address(self) -> str | None:
        """Where the visitor is. What a header says of it counts only behind proxies of our own."""
        if self.settings.admin_proxies:
            hops = self.request.headers.get("x-forwarded-for", "").split(",")
            if len(hops) >= self.settings.admin_proxies and (hop := hops[-self.settings.admin_proxies].strip()):
                return hop[:64]
        return self.request.client.host if self.request.client else None

    @property
    def caller(self) -> Caller:
        return Caller(self.tenant, self.person.id, self.request_id, self.address)

    def may(self, act: Act) -> bool:
        return self.visitor is not None and may(self.visitor.role, act)

    def path(self, name: str) -> str:
        """A parameter of the path."""
        return str(self.request.path_params[name])

    def query(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default).strip()

    async def form(self) -> Form:
        """What was filled in, without blanks around it. Files are not taken."""
        if self._form is None:
            request = Request(self.request.scope, _bounded(self.request.receive))
            try:
                async with asyncio.timeout(FORM_SECONDS), request.form(max_files=0, max_fields=200) as sent:
                    texts = {name: value for name, value in sent.items() if not isinstance(value, UploadFile)}
            except (ClientDisconnect, TimeoutError):
                raise FormNotOurs from None
            self._form = {name: value.strip() for name, value in texts.items()}
        return self._form

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A whole page. A notice that waited for it is shown once."""
        notices = Notices(self.core.vault)
        notice = notices.read(self.request.cookies.get(NOTICE, ""))
        response = HTMLResponse(render(template, self, notice=notice, **values), status)
        if NOTICE in self.request.cookies:
            notices.drop(response)
        return response

    def part(self, template: str, **values: Any) -> Response:
        """A fragment, for HTMX; a notice goes on waiting."""
        return HTMLResponse(render(template, self, notice=None, **values))

    def go(self, path: str, notice: str = "") -> Response:
        """On to another page, which shows the notice."""
        response = RedirectResponse(path, 303)
        if notice:
            Notices(self.core.vault).leave(response, notice)
        return response


def _bounded(receive: Receive) -> Receive:
    """What comes, as long as it is not more than a form of ours."""
    left = FORM_BYTES

    async def receive_bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise FormNotOurs
        return message

    return receive_bounded
