"""docs/errors.md: every code with its status, its cause and its cure, from the refusals themselves."""

import json
from enum import StrEnum

from pickupbox.api.errors import envelope, status_of
from pickupbox.domain import errors
from pickupbox.domain.errors import Refusal


class Repeat(StrEnum):
    """Whether it helps to send the same request again."""

    NO = "no: the same request gets the same answer"
    LATER = "later, when the cure has come"
    YES = "yes, the same request, after a pause"


API: dict[type[Refusal], Repeat] = {
    errors.InvalidRequest: Repeat.NO,
    errors.InvalidApiKey: Repeat.NO,
    errors.NotFound: Repeat.NO,
    errors.BoxNotFound: Repeat.NO,
    errors.EventNotFound: Repeat.NO,
    errors.ShipmentNotFound: Repeat.NO,
    errors.MethodNotAllowed: Repeat.NO,
    errors.CompartmentNotReleased: Repeat.LATER,
    errors.ExternalOrderConflict: Repeat.NO,
    errors.InvalidSandboxTransition: Repeat.LATER,
    errors.NoCompartmentAvailable: Repeat.LATER,
    errors.PinNotAvailable: Repeat.NO,
    errors.ShipmentNotCancellable: Repeat.NO,
    errors.ShipmentNotFaulted: Repeat.NO,
    errors.ValidationFailed: Repeat.NO,
    errors.RateLimited: Repeat.YES,
    errors.InternalError: Repeat.YES,
    errors.TemporarilyUnavailable: Repeat.YES,
}
# No answer of the API: people meet these in the administration and at the command line.
ELSEWHERE: tuple[type[Refusal], ...] = (
    errors.BoxNotConnected,
    errors.DoorCodeWrong,
    errors.FormNotOurs,
    errors.NotAllowed,
    errors.NotAwaitingRemoval,
    errors.RemovalCycleMissing,
    errors.SecondPersonNeeded,
)

_EXAMPLE = json.loads(bytes(envelope(errors.NoCompartmentAvailable(), "req_5f3e9d0c8b7a6f5e4d3c2b1a").body))
_BEGINNING = f"""# Errors

For the shop's developer: every code that the API answers with, what caused it, and what to do. This page is written
from [domain/errors.py](../src/pickupbox/domain/errors.py) by `just docs`.

Decide by `error.code`; it stays. `message` is for people and may change. Say the `request_id` when you ask for help:
it is the header `X-Request-Id` of the same answer, and stands in the administration under *Requests*.

```json
{json.dumps(_EXAMPLE, indent=2)}
```

A path whose `shipment_id` is no identifier is answered with 422 and the body `{{"detail": [ … ]}}` instead. Every
operation can be repeated: a create by its order, a retry by the faulted shipment, a cancel by its shipment.

"""


def known() -> set[type[Refusal]]:
    """Every refusal that has a code."""
    return {
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, Refusal) and "code" in vars(one)
    }


def page() -> str:
    missing = {one.__name__ for one in known() ^ {*API, *ELSEWHERE}}
    if missing:
        raise RuntimeError(f"documentation/refusals.py does not say where these are met: {sorted(missing)}")
    parts = [_BEGINNING, "## All codes\n\n| status | code | repeat |\n|---|---|---|\n"]
    parts += [
        f"| {status_of(one())} | [`{one.code}`](#{one.code}) | {repeat.split(':')[0].split(',')[0]} |\n"
        for one, repeat in API.items()
    ]
    parts.append("\n")
    parts += [_entry(one, f"Status {status_of(one())}. Repeat: {repeat}.") for one, repeat in API.items()]
    parts.append("## Not of the API\n\nWhat the administration and the command line refuse with.\n\n")
    parts += [_entry(one, "") for one in ELSEWHERE]
    return "".join(parts).rstrip() + "\n"


def _entry(refusal: type[Refusal], more: str) -> str:
    said = f"**Cause.** {refusal.message()}\n**Cure.** {refusal.cure()}"
    return f"### `{refusal.code}`\n\n{f'{more}\n\n' if more else ''}{_escaped(said)}\n\n".replace(
        "\n**Cure", "<br>\n**Cure"
    )


def _escaped(text: str) -> str:
    """What is in angle brackets is a placeholder, not a tag."""
    return text.replace("<API_KEY>", "`<API_KEY>`")
