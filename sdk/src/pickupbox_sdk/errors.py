"""What can go wrong, an exception for each: `PickupboxError` is all of it, `ApiError` is what the service refused."""

from typing import Any


class PickupboxError(Exception):
    """Something went wrong between the shop and Pickupbox."""


class ConnectionFailed(PickupboxError):
    """No answer came. What was asked may have been done all the same: every call but simulate_event can be repeated."""

    def __init__(self, message: str, attempts: int = 1) -> None:
        super().__init__(message, attempts)
        self.message = message
        self.attempts = attempts

    def __str__(self) -> str:
        return f"{self.message} ({self.attempts} {'attempt' if self.attempts == 1 else 'attempts'})"


class UnexpectedAnswer(PickupboxError):
    """What came is no answer of the service: the base address may be wrong, or a proxy answered in its place."""

    def __init__(self, status: int, content_type: str = "") -> None:
        super().__init__(status, content_type)
        self.status = status
        self.content_type = content_type

    def __str__(self) -> str:
        # Never the body: it may hold a PIN.
        return f"not an answer of Pickupbox: status {self.status}, {self.content_type or 'no content type'}"


class ApiError(PickupboxError):
    """The service refused. A code that this version has no class for is an ApiError too."""

    code = ""
    status = 0

    def __init__(
        self,
        code: str,
        message: str,
        request_id: str = "",
        details: Any = None,
        status: int = 0,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, message, request_id, details, status, retry_after)
        self.code = code
        self.message = message
        self.request_id = request_id
        self.details = details
        self.status = status
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.message} ({self.code}, request {self.request_id or 'unknown'})"


class InvalidRequest(ApiError):
    """The request body is not JSON.

    Send one JSON value of at most 64 KiB in UTF-8, with the header Content-Type: application/json.
    """

    code = "invalid_request"
    status = 400


class InvalidApiKey(ApiError):
    """The API key is missing or not valid.

    Send the header Authorization: Bearer <API_KEY> with a key of this environment that is not revoked.
    """

    code = "invalid_api_key"
    status = 401


class NotFound(ApiError):
    """There is nothing at this path.

    Compare the path with the list of operations in the OpenAPI document.
    """

    code = "not_found"
    status = 404


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


class MethodNotAllowed(ApiError):
    """The path exists, but not with this method.

    Use one of the methods in the Allow header.
    """

    code = "method_not_allowed"
    status = 405


class Conflict(ApiError):
    """The request conflicts with the state of things.

    Read the shipment and decide again.
    """

    status = 409


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


class ValidationFailed(ApiError):
    """The request breaks the schema.

    Each item of details says where (loc), what (msg) and which rule (type).
    """

    code = "validation_failed"
    status = 422


class RateLimited(ApiError):
    """Too many requests with this API key.

    Wait as many seconds as Retry-After says.
    """

    code = "rate_limited"
    status = 429


class InternalError(ApiError):
    """Something went wrong on our side.

    Repeat the request; if it stays, report its request_id.
    """

    code = "internal_error"
    status = 500


class TemporarilyUnavailable(ApiError):
    """The service cannot do this right now; whether it was done is unknown.

    Wait as many seconds as Retry-After says and repeat the same request: every operation can be repeated.
    """

    code = "temporarily_unavailable"
    status = 503


def _all(kind: type[ApiError]) -> list[type[ApiError]]:
    return [kind, *(deeper for child in kind.__subclasses__() for deeper in _all(child))]


BY_CODE = {kind.code: kind for kind in _all(ApiError) if kind.code}
_BY_STATUS: dict[int, type[ApiError]] = {404: NotFound, 409: Conflict}


def error_class(code: str, status: int) -> type[ApiError]:
    """The class of a code; of one that is not known, the class of its kind."""
    return BY_CODE.get(code) or _BY_STATUS.get(status, ApiError)
