"""One's own account: name, language, password."""

from pickupbox.database import sessions, users
from pickupbox.domain.letters import Letter
from pickupbox.domain.people import LOCALES, PersonNotFound, SignInRefused, checked_password, name_of
from pickupbox.usecases import attempts
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.mail import post
from pickupbox.usecases.passwords import hash_password, is_password
from pickupbox.usecases.sessions import Visitor


async def change_name(core: Core, caller: Caller, name: str, locale: str | None) -> None:
    async with core.db.transaction() as tx:
        chosen = locale if locale in LOCALES else None
        await users.set_name(tx, caller.tenant, caller.actor, name_of(name), chosen)
        await note(core, tx, caller, "user.change_name", caller.actor)


async def change_password(core: Core, caller: Caller, visitor: Visitor, before: str, after: str) -> None:
    """A new password for someone who knows the one before; their other sessions end, and a mail tells them."""
    counted = attempts.of_person(visitor.id)
    await attempts.take(core, counted)
    async with core.db.connection() as connection:
        user = await users.find(connection, visitor.tenant, visitor.id)
    if user is None:
        raise PersonNotFound
    if not await is_password(before, user.password_hash):
        raise SignInRefused
    kept = await hash_password(checked_password(after))
    async with core.db.transaction() as tx:
        await users.set_password(tx, user.tenant_id, user.id, kept)
        await sessions.delete_all(tx, user.tenant_id, user.id, but=visitor.session)
        await note(core, tx, caller, "user.change_password", user.id)
        name = await users.tenant_name(tx, user.tenant_id)
        await post(core, tx, user, Letter.PASSWORD_CHANGED, name, f"{core.admin_url}/forgot")
    await attempts.succeeded(core, counted)
