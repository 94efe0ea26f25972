"""Every refusal, with its stable code. The docstring is its catalogue: what it means, then the cure."""

from typing import Any


class Refusal(Exception):  # noqa: N818 - a refusal is an expected answer, not an error of ours
    """Something was asked that cannot be done."""

    code: str

    def __init__(self, *, details: Any = None, retry_after: float | None = None) -> None:
        super().__init__(self.message())
        self.details = details
        self.retry_after = retry_after

    @classmethod
    def message(cls) -> str:
        """What it means: the docstring's first paragraph, on one line."""
        return " ".join((cls.__doc__ or "").split("\n\n")[0].split())

    @classmethod
    def cure(cls) -> str:
        """What to do about it: the docstring's second paragraph, on one line."""
        return " ".join((cls.__doc__ or "").split("\n\n")[1].split())


class InvalidRequest(Refusal):
    """The request body is not JSON.

    Send one JSON value of at most 64 KiB in UTF-8, with the header Content-Type: application/json.
    """

    code = "invalid_request"


class InvalidApiKey(Refusal):
    """The API key is missing or not valid.

    Send the header Authorization: Bearer <API_KEY> with a key of this environment that is not revoked.
    """

    code = "invalid_api_key"


class NotFound(Refusal):
    """There is nothing at this path.

    Compare the path with the list of operations in the OpenAPI document.
    """

    code = "not_found"


class ShipmentNotFound(NotFound):
    """There is no such shipment.

    Use an id that a create or retry of the same tenant returned.
    """

    code = "shipment_not_found"


class BoxNotFound(NotFound):
    """There is no such box, or it is not active.

    Use an id that GET /boxes returns now.
    """

    code = "box_not_found"


class EventNotFound(NotFound):
    """There is no such event.

    Use the id of an event that GET /events or a webhook of the same tenant told, or leave after out to begin with
    the oldest.
    """

    code = "event_not_found"


class MethodNotAllowed(Refusal):
    """The path exists, but not with this method.

    Use one of the methods in the Allow header.
    """

    code = "method_not_allowed"


class Conflict(Refusal):
    """The request conflicts with the state of things.

    Read the shipment and decide again.
    """


class ExternalOrderConflict(Conflict):
    """This order already has a shipment in another box.

    Read details.existing_shipment_id; cancel it, or use another external_order_id.
    """

    code = "external_order_conflict"


class NoCompartmentAvailable(Conflict):
    """The box has no free compartment.

    Choose another box, or try again when a door_available event of this box arrives; if the box is out of reach, some
    minutes after it.
    """

    code = "no_compartment_available"


class ShipmentNotCancellable(Conflict):
    """Only a reserved or loaded shipment can be cancelled.

    Read the shipment: it was picked up, has expired or is faulted.
    """

    code = "shipment_not_cancellable"


class ShipmentNotFaulted(Conflict):
    """Only a faulted shipment can be retried.

    Read the shipment; a new order needs a new external_order_id.
    """

    code = "shipment_not_faulted"


class CompartmentNotReleased(Conflict):
    """The faulted shipment's compartment has not been released yet.

    Wait for its door_available event, then retry.
    """

    code = "compartment_not_released"


class PinNotAvailable(Conflict):
    """The PIN can be read only while the shipment is reserved or loaded.

    Read the shipment: it is finished, and its PIN opens nothing.
    """

    code = "pin_not_available"


class InvalidSandboxTransition(Conflict):
    """The sandbox event does not fit the shipment's state; nothing was changed.

    Read the shipment and send an event that its status and compartment_state allow.
    """

    code = "invalid_sandbox_transition"


class NotAwaitingRemoval(Conflict):
    """The shipment's compartment does not await removal.

    Read the shipment: only a held one of a cancelled, expired or faulted shipment is emptied.
    """

    code = "not_awaiting_removal"


class RemovalCycleMissing(Conflict):
    """The door has not gone from closed to open to closed since it was opened for removal.

    Open it for removal, empty it, close it, and confirm then. Whatever opens it in between voids that.
    """

    code = "removal_cycle_missing"


class SecondPersonNeeded(Conflict):
    """An emergency release needs the word of two different people.

    Have a second person look inside and say the same.
    """

    code = "second_person_needed"


class DoorCodeWrong(Conflict):
    """The code that was typed is not the one on this compartment's door.

    Stand before the door, and type the code that is written on it.
    """

    code = "door_code_wrong"


class BoxNotConnected(Conflict):
    """The box has no device that could open its doors.

    Enroll one: pickupbox box enroll.
    """

    code = "box_not_connected"


class NotAllowed(Refusal):
    """Your role does not allow this.

    Ask an owner or administrator of your team, who can do it or change your role.
    """

    code = "not_allowed"


class FormNotOurs(Refusal):
    """This form was not sent from a page of ours, or the page was too old.

    Go back, load the page again, and send the form once more.
    """

    code = "form_not_ours"


class ValidationFailed(Refusal):
    """The request breaks the schema.

    Each item of details says where (loc), what (msg) and which rule (type).
    """

    code = "validation_failed"


class RateLimited(Refusal):
    """Too many requests with this API key.

    Wait as many seconds as Retry-After says.
    """

    code = "rate_limited"


class InternalError(Refusal):
    """Something went wrong on our side.

    Repeat the request; if it stays, report its request_id.
    """

    code = "internal_error"


class TemporarilyUnavailable(Refusal):
    """The service cannot do this right now; whether it was done is unknown.

    Wait as many seconds as Retry-After says and repeat the same request: every operation can be repeated.
    """

    code = "temporarily_unavailable"
