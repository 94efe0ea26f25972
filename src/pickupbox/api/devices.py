"""Where a box exchanges its one-time code for a certificate. Outside the base address: a box has no API key.

Guessing is bounded by the code itself: ten wrong ones end it.
"""

from typing import Annotated

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from pickupbox.api.requests import body_of, core_of
from pickupbox.certificates import REQUEST_BYTES, RequestRefusedError
from pickupbox.domain.errors import NotFound, TemporarilyUnavailable, ValidationFailed
from pickupbox.domain.identifiers import DEVICE_PATTERN
from pickupbox.usecases.devices import AuthorityMissingError, exchange

PATH = "/devices/v1/certificates"


class CodeRefused(NotFound):
    """There is no device that waits for this code.

    Enroll the box again: a code works once, for 24 hours, and ends after ten wrong ones.
    """


class CodeExchange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    device: Annotated[str, StringConstraints(pattern=DEVICE_PATTERN)]
    code: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    request: Annotated[str, StringConstraints(max_length=REQUEST_BYTES)]


async def exchange_code(request: Request) -> Response:
    asked = await body_of(request, CodeExchange)
    try:
        chain = await exchange(core_of(request), asked.device, asked.code, asked.request)
    except RequestRefusedError as refused:
        problem = {"loc": ["body", "request"], "msg": str(refused), "type": "certificate_request"}
        raise ValidationFailed(details=[problem]) from None
    except AuthorityMissingError as missing:
        raise TemporarilyUnavailable(retry_after=60) from missing
    if chain is None:
        raise CodeRefused
    return Response(orjson.dumps({"chain": chain}), 201, {"cache-control": "no-store"}, media_type="application/json")
