"""Between our values and those of the HTTP client, for both clients."""

import json
import sys
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import urlencode

import httpx2

from pickupbox_sdk.answers import Answer
from pickupbox_sdk.attempts import Failure
from pickupbox_sdk.calls import Call

# Before these, nothing of the request was on its way.
_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.LocalProtocolError,
    httpx2.UnsupportedProtocol,
)
_LASTING = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)


@dataclass(frozen=True, slots=True)
class Address:
    """Where requests go, and the headers that each has."""

    base_url: str
    headers: httpx2.Headers


def address_of(api_key: str, base_url: str) -> Address:
    if not api_key:
        raise ValueError("api_key is empty")
    if not base_url.startswith(("http://", "https://")) or not httpx2.URL(base_url).host:
        raise ValueError(f"base_url is the address of an environment, such as https://…/v1, not {base_url!r}")
    agent = f"pickupbox-sdk/{version('pickupbox-sdk')} python/{sys.version_info.major}.{sys.version_info.minor}"
    accepted = {"Accept": "application/json", "Accept-Encoding": "gzip, deflate", "Connection": "keep-alive"}
    headers = {"Authorization": f"Bearer {api_key}", "User-Agent": agent, **accepted}
    return Address(base_url.rstrip("/"), httpx2.Headers(headers))


def request_of(call: Call[Any], address: Address, timeout: float) -> httpx2.Request:
    """Built whole: letting the HTTP client merge it from its defaults takes twice as long."""
    url = address.base_url + call.path
    if call.params:
        url += "?" + urlencode(call.params)
    extensions = {"timeout": {"connect": timeout, "read": timeout, "write": timeout, "pool": timeout}}
    request = httpx2.Request(call.method, url, headers=address.headers, content=_content(call), extensions=extensions)
    if call.body is not None:
        request.headers["Content-Type"] = "application/json"
    return request


def _content(call: Call[Any]) -> bytes | None:
    if call.body is None:
        return None
    return json.dumps(call.body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def answer_of(response: httpx2.Response) -> Answer:
    return Answer(response.status_code, response.headers, response.content)


def failure_of(error: httpx2.RequestError) -> Failure:
    return Failure(error, sent=not isinstance(error, _UNSENT), passing=not isinstance(error, _LASTING))
