"""Devices: give a box an identity, keep it renewed, take it back."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from pickupbox.certificates import Authority, is_due, public_key_of, revocation_list, sign
from pickupbox.database import devices
from pickupbox.database.connection import Connection
from pickupbox.telemetry import DEVICES
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core

CODE_HOURS = 24
CODE_FAILURES = 10
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # those that people do not mistake for each other
CERTIFICATES = 10  # of one device that count at a time: a renewal may be repeated when its answer was lost


class AuthorityMissingError(Exception):
    """There is no signing key in the settings; the text says what to do."""

    def __init__(self) -> None:
        super().__init__(
            "There is nothing to sign certificates with: make a key with `pickupbox box authority new` and set it as "
            "PICKUPBOX_DEVICE_AUTHORITY in all processes."
        )


@dataclass(frozen=True, slots=True)
class Enrollment:
    """A new device; the only time that its code is seen."""

    device: str
    code: str


async def enroll(core: Core, operator: Caller, box_id: str) -> Enrollment | None:
    """A device for the box, and the code by which it gets its certificate, once and within 24 hours.

    It takes the place of one that was never seen. None if there is no such box, or a device speaks for it already.
    """
    authority_of(core)
    enrollment = Enrollment(core.new_id("dev"), _new_code())
    kept = core.vault.device_code_hmac(enrollment.device, enrollment.code)
    async with core.db.transaction() as tx:
        for unseen in await devices.lock_unseen(tx, operator.tenant, box_id):
            await _revoke(core, tx, operator, unseen)
        if not await devices.insert(tx, operator.tenant, enrollment.device, box_id, kept, CODE_HOURS):
            return None
        await note(core, tx, operator, "device.enroll", enrollment.device)
    return enrollment


async def device_for(core: Core, operator: Caller, box_id: str) -> str | None:
    """The device that speaks for the box, enrolled if there is none; None if someone else is enrolling one."""
    async with core.db.connection() as connection:
        known = await devices.device_of(connection, operator.tenant, box_id)
    if known is not None:
        return known
    enrolled = await enroll(core, operator, box_id)
    return enrolled.device if enrolled else None


async def exchange(core: Core, device_id: str, code: str, request_pem: str) -> str | None:
    """The chain of the device's first certificate, for its code; None whatever is wrong with device or code."""
    authority, key = authority_of(core), public_key_of(request_pem)
    async with core.db.transaction() as tx:
        waiting = await devices.lock_waiting(tx, device_id, CODE_FAILURES)
        if waiting is None:
            return None
        if not core.vault.is_device_code(device_id, code, waiting.code_hmac):
            await devices.note_wrong_code(tx, device_id)
            return None
        signed = sign(authority, device_id, key, waiting.at)
        await devices.save_certificate(tx, device_id, signed.serial, signed.until)
    return signed.chain


async def renew(core: Core, device_id: str, request_pem: str) -> str | None:
    """The chain of a new certificate for a device that the broker knew by one; None if it is not due or revoked.

    It may be asked again as long as the one before counts: the answer may have been lost.
    """
    authority, key = authority_of(core), public_key_of(request_pem)
    async with core.db.transaction() as tx:
        device = await devices.lock_renewable(tx, device_id)
        if device is None or not is_due(device.first_until, device.at) or device.certificates >= CERTIFICATES:
            return None
        signed = sign(authority, device_id, key, device.at)
        await devices.save_certificate(tx, device_id, signed.serial, signed.until)
    return signed.chain


async def revoke(core: Core, operator: Caller, device_id: str) -> bool:
    """Take a device's identity back; False if the tenant has no such live one."""
    async with core.db.transaction() as tx:
        return await _revoke(core, tx, operator, device_id)


async def _revoke(core: Core, tx: Connection, operator: Caller, device_id: str) -> bool:
    revoked = await devices.revoke(tx, operator.tenant, device_id)
    if revoked:
        await note(core, tx, operator, "device.revoke", device_id)
    return revoked


async def count_devices(core: Core) -> None:
    """Tell the metrics how many devices are there, and how many are not."""
    async with core.db.connection() as connection:
        counted = await devices.count_by_presence(connection)
    for presence, number in counted.items():
        DEVICES.labels(presence).set(number)


async def revocations(core: Core) -> str:
    """The list for the broker: every revoked certificate that has not ended, PEM."""
    authority = authority_of(core)
    async with core.db.connection() as connection:
        revoked = await devices.list_revoked(connection)
    return revocation_list(authority, revoked, datetime.now(UTC))


def authority_of(core: Core) -> Authority:
    if core.authority is None:
        raise AuthorityMissingError
    return core.authority


def _new_code() -> str:
    """80 bits of chance, in four groups of four."""
    return "-".join("".join(secrets.choice(CODE_LETTERS) for _ in range(4)) for _ in range(4))
