"""The sandbox that the desk speaks with, over the public API, and what its refusals mean for who sits there."""

from pickupbox_sdk import (
    ApiError,
    AsyncPickupbox,
    ConnectionFailed,
    InvalidApiKey,
    PickupboxError,
    UnexpectedAnswer,
)

from pickupbox.desk import DeskError

_EXPORTS = "Paste the `export` lines that `pickupbox demo` prints, or give --base-url and --api-key."


def client_of(base_url: str | None, api_key: str | None) -> AsyncPickupbox:
    if not base_url or not api_key:
        missing = "BASE_URL" if not base_url else "API_KEY"
        raise DeskError(f"Which sandbox? {missing} is not set. {_EXPORTS}", 2)
    if api_key.startswith("pbx_live_"):
        raise DeskError("This is a key of production, and this command is for sandboxes. Use a pbx_test_… key.", 2)
    try:
        return AsyncPickupbox(api_key, base_url, max_retries=3, deadline=10.0)
    except ValueError as error:
        raise DeskError(f"{error}. {_EXPORTS}", 2) from None


def is_passing(error: PickupboxError) -> bool:
    """Whether asking again may go better: the service is away or busy, or something before it is."""
    if isinstance(error, ApiError | UnexpectedAnswer):
        return error.status in (429, 500, 502, 503, 504)
    return isinstance(error, ConnectionFailed)


def sentence_of(error: PickupboxError, base_url: str) -> DeskError:
    """What to tell about an exception of the SDK, with the cure."""
    match error:
        case InvalidApiKey():
            return DeskError(
                f"{base_url} does not know this API key. A demo makes a new one at each start, and one may have been "
                f"revoked. {_EXPORTS}",
                2,
            )
        case ConnectionFailed():
            return DeskError(
                f"Nothing answers at {base_url}: {error.message}\nIs the sandbox running (`just demo`)? {_EXPORTS}"
            )
        case UnexpectedAnswer():
            return DeskError(f"What answers at {base_url} is {error}.\nA base address ends with /v1. {_EXPORTS}", 2)
        case _:
            return DeskError(str(error))
