"""API keys: which there are, when each was last used; a new one, a rotation with overlap, an end."""

from datetime import UTC, datetime

from starlette.responses import Response

from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.database import tenants
from pickupbox.database.tenants import ApiKey
from pickupbox.domain.errors import NotFound
from pickupbox.domain.roles import Act
from pickupbox.usecases.tenants import IssuedKey, issue_key, keep_key, revoke_key, rotate_key

NAME_LENGTH = 80
OVERLAPS = {"24": 24, "1": 1, "168": 168, "": None}  # hours; none: until somebody revokes it


async def list_keys(visit: Visit) -> Response:
    now = datetime.now(UTC)
    async with visit.core.db.connection() as connection:
        keys = await tenants.list_keys(connection, visit.tenant)
    live = [key for key in keys if key.lives(now)]
    full = {key.name for key in live if sum(one.name == key.name for one in live) > 1}
    ended = [key for key in keys if not key.lives(now)]
    return visit.page("keys/list.html", live=live, ended=ended, full=full)


async def new_key(visit: Visit) -> Response:
    return visit.page("keys/new.html", name="", error="")


async def add_key(visit: Visit) -> Response:
    name = (await visit.form()).get("name", "")
    if not 1 <= len(name) <= NAME_LENGTH or not name.isprintable():
        error = _("Say in 1 to 80 characters what the key is for.")
        return visit.page("keys/new.html", 422, name=name, error=error)
    issued = await issue_key(visit.core, visit.caller, name)
    if issued is None:
        error = _("Two keys of this name live already. Choose another name, or revoke one of them first.")
        return visit.page("keys/new.html", 409, name=name, error=error)
    return _shown(visit, issued, name, None)


async def ask_rotation(visit: Visit) -> Response:
    key = await _live(visit)
    return visit.page("keys/rotate.html", key=key, error="")


async def rotate(visit: Visit) -> Response:
    key, chosen = await _live(visit), (await visit.form()).get("overlap", "24")
    issued = await rotate_key(visit.core, visit.caller, key.id, OVERLAPS.get(chosen, 24))
    if issued is None:
        error = _("Two keys of this name live already: a rotation is under way. Revoke one of them first.")
        return visit.page("keys/rotate.html", 409, key=key, error=error)
    return _shown(visit, issued, key.name, await _find(visit, key.id))


async def ask_revocation(visit: Visit) -> Response:
    return visit.page("keys/revoke.html", key=await _live(visit), error="")


async def revoke(visit: Visit) -> Response:
    key = await _live(visit)
    if (await visit.form()).get("typed") != key.name:
        error = _("That is not the name of this key. Nothing was revoked.")
        return visit.page("keys/revoke.html", 422, key=key, error=error)
    await revoke_key(visit.core, visit.caller, key.id)
    return visit.go("/keys", _("The key is revoked. The API stops taking it within 5 seconds."))


async def keep(visit: Visit) -> Response:
    if not await keep_key(visit.core, visit.caller, visit.path("key_id")):
        raise NotFound
    return visit.go("/keys", _("The key lives on until somebody revokes it."))


async def _find(visit: Visit, key_id: str) -> ApiKey:
    async with visit.core.db.connection() as connection:
        key = await tenants.find_key(connection, visit.tenant, key_id)
    if key is None:
        raise NotFound
    return key


async def _live(visit: Visit) -> ApiKey:
    key = await _find(visit, visit.path("key_id"))
    if not key.lives(datetime.now(UTC)):
        raise NotFound
    return key


def _shown(visit: Visit, issued: IssuedKey, name: str, before: ApiKey | None) -> Response:
    return visit.page("keys/shown.html", issued=issued, name=name, before=before)


PAGES = [
    get("/keys", Act.SEE_INTEGRATIONS, list_keys),
    get("/keys/new", Act.MANAGE_KEYS, new_key, step_up=True),
    post("/keys/new", Act.MANAGE_KEYS, add_key, step_up=True),
    get("/keys/{key_id}/rotate", Act.MANAGE_KEYS, ask_rotation, step_up=True),
    post("/keys/{key_id}/rotate", Act.MANAGE_KEYS, rotate, step_up=True),
    get("/keys/{key_id}/revoke", Act.MANAGE_KEYS, ask_revocation),
    post("/keys/{key_id}/revoke", Act.MANAGE_KEYS, revoke),
    post("/keys/{key_id}/keep", Act.MANAGE_KEYS, keep),
]
