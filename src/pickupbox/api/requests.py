"""What an endpoint takes from a request."""

import asyncio
from typing import Annotated, Any
from urllib.parse import parse_qsl

import orjson
from pydantic import BaseModel, StringConstraints, TypeAdapter
from pydantic import ValidationError as Invalid
from starlette.requests import ClientDisconnect, Request

from pickupbox.api.errors import InvalidPath, problem_of
from pickupbox.domain.errors import InvalidRequest, ValidationFailed
from pickupbox.usecases.core import Caller, Core

BODY_LIMIT = 64 * 1024
BODY_SECONDS = 10.0
SHIPMENT_ID_PATTERN = r"^[^\u0000-\u001f\u007f/]+$"

_shipment_id = TypeAdapter(Annotated[str, StringConstraints(max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$")])


def core_of(request: Request) -> Core:
    core: Core = request.scope["pickupbox.core"]
    return core


def caller_of(request: Request) -> Caller:
    caller: Caller = request.scope["pickupbox.caller"]
    return caller


def shipment_id_of(request: Request) -> str:
    """The path's shipment id; raises InvalidPath if it is too long or holds a control character."""
    try:
        return _shipment_id.validate_python(request.path_params["shipment_id"])
    except Invalid as invalid:
        problems = invalid.errors(include_url=False)
        raise InvalidPath([{**problem, "loc": ("shipment_id",)} for problem in problems]) from None


def query_of[Model: BaseModel](request: Request, model: type[Model]) -> Model:
    """The query as the model says; raises ValidationFailed if a parameter is bad, missing, unknown or repeated."""
    # What is not UTF-8 stays recognisable: the model refuses it.
    text = request.scope["query_string"].decode(errors="surrogateescape")
    values: dict[str, str] = {}
    problems: list[dict[str, Any]] = []
    for name, value in parse_qsl(text, keep_blank_values=True, errors="surrogateescape"):
        shown = name.encode(errors="replace").decode()
        if shown in values:
            problems.append({"loc": ["query", shown], "msg": "Parameter should be given once", "type": "repeated"})
        values[shown] = value
    try:
        found = model.model_validate(values)
    except Invalid as invalid:
        broken = invalid.errors(include_url=False, include_input=False)
        problems = [problem_of(problem, "query") for problem in broken] + problems
    if problems:
        raise ValidationFailed(details=problems)
    return found


async def body_of[Model: BaseModel](request: Request, model: type[Model]) -> Model:
    """The body as the model says; InvalidRequest if it is not JSON, ValidationFailed if it breaks the schema."""
    content_type = request.headers.get("content-type", "application/json")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise InvalidRequest
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise InvalidRequest
    except (ClientDisconnect, TimeoutError):
        raise InvalidRequest from None
    try:
        orjson.loads(body)  # the model's own reading would take NaN for JSON
        return model.model_validate_json(bytes(body))
    except orjson.JSONDecodeError:
        raise InvalidRequest from None
    except Invalid as invalid:
        problems = invalid.errors(include_url=False, include_input=False)
    if problems[0]["type"] == "json_invalid":
        raise InvalidRequest
    raise ValidationFailed(details=[problem_of(problem, "body") for problem in problems])
