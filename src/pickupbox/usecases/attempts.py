"""Attempts to prove who one is are counted before they are judged, so that many at once gain nothing."""

import hashlib
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

from pickupbox.database import sign_ins
from pickupbox.database.sign_ins import Attempts
from pickupbox.domain.people import (
    FREE_FAILURES,
    FREE_FAILURES_OF_AN_ADDRESS,
    TooManyAttempts,
    seconds_closed,
)
from pickupbox.usecases.core import Core


@dataclass(frozen=True, slots=True)
class Counted:
    """What failures are counted of, and how many are free."""

    hash: bytes
    free: int


def _counted(what: str, of: str, free: int = FREE_FAILURES) -> Counted:
    return Counted(hashlib.sha256(f"{what}\n{of}".encode()).digest(), free)


def of_email(email: str) -> Counted:
    return _counted("e-mail", email)


def of_address(address: str | None) -> Counted:
    return _counted("address", _place_of(address), FREE_FAILURES_OF_AN_ADDRESS)


def of_person(user_id: str) -> Counted:
    """Of someone who is known already: a second factor, a step-up."""
    return _counted("person", user_id)


def of_reset(email: str) -> Counted:
    return _counted("reset", email)


def of_reset_address(address: str | None) -> Counted:
    return _counted("reset address", _place_of(address), FREE_FAILURES_OF_AN_ADDRESS)


def of_provider_address(address: str | None) -> Counted:
    """Of sign-ins that were begun at a provider. Apart from passwords: who turns back there closes nobody's."""
    return _counted("provider address", _place_of(address), FREE_FAILURES_OF_AN_ADDRESS)


def _place_of(address: str | None) -> str:
    """What one subscriber has: an IPv4 address, or the /64 of an IPv6 address, which holds 2^64 of them."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return address or "unknown"
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Network((int(parsed), 64), strict=False))
    return str(parsed)


async def take(core: Core, *counted: Counted) -> None:
    """Count one attempt of each; refused if one of them must wait."""
    hashes = [one.hash for one in counted]
    async with core.db.transaction() as tx:
        # Looked at before anything is written: who must wait must not fill the table with e-mails meanwhile.
        wait = await sign_ins.seconds_closed(tx, hashes)
        known = await sign_ins.lock_attempts(tx, hashes) if wait == 0 else {}
        wait = max([wait, *(found.seconds_closed for found in known.values())])
        if wait == 0:
            await sign_ins.save_attempts(tx, {one.hash: _one_more(known[one.hash], one.free) for one in counted})
    if wait > 0:
        raise TooManyAttempts(retry_after=wait)


async def succeeded(core: Core, *counted: Counted) -> None:
    """It was right: a person's failures are forgotten; an address has just this attempt given back."""
    async with core.db.transaction() as tx:
        known = await sign_ins.lock_attempts(tx, [one.hash for one in counted])
        left = {one.hash: _given_back(known[one.hash], one) for one in counted}
        await sign_ins.save_attempts(tx, left)


def _one_more(before: Attempts, free: int) -> Attempts:
    failures = before.failures + 1
    return Attempts(failures, seconds_closed(failures, free))


def _given_back(before: Attempts, counted: Counted) -> Attempts:
    """One person's password must not buy guesses at the others' of the same address."""
    if counted.free == FREE_FAILURES_OF_AN_ADDRESS:
        return Attempts(max(0, before.failures - 1), 0)
    return Attempts(0, 0)
