"""Single sign-on against a real provider process: who was invited comes in, and nobody else."""

import base64
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pickupbox.domain.people import (
    FREE_FAILURES_OF_AN_ADDRESS,
    InvalidEmail,
    InvalidProvider,
    OnlyByProvider,
    ProviderAway,
    ProviderKnowsAnother,
    ProviderRefused,
    SignInOver,
)
from pickupbox.domain.roles import Role
from pickupbox.usecases import links, openid, single_sign_on
from pickupbox.usecases.core import Core
from pickupbox.usecases.rewrap import rewrap_for_people
from pickupbox.usecases.sessions import Visitor, begin, who
from pickupbox.usecases.sign_in import by_password
from pickupbox.usecases.single_sign_on import Returned, Sent, come_back, provider_for, send_again, send_to, set_provider
from pickupbox.usecases.team import remove_user
from pickupbox.vault import Vault, new_secret, read_secrets
from tests.admin.people import PASSWORD, Someone, run, someone, stranger
from tests.admin.provider import CLIENT_ID, CLIENT_SECRET, Provider, running
from tests.support.shop import Shop


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running() as started:
        yield started


@dataclass(frozen=True, slots=True)
class Firm:
    """A tenant whose people come in by their firm's provider."""

    core: Core
    provider: Provider
    domain: str
    owner: Someone

    async def set(self, *, only_way: bool = False, **other: Any) -> None:
        values = {
            "owner_email": self.owner.email,
            "domain": self.domain,
            "issuer": self.provider.issuer,
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "only_way": only_way,
        }
        await set_provider(self.core, self.owner.caller, **(values | other))

    async def sent(self, email: str, then: str = "/boxes") -> Sent:
        found = await provider_for(self.core, email)
        assert found is not None
        return await send_to(self.core, found, email, then, stranger().address)

    async def back(self, sent: Sent, brought: dict[str, str]) -> Returned:
        return await come_back(
            self.core, sent.token, brought["state"], brought.get("code", ""), brought.get("iss"), stranger()
        )

    async def sign_in(self, email: str, subject: str) -> Visitor:
        sent = await self.sent(email)
        returned = await self.back(sent, self.provider.sign_in(sent.url, subject))
        assert returned.session is not None
        assert returned.next == "/boxes"
        visitor = await who(self.core, returned.session)
        assert visitor is not None
        return visitor


@pytest.fixture
async def firm(core: Core, shop: Shop, provider: Provider) -> Firm:
    """A development sandbox, which may speak with a provider on loopback."""
    opened = replace(core, webhook_loopback=True)
    domain = f"{secrets.token_hex(6)}.test"
    firm = Firm(opened, provider, domain, await someone(opened, shop.tenant, Role.OWNER, f"owner@{domain}"))
    await firm.set()
    return firm


async def test_an_invited_person_comes_in_by_the_firms_provider(firm: Firm) -> None:
    wim = await someone(firm.core, firm.owner.tenant, Role.VIEWER, f"wim@{firm.domain}")
    firm.provider.knows("wim-1", email=wim.email.upper(), email_verified=True)
    visitor = await firm.sign_in(wim.email, "wim-1")
    assert (visitor.id, visitor.way, visitor.second_factor) == (wim.id, "provider", True)
    assert "session.begin.provider" in await wim.audited()


async def test_who_was_not_invited_stays_out(firm: Firm) -> None:
    firm.provider.knows("eve-1", email=f"eve@{firm.domain}", email_verified=True)
    with pytest.raises(ProviderRefused):
        await firm.sign_in(f"eve@{firm.domain}", "eve-1")
    assert await run(firm.core, "SELECT FROM users WHERE email = $1", f"eve@{firm.domain}") == []


@pytest.mark.parametrize("claims", [{"email_verified": False}, {}, {"email_verified": 1}])
async def test_an_email_that_the_provider_does_not_vouch_for_lets_nobody_in(firm: Firm, claims: dict[str, Any]) -> None:
    firm.provider.knows("sub-2", email=firm.owner.email, **claims)
    with pytest.raises(ProviderRefused):
        await firm.sign_in(firm.owner.email, "sub-2")


async def test_a_provider_does_not_vouch_for_people_of_another_domain_or_tenant(
    firm: Firm, other_shop: Shop, shop: Shop
) -> None:
    colleague = await someone(firm.core, shop.tenant, Role.OWNER, f"boss@{secrets.token_hex(4)}.test")
    foreigner = await someone(firm.core, other_shop.tenant, Role.OWNER, f"foreigner@{firm.domain}")
    for victim in (colleague, foreigner):
        firm.provider.knows("eve-3", email=victim.email, email_verified=True)
        with pytest.raises(ProviderRefused):
            await firm.sign_in(f"whoever@{firm.domain}", "eve-3")


async def test_another_tenants_provider_is_not_offered_to_people_of_its_domain(firm: Firm, other_shop: Shop) -> None:
    foreigner = await someone(firm.core, other_shop.tenant, Role.OWNER, f"foreigner@{firm.domain}")
    assert await provider_for(firm.core, foreigner.email) is None
    # Who is not known is sent where those who are known are.
    assert await provider_for(firm.core, f"nobody@{firm.domain}") is not None
    assert await provider_for(firm.core, firm.owner.email) is not None


