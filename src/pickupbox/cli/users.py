"""People of a tenant who visit the administration."""

import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from pickupbox.cli.running import commander, run
from pickupbox.cli.speaking import JsonOption, TenantOption, fail, listing, not_empty, say
from pickupbox.domain.errors import NotFound, Refusal
from pickupbox.domain.people import PersonNotFound
from pickupbox.domain.roles import Role
from pickupbox.usecases.core import Core
from pickupbox.usecases.second_factor import take_off
from pickupbox.usecases.single_sign_on import remove_provider, set_provider
from pickupbox.usecases.team import add_user, invite, list_team, remove_user

user_app = typer.Typer(no_args_is_help=True, help="People: who may visit a tenant's administration, as what.")

EmailOption = Annotated[str, typer.Option("--email", callback=not_empty, help="By which the person signs in.")]
NameOption = Annotated[str, typer.Option("--name", callback=not_empty, help="As colleagues know them.")]
RoleOption = Annotated[Role, typer.Option("--role", help="What the person may do.")]
DomainOption = Annotated[str, typer.Option("--domain", help="Of their e-mail addresses, such as firm.example.")]


def _refused(refusal: Refusal) -> typer.Exit:
    if type(refusal) is NotFound:
        return fail("There is no such tenant.")
    return fail(f"{refusal.message()} {refusal.cure()}")


def _do(tenant: str, email: str, act: Callable[[Core, str], Awaitable[object]]) -> None:
    """Do something to the person who has that e-mail."""

    async def found(core: Core) -> None:
        people = [user.id for user in await list_team(core, tenant) if user.email == email.strip().lower()]
        if not people:
            raise PersonNotFound
        await act(core, people[0])

    try:
        run(found)
    except Refusal as refusal:
        raise _refused(refusal) from None


@user_app.command("add")
def add(
    tenant: TenantOption,
    email: EmailOption,
    name: NameOption,
    role: RoleOption = Role.OWNER,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add a person who can sign in at once. Without --password-stdin the password is asked for."""
    password = sys.stdin.readline().strip() if password_stdin else typer.prompt("Password", hide_input=True).strip()
    try:
        user = run(lambda core: add_user(core, tenant, email, name, role, password))
    except Refusal as refusal:
        raise _refused(refusal) from None
    say(user, {"id": user}, as_json=as_json)


@user_app.command("invite")
def invite_(
    tenant: TenantOption,
    email: EmailOption,
    name: NameOption,
    role: RoleOption = Role.OWNER,
    locale: Annotated[str | None, typer.Option(help="Language of the mail: en or de.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Invite a person: the link goes out by mail, and is printed here. It works once, for 7 days."""
    if locale not in (None, "en", "de"):
        raise fail("A language is en or de.")
    caller = commander(tenant)
    try:
        link = run(lambda core: invite(core, caller, Role.OWNER, email, name, role, locale))
    except Refusal as refusal:
        raise _refused(refusal) from None
    say(f"{link.user_id}\n{link.url}", {"id": link.user_id, "link": link.url}, as_json=as_json)


@user_app.command("list")
def list_(tenant: TenantOption) -> None:
    """List a tenant's people."""
    table = listing("E-mail", "Name", "Role", "Second factor", "Last seen")
    for u in run(lambda core: list_team(core, tenant)):
        seen = f"{u.seen_at:%Y-%m-%d %H:%M}" if u.seen_at else "never" if u.password_hash else "invited"
        table.add_row(u.id, escape(u.email), escape(u.name), u.role, "yes" if u.factor_since else "no", seen)
    Console().print(table)


@user_app.command("remove")
def remove(email: EmailOption, tenant: TenantOption) -> None:
    """Remove a person; their sessions end at once."""
    _do(tenant, email, lambda core, user: remove_user(core, commander(tenant), Role.OWNER, user))


@user_app.command("reset-second-factor")
def reset_second_factor(email: EmailOption, tenant: TenantOption) -> None:
    """Take off the second factor of a person whose phone and recovery codes are lost. Be sure who asks."""
    _do(tenant, email, lambda core, user: take_off(core, commander(tenant), Role.OWNER, user))


@user_app.command("provider")
def provider(
    tenant: TenantOption,
    domain: DomainOption,
    issuer: Annotated[str, typer.Option(help="The provider's OpenID Connect issuer, an https address.")],
    client_id: Annotated[str, typer.Option(help="Under which the provider knows this service.")],
    only_way: Annotated[bool, typer.Option("--only-way", help="Let nobody of the domain in by password.")] = False,
) -> None:
    """Let people of a domain in by their firm's own provider. The client's secret is read from standard input."""
    secret = sys.stdin.readline().strip()
    try:
        run(
            lambda core: set_provider(
                core,
                commander(tenant),
                owner_email=None,
                domain=domain,
                issuer=issuer,
                client_id=client_id,
                client_secret=secret,
                only_way=only_way,
            )
        )
    except Refusal as refusal:
        raise _refused(refusal) from None


@user_app.command("provider-remove")
def provider_remove(tenant: TenantOption, domain: DomainOption) -> None:
    """Let people of a domain in by password again."""
    try:
        run(lambda core: remove_provider(core, commander(tenant), domain))
    except Refusal as refusal:
        raise _refused(refusal) from None
