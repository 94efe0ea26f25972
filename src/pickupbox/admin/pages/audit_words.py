"""Audited acts in words. What is not here is shown as it is noted."""

from collections.abc import Mapping
from dataclasses import dataclass

from pickupbox.admin.words import _

# The beginnings of actions that can be chosen to filter by.
GROUPS = (
    "pin",
    "shipment",
    "removal",
    "door",
    "box",
    "compartment",
    "device",
    "key",
    "endpoint",
    "replay",
    "user",
    "session",
    "second_factor",
    "identity",
    "tenant",
    "audit",
    "sandbox",
)


@dataclass(frozen=True, slots=True)
class Said:
    words: str
    detail: str


def catalogue() -> dict[str, str]:
    """From an action, or the beginning of one, to words in the reader's language."""
    return {
        "pin.reveal": _("Revealed a PIN"),
        "shipment.reserve": _("Reserved a compartment"),
        "shipment.cancel": _("Cancelled a shipment"),
        "shipment.retry": _("Tried a shipment again"),
        "shipment.fault": _("Declared a fault"),
        "removal.confirm": _("Confirmed that a compartment is empty"),
        "removal.still_has_contents": _("Said that a compartment still has contents"),
        "removal.emergency": _("Vouched for an emergency release"),
        "door.open": _("Opened a door"),
        "box.add": _("Added a box"),
        "box.activate": _("Offered a box to shops"),
        "box.deactivate": _("Took a box out of the offer"),
        "box": _("Changed a box"),
        "compartment.in_service": _("Put a door into service"),
        "compartment.out_of_service": _("Took a door out of service"),
        "device.enroll": _("Enrolled a device"),
        "device.revoke": _("Revoked a device"),
        "key.issue": _("Made an API key"),
        "key.rotate": _("Rotated an API key"),
        "key.keep": _("Let an API key live on"),
        "key.revoke": _("Revoked an API key"),
        "endpoint.add": _("Added a webhook endpoint"),
        "endpoint.change": _("Changed a webhook endpoint"),
        "endpoint.rotate": _("Rotated a signing secret"),
        "endpoint.test": _("Sent a test event"),
        "endpoint.disable": _("Disabled a webhook endpoint"),
        "endpoint.enable": _("Enabled a webhook endpoint"),
        "endpoint.remove": _("Removed a webhook endpoint"),
        "replay.event": _("Replayed an event"),
        "replay.since": _("Replayed events since a time"),
        "replay.stop": _("Stopped a replay"),
        "user.add": _("Added a person"),
        "user.invite": _("Invited a person"),
        "user.invite_again": _("Invited a person again"),
        "user.invitation.use": _("Accepted an invitation"),
        "user.reset.ask": _("Asked for a new password"),
        "user.reset.use": _("Set a new password by mail"),
        "user.role": _("Changed a role"),
        "user.remove": _("Removed a person"),
        "user.change_password": _("Changed their password"),
        "user.change_name": _("Changed their name"),
        "session.begin": _("Signed in"),
        "session.refuse": _("Was refused at sign-in"),
        "session.end": _("Signed out"),
        "session.end_others": _("Ended all other sessions"),
        "session.step_up": _("Confirmed that it is still them"),
        "second_factor.set": _("Set up a second factor"),
        "second_factor.codes": _("Made new recovery codes"),
        "second_factor.remove": _("Removed a second factor"),
        "identity.set": _("Set up single sign-on"),
        "identity.remove": _("Removed single sign-on"),
        "tenant.add": _("Added the tenant"),
        "tenant.rate": _("Changed the rate limit"),
        "audit.export": _("Exported the audit trail"),
        "sandbox": _("Simulated an event"),
    }


def say(action: str, known: Mapping[str, str]) -> Said:
    """The longest beginning that has words; the rest is detail."""
    name, _colon, detail = action.partition(": ")
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        beginning = ".".join(parts[:length])
        if beginning in known:
            rest = " → ".join(parts[length:])
            return Said(known[beginning], ": ".join(filter(None, (rest, detail))))
    return Said(name, detail)