async def test_the_way_there_carries_pkce_state_and_nonce_and_asks_for_a_code(firm: Firm) -> None:
    sent = await firm.sent(firm.owner.email)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(sent.url).query).items()}
    ((state, nonce, verifier),) = await run(
        firm.core, "SELECT state, nonce, verifier FROM sign_ins WHERE domain = $1", firm.domain
    )
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    assert asked == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "scope": "openid email profile",
        "redirect_uri": f"{firm.core.admin_url}/sign-in/return",
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "login_hint": firm.owner.email,
    }
    assert CLIENT_SECRET not in sent.url


async def test_the_provider_gives_nothing_for_a_code_without_its_verifier(firm: Firm) -> None:
    firm.provider.knows("owner-9", email=firm.owner.email, email_verified=True)
    sent = await firm.sent(firm.owner.email)
    brought = firm.provider.sign_in(sent.url, "owner-9")
    stolen = "UPDATE sign_ins SET verifier = $2 WHERE domain = $1 RETURNING domain"
    await run(firm.core, stolen, firm.domain, secrets.token_urlsafe(48))
    with pytest.raises(ProviderAway):
        await firm.back(sent, brought)
    assert (await firm.sign_in(firm.owner.email, "owner-9")).id == firm.owner.id, "with its own it does"


async def test_an_address_that_is_given_to_somebody_else_does_not_give_the_account(firm: Firm) -> None:
    wim = await someone(firm.core, firm.owner.tenant, Role.ADMINISTRATOR, f"wim@{firm.domain}")
    for subject in ("wim-first", "wim-second"):
        firm.provider.knows(subject, email=wim.email, email_verified=True)
    for _ in range(2):
        assert (await firm.sign_in(wim.email, "wim-first")).id == wim.id
    with pytest.raises(ProviderKnowsAnother):
        await firm.sign_in(wim.email, "wim-second")
    assert (await wim.audited())[-1] == "session.refuse.subject"
    assert (await firm.sign_in(wim.email, "wim-first")).id == wim.id, "who it was before still comes in"
    await remove_user(firm.core, firm.owner.caller, Role.OWNER, wim.id)
    new = await someone(firm.core, firm.owner.tenant, Role.VIEWER, wim.email)
    assert (await firm.sign_in(wim.email, "wim-second")).id == new.id, "invited anew, with what they may"


async def test_another_provider_of_the_firm_begins_anew(firm: Firm) -> None:
    firm.provider.knows("at-the-first", email=firm.owner.email, email_verified=True)
    await firm.sign_in(firm.owner.email, "at-the-first")
    with running() as other:
        moved = replace(firm, provider=other)
        await moved.set()
        other.knows("at-the-second", email=firm.owner.email, email_verified=True)
        assert (await moved.sign_in(firm.owner.email, "at-the-second")).id == firm.owner.id
        other.knows("eve", email=firm.owner.email, email_verified=True)
        with pytest.raises(ProviderKnowsAnother):
            await moved.sign_in(firm.owner.email, "eve")


@pytest.mark.parametrize("length", [255, 256])
async def test_a_subject_is_as_long_as_the_standard_allows(firm: Firm, length: int) -> None:
    subject = "s" * length
    firm.provider.knows(subject, email=firm.owner.email, email_verified=True)
    if length == 255:
        await firm.sign_in(firm.owner.email, subject)
    else:
        with pytest.raises(ProviderRefused):
            await firm.sign_in(firm.owner.email, subject)


async def test_an_answer_to_somebody_elses_sign_in_is_not_taken(firm: Firm) -> None:
    firm.provider.knows("owner-4", email=firm.owner.email, email_verified=True)
    mine, eves = await firm.sent(firm.owner.email), await firm.sent(firm.owner.email)
    brought = firm.provider.sign_in(eves.url, "owner-4")
    with pytest.raises(SignInOver):
        await firm.back(mine, brought)
    # Nor with the right state but the code of another sign-in: the nonce in the token is another.
    again = await firm.sent(firm.owner.email)
    right = parse_qs(urlsplit(again.url).query)["state"][0]
    with pytest.raises(ProviderAway):
        await firm.back(again, brought | {"state": right})


async def test_an_answer_is_taken_once(firm: Firm) -> None:
    firm.provider.knows("owner-5", email=firm.owner.email, email_verified=True)
    sent = await firm.sent(firm.owner.email)
    brought = firm.provider.sign_in(sent.url, "owner-5")
    await firm.back(sent, brought)
    with pytest.raises(SignInOver):
        await firm.back(sent, brought)


async def test_an_answer_of_another_issuer_is_not_taken(firm: Firm) -> None:
    sent = await firm.sent(firm.owner.email)
    brought = firm.provider.sign_in(sent.url, "owner-5")
    with pytest.raises(ProviderRefused):
        await firm.back(sent, brought | {"iss": "https://elsewhere.test"})


