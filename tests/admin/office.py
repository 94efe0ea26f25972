"""An office: people of a tenant who visit the administration's pages as a browser does."""

import re
from dataclasses import dataclass, field

import httpx
from starlette.types import ASGIApp

from pickupbox.admin.admission import SESSION
from pickupbox.domain.roles import Role
from pickupbox.usecases.core import Core
from pickupbox.usecases.sessions import begin, step_up, who
from pickupbox.usecases.team import add_user
from tests.admin.people import PASSWORD
from tests.support.shop import Shop

ORIGIN = "http://admin.test"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a browser. Secure cookies go over plain http here, so they are carried by hand."""

    http: httpx.AsyncClient
    core: Core
    id: str
    token: str
    cookies: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return self._keep(await self.http.get(path, headers=self._headers() | headers))

    async def post(self, path: str, values: dict[str, str] | None = None, **headers: str) -> httpx.Response:
        """Send a form as one of our pages would."""
        form = {"csrf": await self.csrf(), **(values or {})}
        return self._keep(await self.http.post(path, data=form, headers=self._headers() | {"Origin": ORIGIN} | headers))

    async def csrf(self) -> str:
        visitor = await who(self.core, self.token)
        return self.core.vault.page_token(visitor.session) if visitor else ""

    async def step_up(self) -> None:
        visitor = await who(self.core, self.token)
        assert visitor is not None
        await step_up(self.core, visitor)

    def cookie(self) -> str:
        carried = {SESSION: self.token, **self.cookies}
        return "; ".join(f"{name}={value}" for name, value in carried.items() if value)

    def _headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie()}

    def _keep(self, response: httpx.Response) -> httpx.Response:
        for name, value in re.findall(r"(__Host-[a-z-]+)=([^;]*)", "; ".join(response.headers.get_list("set-cookie"))):
            self.cookies[name] = value.strip('"')
        return response


@dataclass(frozen=True, slots=True)
class Office:
    core: Core
    app: ASGIApp
    shop: Shop
    people: list[Person] = field(default_factory=list)

    async def sign_in(self, role: Role, tenant: str | None = None) -> Person:
        """A new person of that role, with a session and a browser."""
        tenant = tenant or self.shop.tenant
        email = f"{role}.{self.core.new_id('x')}@office.test"
        user_id = await add_user(self.core, tenant, email, role.title(), role, PASSWORD)
        token = await begin(self.core, user_id, "127.0.0.1", "test")
        person = Person(client_of(self.app), self.core, user_id, token)
        self.people.append(person)
        return person

    def stranger(self) -> Person:
        person = Person(client_of(self.app), self.core, "", "")
        self.people.append(person)
        return person


def client_of(app: ASGIApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN)
