"""The catalogue of refusals."""

import re
from collections.abc import Iterator

import pytest

from pickupbox.domain import errors, fault, people  # noqa: F401 - they refuse, too
from pickupbox.domain.errors import InvalidSandboxTransition, RateLimited, Refusal

# Every code that the contract and the design name.
CODES = [
    "invalid_request",
    "validation_failed",
    "invalid_api_key",
    "not_found",
    "shipment_not_found",
    "box_not_found",
    "method_not_allowed",
    "event_not_found",
    "external_order_conflict",
    "no_compartment_available",
    "shipment_not_cancellable",
    "shipment_not_faulted",
    "compartment_not_released",
    "pin_not_available",
    "invalid_sandbox_transition",
    "not_awaiting_removal",
    "removal_cycle_missing",
    "second_person_needed",
    "door_code_wrong",
    "box_not_connected",
    "not_allowed",
    "form_not_ours",
    "rate_limited",
    # Of a fault by a person's word: domain/fault.py.
    "shipment_not_faultable",
    # Of people and how they come in: domain/people.py.
    "invalid_email",
    "invalid_name",
    "invalid_password",
    "email_taken",
    "person_not_found",
    "last_owner",
    "role_not_yours",
    "team_full",
    "link_not_valid",
    "sign_in_refused",
    "code_refused",
    "too_many_attempts",
    "sign_in_over",
    "only_by_provider",
    "provider_refused",
    "provider_knows_another",
    "provider_away",
    "invalid_provider",
    "internal_error",
    "temporarily_unavailable",
]


def refusals(base: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    """The classes that can be raised: those with a code of their own."""
    for kind in base.__subclasses__():
        if "code" in vars(kind):
            yield kind
        yield from refusals(kind)


def test_the_codes_are_those_of_the_contract_and_each_is_used_once() -> None:
    assert sorted(kind.code for kind in refusals()) == sorted(CODES)


@pytest.mark.parametrize("kind", list(refusals()))
def test_every_refusal_has_a_code_a_message_and_a_cure(kind: type[Refusal]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)
    for text in (kind.message(), kind.cure()):
        assert re.fullmatch(r"[A-Z][^\n]{10,}\.", text)
        assert "  " not in text
    assert kind.message() != kind.cure()


@pytest.mark.parametrize("kind", list(refusals()))
def test_a_refusal_says_its_own_message_not_its_parents(kind: type[Refusal]) -> None:
    assert "__doc__" in vars(kind)
    assert str(kind()) == kind.message()
    assert kind.message() not in {other.message() for other in refusals() if other is not kind}


def test_a_refusal_carries_details_and_when_to_come_back() -> None:
    refusal = RateLimited(details={"a": 1}, retry_after=2.5)
    assert (refusal.details, refusal.retry_after) == ({"a": 1}, 2.5)
    bare = RateLimited()
    assert (bare.details, bare.retry_after) == (None, None)


def test_no_class_between_refusal_and_the_concrete_ones_has_a_code() -> None:
    """`Conflict` groups; it must never reach a shop by itself."""
    assert not hasattr(errors.Conflict, "code")
    assert issubclass(InvalidSandboxTransition, errors.Conflict)
