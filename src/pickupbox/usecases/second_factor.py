"""The second factor: codes of an app (TOTP), and ten recovery codes for the day on which the phone is lost."""

import hmac
import json
import secrets
from dataclasses import dataclass, replace

import pyotp

from pickupbox.database import users
from pickupbox.database.connection import Connection
from pickupbox.domain.letters import Letter
from pickupbox.domain.people import CodeRefused, PersonNotFound, RoleNotYours
from pickupbox.domain.roles import Role, may_change
from pickupbox.usecases import attempts
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.mail import post
from pickupbox.vault import Sealed

STEP_SECONDS = 30
CODES = 10
CODE_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # those that people do not mistake for each other
ISSUER = "Pickupbox"


@dataclass(frozen=True, slots=True)
class Factor:
    """What is sealed: the app's secret, and of each recovery code that was not used yet an HMAC."""

    secret: str
    codes: tuple[str, ...]

    def uri(self, email: str) -> str:
        """What an app reads from the QR code."""
        return pyotp.TOTP(self.secret).provisioning_uri(email, ISSUER)


def is_on(user: users.User) -> bool:
    return user.factor_since is not None


def factor_of(core: Core, user: users.User) -> Factor | None:
    """The second factor, confirmed or not."""
    if user.factor is None:
        return None
    kept = json.loads(core.vault.open_for_people(user.tenant_id, user.id, user.factor))
    return Factor(kept["secret"], tuple(kept["codes"]))


def seal(core: Core, user: users.User, factor: Factor) -> Sealed:
    clear = json.dumps({"secret": factor.secret, "codes": factor.codes})
    return core.vault.seal_for_people(user.tenant_id, user.id, clear.encode())


async def prepare(core: Core, caller: Caller) -> Factor:
    """The secret to show, the same until it is confirmed."""
    async with core.db.transaction() as tx:
        user = await _locked(tx, caller.tenant, caller.actor)
        known = factor_of(core, user)
        if known is not None:
            return known
        factor = Factor(pyotp.random_base32(), ())
        await users.save_factor(tx, user.tenant_id, user.id, seal(core, user, factor), confirmed=False, step=0)
    return factor


async def confirm(core: Core, caller: Caller, code: str) -> list[str]:
    """The app knows the secret: from now on its codes are asked for. The recovery codes, which are seen only now."""
    await attempts.take(core, attempts.of_person(caller.actor))
    async with core.db.transaction() as tx:
        user = await _locked(tx, caller.tenant, caller.actor)
        factor = factor_of(core, user)
        step = _step_of(factor.secret, code, await users.clock(tx), user.factor_step) if factor else None
        if factor is None or step is None or is_on(user):
            raise CodeRefused
        codes = await _with_new_codes(core, tx, user, factor, step)
        await note(core, tx, caller, "second_factor.set", user.id)
    await attempts.succeeded(core, attempts.of_person(caller.actor))
    return codes


async def renew_codes(core: Core, caller: Caller) -> list[str]:
    """Ten new recovery codes; those before work no more."""
    async with core.db.transaction() as tx:
        user = await _locked(tx, caller.tenant, caller.actor)
        factor = factor_of(core, user)
        if factor is None or not is_on(user):
            raise PersonNotFound
        codes = await _with_new_codes(core, tx, user, factor, user.factor_step)
        await note(core, tx, caller, "second_factor.codes", user.id)
    return codes


async def take_off(core: Core, caller: Caller, actor: Role, user_id: str) -> None:
    """Remove the second factor, one's own or that of someone whose phone is lost. They are told by mail."""
    async with core.db.transaction() as tx:
        user = await _locked(tx, caller.tenant, user_id)
        if user.id != caller.actor and not may_change(actor, user.role, user.role):
            raise RoleNotYours
        await users.save_factor(tx, user.tenant_id, user.id, None, confirmed=False, step=0)
        await note(core, tx, caller, "second_factor.remove", user.id)
        name = await users.tenant_name(tx, user.tenant_id)
        await post(core, tx, user, Letter.SECOND_FACTOR_REMOVED, name, f"{core.admin_url}/forgot")


async def is_right(core: Core, tx: Connection, user: users.User, code: str) -> bool:
    """Whether it is a code of the person's app or a recovery code, unused; it is used up then. The row is locked."""
    factor = factor_of(core, user)
    if factor is None or not is_on(user):
        return False
    step = _step_of(factor.secret, code, await users.clock(tx), user.factor_step)
    if step is not None:
        await users.save_factor(tx, user.tenant_id, user.id, user.factor, confirmed=True, step=step)
        return True
    kept = _kept(user.id, code)
    left = tuple(one for one in factor.codes if not hmac.compare_digest(one, kept))
    if len(left) == len(factor.codes):
        return False
    sealed = seal(core, user, replace(factor, codes=left))
    await users.save_factor(tx, user.tenant_id, user.id, sealed, confirmed=True, step=user.factor_step)
    return True


async def _locked(tx: Connection, tenant: str, user_id: str) -> users.User:
    user = await users.lock(tx, tenant, user_id)
    if user is None:
        raise PersonNotFound
    return user


async def _with_new_codes(core: Core, tx: Connection, user: users.User, factor: Factor, step: int) -> list[str]:
    codes = [_new_code() for _ in range(CODES)]
    renewed = replace(factor, codes=tuple(_kept(user.id, code) for code in codes))
    await users.save_factor(tx, user.tenant_id, user.id, seal(core, user, renewed), confirmed=True, step=step)
    return codes


def _step_of(secret: str, code: str, now: float, last: int) -> int | None:
    """The time step that the code is of, now or one before or after; None for a wrong one or one that was used."""
    typed = "".join(code.split())
    app = pyotp.TOTP(secret)
    this = int(now) // STEP_SECONDS
    right = [
        step
        for step in (this, this - 1, this + 1)
        if hmac.compare_digest(app.generate_otp(step).encode(), typed.encode())
    ]
    return next((step for step in right if step > last), None)


def _new_code() -> str:
    """50 bits of chance, as two groups that can be read aloud."""
    letters = "".join(secrets.choice(CODE_LETTERS) for _ in range(10))
    return f"{letters[:5]}-{letters[5:]}"


def _kept(user_id: str, code: str) -> str:
    plain = "".join(letter for letter in code.lower() if letter in CODE_LETTERS)
    return hmac.digest(user_id.encode(), plain.encode(), "sha256").hex()
