"""The team: who is in, with which role; invitations; and the firm's own sign-in."""

from typing import Any

from starlette.responses import Response

from pickupbox.admin.pages.sign_in import refused
from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Form, Visit
from pickupbox.admin.words import _, language
from pickupbox.database.links import newest_invitations
from pickupbox.domain.errors import Refusal
from pickupbox.domain.people import domain_of
from pickupbox.domain.roles import Act, Role, may_change
from pickupbox.usecases import second_factor, single_sign_on, team


def _roles(visit: Visit, before: Role | None = None) -> list[tuple[str, str]]:
    """Those that the visitor may give to someone who was `before`."""
    labels = {
        Role.OWNER: _("Owner"),
        Role.ADMINISTRATOR: _("Administrator"),
        Role.OPERATOR: _("Operator"),
        Role.VIEWER: _("Viewer"),
    }
    return [(role, label) for role, label in labels.items() if may_change(visit.person.role, before, role)]


async def list_people(visit: Visit) -> Response:
    async with visit.core.db.connection() as connection:
        invitations = await newest_invitations(connection, visit.tenant)
    people = await team.list_team(visit.core, visit.tenant)
    return visit.page("team/list.html", people=people, invitations=invitations)


async def show_person(visit: Visit) -> Response:
    return visit.page("team/person.html", problem="", **await _shown(visit))


async def _shown(visit: Visit) -> dict[str, Any]:
    user = await team.find_person(visit.core, visit.tenant, visit.path("user_id"))
    changeable = may_change(visit.person.role, user.role, user.role)
    return {"user": user, "roles": _roles(visit, user.role) if changeable else [], "changeable": changeable}


async def ask_invitation(visit: Visit) -> Response:
    return visit.page("team/invite.html", values={"role": Role.OPERATOR}, roles=_roles(visit), problem="")


async def send_invitation(visit: Visit) -> Response:
    form = await visit.form()
    role = _role_of(form)
    try:
        made = await team.invite(
            visit.core,
            visit.caller,
            visit.person.role,
            form.get("email", ""),
            form.get("name", "") or form.get("email", "").partition("@")[0],
            role,
            language(),
        )
    except Refusal as refusal:
        return refused(visit, "team/invite.html", refusal, values={**form, "role": role}, roles=_roles(visit))
    return _invited(visit, form.get("email", ""), made.url)


async def send_again(visit: Visit) -> Response:
    user_id = visit.path("user_id")
    made = await team.invite_again(visit.core, visit.caller, visit.person.role, user_id)
    user = await team.find_person(visit.core, visit.tenant, user_id)
    return _invited(visit, user.email, made.url)


def _invited(visit: Visit, email: str, url: str) -> Response:
    """Without a mail server the link is shown to who invited; with one, only the mail has it."""
    if visit.settings.smtp_url is None:
        return visit.page("team/invited.html", email=email, url=url)
    return visit.go("/team", notice=_("The invitation is on its way to %(email)s.") % {"email": email})


def _role_of(form: Form) -> Role:
    """What was chosen; who sends something else gets the least."""
    chosen = form.get("role", "")
    return Role(chosen) if chosen in set(Role) else Role.VIEWER


async def change_role(visit: Visit) -> Response:
    user_id, role = visit.path("user_id"), _role_of(await visit.form())
    try:
        await team.change_role(visit.core, visit.caller, visit.person.role, user_id, role)
    except Refusal as refusal:
        return refused(visit, "team/person.html", refusal, **await _shown(visit))
    return visit.go(f"/team/{user_id}", notice=_("The role is changed."))


async def remove(visit: Visit) -> Response:
    user = await team.find_person(visit.core, visit.tenant, visit.path("user_id"))
    shown = await _shown(visit)
    if (await visit.form()).get("typed", "").lower() != user.email:
        return visit.page("team/person.html", 422, problem=_("What you typed is not the e-mail address."), **shown)
    try:
        await team.remove_user(visit.core, visit.caller, visit.person.role, user.id)
    except Refusal as refusal:
        return refused(visit, "team/person.html", refusal, **shown)
    return visit.go("/team", notice=_("%(name)s is no longer in the team.") % {"name": user.name})


async def remove_second_factor(visit: Visit) -> Response:
    user_id = visit.path("user_id")
    await second_factor.take_off(visit.core, visit.caller, visit.person.role, user_id)
    return visit.go(f"/team/{user_id}", notice=_("The second factor is removed."))


async def show_identity(visit: Visit) -> Response:
    return visit.page("team/identity.html", problem="", **await _identity(visit))


async def _identity(visit: Visit, typed: Form | None = None) -> dict[str, Any]:
    domain = domain_of(visit.person.email)
    known = {one.domain: one for one in await single_sign_on.list_providers(visit.core, visit.tenant)}
    mine = known.pop(domain, None)
    values = typed or (
        {"issuer": mine.issuer, "client_id": mine.client_id, "only_way": "on" if mine.only_way else ""} if mine else {}
    )
    return_url = f"{visit.core.admin_url}{single_sign_on.RETURN_PATH}"
    others = sorted(known.values(), key=lambda one: one.domain)
    return {"domain": domain, "known": mine, "others": others, "values": values, "return_url": return_url}


async def set_identity(visit: Visit) -> Response:
    form = await visit.form()
    try:
        await single_sign_on.set_provider(
            visit.core,
            visit.caller,
            owner_email=visit.person.email,
            domain=domain_of(visit.person.email),
            issuer=form.get("issuer", ""),
            client_id=form.get("client_id", ""),
            client_secret=form.get("client_secret", ""),
            only_way=form.get("only_way") == "on",
        )
    except Refusal as refusal:
        return refused(visit, "team/identity.html", refusal, **await _identity(visit, form))
    return visit.go("/team/identity", notice=_("Saved. Try it in a private window before you sign out."))


async def remove_identity(visit: Visit) -> Response:
    await single_sign_on.remove_provider(visit.core, visit.caller, (await visit.form()).get("domain", ""))
    return visit.go("/team/identity", notice=_("People come in by password again."))


PAGES = [
    get("/team", Act.SEE_TEAM, list_people),
    get("/team/invite", Act.MANAGE_TEAM, ask_invitation),
    post("/team/invite", Act.MANAGE_TEAM, send_invitation),
    get("/team/identity", Act.MANAGE_IDENTITY, show_identity),
    post("/team/identity", Act.MANAGE_IDENTITY, set_identity, step_up=True),
    post("/team/identity/remove", Act.MANAGE_IDENTITY, remove_identity, step_up=True),
    get("/team/{user_id}", Act.SEE_TEAM, show_person),
    post("/team/{user_id}/role", Act.MANAGE_TEAM, change_role),
    post("/team/{user_id}/remove", Act.MANAGE_TEAM, remove),
    post("/team/{user_id}/invite-again", Act.MANAGE_TEAM, send_again),
    post("/team/{user_id}/second-factor", Act.MANAGE_TEAM, remove_second_factor, step_up=True),
]
