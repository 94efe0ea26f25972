"""The box's first certificate, for the code that `pickupbox box enroll` printed."""

import asyncio
import json
import os
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from pickupbox.box.identity import IdentityError, keep_first, new_key

PATH = "/devices/v1/certificates"
SECONDS = 30
ANSWER_BYTES = 64 * 1024
LOOPBACK = ("127.0.0.1", "localhost", "::1")


async def enroll(file: Path, device: str, service: str, code: str) -> None:
    """Make a key, exchange the code for its certificate, and keep both in the file."""
    address = urlsplit(service)
    if address.scheme != "https" and not (address.scheme == "http" and address.hostname in LOOPBACK):
        raise IdentityError("the service's address is not https://…")
    if not os.access(file.parent, os.W_OK):  # said before the code is used up
        raise IdentityError(f"{file.parent} is not a folder that can be written to")
    key, request = await new_key(device)
    asked = {"device": device, "code": code.strip().upper(), "request": request}
    chain = await asyncio.to_thread(_exchange, service.rstrip("/") + PATH, asked)
    await keep_first(file, device, key, chain)


def _exchange(url: str, asked: dict[str, str]) -> str:
    request = Request(url, json.dumps(asked).encode(), {"content-type": "application/json"})  # noqa: S310 - checked above
    try:
        with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            chain = json.loads(answer.read(ANSWER_BYTES))["chain"]
    except HTTPError as refused:
        raise IdentityError(f"the service refused the code ({refused.code}): enroll the box again") from None
    except (OSError, HTTPException) as error:
        raise IdentityError(f"the service does not answer: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise IdentityError("that is not the service: its answer makes no sense") from None
    if not isinstance(chain, str):
        raise IdentityError("that is not the service: its answer makes no sense")
    return chain
