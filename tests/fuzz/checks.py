"""What we look at in every answer beside the checks of Schemathesis, and the one refusal that we stand by."""

import re
from collections.abc import Sequence
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData

INTERNAL = re.compile(r"\b(?:ten|key|aud|whe|dev|cmd|evt)_[a-z][a-z0-9]*_[0-9a-z]{16,}|\bpbx_(?:test|live)_")


@schemathesis.check
class AnswerIsOurs:
    """Every answer names its request; none shows an internal identifier, a key, or anything of a stranger."""

    def __init__(self, secrets: Sequence[str] = (), foreign: Sequence[str] = ()) -> None:
        self._secrets = secrets
        self._foreign = foreign

    def after_response(self, _: CheckContext, response: Response, case: Case) -> None:
        request_id = response.headers.get("x-request-id", [""])[0]
        assert request_id, "the answer has no X-Request-Id"
        body = _body(response)
        if "error" in body:
            assert body["error"]["request_id"] == request_id, "error.request_id is not X-Request-Id"
        shown = f"{response.headers} {response.text}"
        # The feed alone shows the ids of events: they are what it is asked by.
        shown_ids = shown.replace('"id":"evt_', "") if case.operation.label == "GET /events" else shown
        assert INTERNAL.search(shown_ids) is None, "the answer shows an internal identifier or a key"
        assert not [secret for secret in self._secrets if secret in shown], "the answer shows what is a stranger's"
        if 200 <= response.status_code < 300:
            assert not self._foreign_in(case), "a stranger's box, shipment or event was found"

    def _foreign_in(self, case: Case) -> bool:
        box_id = case.body.get("box_id") if isinstance(case.body, dict) else None
        named = (box_id, case.path_parameters.get("shipment_id"), (case.query or {}).get("after"))
        return any(isinstance(one, str) and one in self._foreign for one in named)


def _body(response: Response) -> dict[str, Any]:
    body = response.json()
    assert isinstance(body, dict), "the answer is not an object"
    return body


def keep_failure(_: HookContext, failure: Failure, __: Case, response: Response) -> bool:
    """U+0000 is refused, although the contract's strings have no pattern: PostgreSQL cannot store it."""
    nul_sent = "\\u0000" in str(response.request.body)
    nul_refused = response.status_code == 422 and "U+0000" in (response.text or "")
    return not (isinstance(failure, RejectedPositiveData) and nul_sent and nul_refused)
