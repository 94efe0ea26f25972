"""People for tests: with a password, at an address of their own, and time that passes for them."""

import re
import secrets
from dataclasses import dataclass
from typing import Any

import pyotp

from pickupbox.database import users
from pickupbox.domain.roles import Role
from pickupbox.usecases import second_factor
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.sessions import Visitor, begin, who
from pickupbox.usecases.sign_in import Stranger
from pickupbox.usecases.team import add_user
from pickupbox.vault import Sealed

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True, slots=True)
class Someone:
    core: Core
    tenant: str
    id: str
    email: str

    @property
    def caller(self) -> Caller:
        return Caller(self.tenant, self.id)

    async def row(self) -> users.User:
        async with self.core.db.connection() as connection:
            user = await users.find(connection, self.tenant, self.id)
        assert user is not None
        return user

    async def session(self) -> Visitor:
        visitor = await who(self.core, await begin(self.core, self.id, None, None))
        assert visitor is not None
        return visitor

    async def second_factor(self) -> tuple[pyotp.TOTP, list[str]]:
        """Their app, and their recovery codes. The code that was used for it is of an earlier time."""
        app = pyotp.TOTP((await second_factor.prepare(self.core, self.caller)).secret)
        codes = await second_factor.confirm(self.core, self.caller, app.now())
        await self.forget_step()
        return app, codes

    async def forget_step(self) -> None:
        await run(self.core, "UPDATE users SET factor_step = 0 WHERE id = $1", self.id)

    async def audited(self) -> list[str]:
        return [
            action
            for (action,) in await run(
                self.core,
                "SELECT action FROM audit WHERE tenant_id = $1 AND (object = $2 OR actor = $2) ORDER BY id",
                self.tenant,
                self.id,
            )
        ]


async def someone(core: Core, tenant: str, role: Role = Role.OWNER, email: str | None = None) -> Someone:
    email = email or f"{role}.{secrets.token_hex(6)}@firm.test"
    return Someone(core, tenant, await add_user(core, tenant, email, "Ada Example", role, PASSWORD), email)


def stranger() -> Stranger:
    """Someone at an address where nobody was before."""
    return Stranger(f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1", "a browser")


async def run(core: Core, statement: str, *values: object) -> list[Any]:
    """Past the code."""
    async with core.db.connection() as connection:
        return [tuple(row.values()) for row in await connection.fetch(statement, *values)]


async def link_in_mail(core: Core, email: str) -> str:
    """The token of the newest link that waits to be sent to this e-mail."""
    (tenant, mail_id, secret_id, sealed), *_ = await run(
        core,
        """
        SELECT tenant_id, id, text_secret_id, text_sealed FROM mails
        WHERE recipient = $1 AND due_at IS NOT NULL ORDER BY id DESC
        """,
        email,
    )
    text = core.vault.open_for_people(tenant, mail_id, Sealed(secret_id, sealed)).decode()
    found = re.search(r"/link/([\w-]{40,})", text)
    assert found, text
    return found[1]