async def test_who_says_no_at_the_provider_is_not_in(firm: Firm) -> None:
    sent = await firm.sent(firm.owner.email)
    with pytest.raises(ProviderRefused):
        await firm.back(sent, firm.provider.refuse(sent.url))


async def test_only_by_the_provider_means_no_password_and_no_reset(firm: Firm) -> None:
    await firm.set(only_way=True)
    with pytest.raises(OnlyByProvider):
        await by_password(firm.core, firm.owner.email, PASSWORD, stranger(), "/")
    await links.ask_for_reset(firm.core, firm.owner.email, stranger().address)
    assert await run(firm.core, "SELECT FROM mails WHERE recipient = $1", firm.owner.email) == []
    firm.provider.knows("owner-6", email=firm.owner.email, email_verified=True)
    assert (await firm.sign_in(firm.owner.email, "owner-6")).id == firm.owner.id
    # Others of the team go on as before.
    other = await someone(firm.core, firm.owner.tenant)
    assert (await by_password(firm.core, other.email, PASSWORD, stranger(), "/")).session is not None


async def test_a_step_up_at_the_provider_asks_anew_and_needs_the_same_person(firm: Firm) -> None:
    wim = await someone(firm.core, firm.owner.tenant, Role.ADMINISTRATOR, f"wim@{firm.domain}")
    firm.provider.knows("wim-7", email=wim.email, email_verified=True)
    firm.provider.knows("owner-7", email=firm.owner.email, email_verified=True)
    token = await begin(firm.core, wim.id, None, None, "provider")

    async def visitor() -> Visitor:
        found = await who(firm.core, token)
        assert found is not None
        return found

    sent = await send_again(firm.core, await visitor(), "/keys")
    asked = parse_qs(urlsplit(sent.url).query)
    assert (asked["prompt"], asked["max_age"]) == (["login"], ["0"])
    with pytest.raises(ProviderRefused):
        await firm.back(sent, firm.provider.sign_in(sent.url, "owner-7"))
    assert not (await visitor()).stepped_up
    sent = await send_again(firm.core, await visitor(), "/keys")
    assert await firm.back(sent, firm.provider.sign_in(sent.url, "wim-7")) == Returned(None, "/keys")
    assert (await visitor()).stepped_up


async def test_the_clients_secret_rests_sealed_and_follows_a_rotation(firm: Firm) -> None:
    ((row,),) = await run(firm.core, "SELECT p::text FROM identity_providers p WHERE domain = $1", firm.domain)
    assert CLIENT_SECRET not in row
    assert CLIENT_SECRET.encode().hex() not in row
    new, old = read_secrets(new_secret("k2"))[0], firm.core.vault.current
    await rewrap_for_people(replace(firm.core, vault=Vault([new, old])))
    after = replace(firm, core=replace(firm.core, vault=Vault([new])))
    firm.provider.knows("owner-8", email=firm.owner.email, email_verified=True)
    assert (await after.sign_in(firm.owner.email, "owner-8")).id == firm.owner.id
    await rewrap_for_people(replace(firm.core, vault=Vault([old, new])))


async def test_a_secret_that_is_not_said_again_stays(firm: Firm) -> None:
    await firm.set(client_secret="", only_way=True)
    (kept,) = await single_sign_on.list_providers(firm.core, firm.owner.tenant)
    assert single_sign_on._client(firm.core, kept).secret == CLIENT_SECRET
    assert kept.only_way


@pytest.mark.parametrize(
    "other",
    [
        {"domain": "somebody-elses.test"},
        {"domain": "no domain"},
        {"issuer": "http://provider.test"},
        {"issuer": "https://169.254.169.254/latest"},
        {"issuer": "https://intranet"},
        {"issuer": "ftp://provider.test"},
        {"client_id": ""},
    ],
)
async def test_what_cannot_be_a_provider_is_refused(firm: Firm, other: dict[str, str]) -> None:
    with pytest.raises((InvalidProvider, InvalidEmail)):
        await firm.set(**other)


async def test_a_domain_belongs_to_one_tenant(firm: Firm, other_shop: Shop) -> None:
    foreigner = await someone(firm.core, other_shop.tenant, Role.OWNER, f"foreigner@{firm.domain}")
    with pytest.raises(InvalidProvider):
        await replace(firm, owner=foreigner).set()


async def test_without_leave_nobody_speaks_with_this_machine(firm: Firm, core: Core) -> None:
    assert not core.webhook_loopback
    with pytest.raises(InvalidProvider):
        await replace(firm, core=core).set()
    with pytest.raises(ProviderAway):
        await openid.discover(firm.provider.issuer, loopback=False)


async def test_who_comes_back_from_the_provider_has_the_attempt_given_back(firm: Firm) -> None:
    firm.provider.knows("owner-20", email=firm.owner.email, email_verified=True)
    office = stranger()
    found = await provider_for(firm.core, firm.owner.email)
    assert found is not None
    for _ in range(FREE_FAILURES_OF_AN_ADDRESS + 1):
        sent = await send_to(firm.core, found, firm.owner.email, "/", office.address)
        brought = firm.provider.sign_in(sent.url, "owner-20")
        await come_back(firm.core, sent.token, brought["state"], brought["code"], brought.get("iss"), office)
