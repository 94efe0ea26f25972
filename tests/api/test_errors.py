"""Error bodies: the envelope, the framework's own, request ids, and what never leaks."""

import asyncio
from urllib.parse import quote

import asyncpg
import httpx
import pytest
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.api.additions import SERVED
from tests.api.calls import UNKNOWN_SHIPMENT, call
from tests.api.contract import BY_SHIPMENT, SANDBOX_PATH, Operation, breaches
from tests.api.places import away, served
from tests.support.databases import SERVER_URL
from tests.support.shop import Shop, client_of, open_shop

FRAMEWORK_BODY = [operation for operation in BY_SHIPMENT if operation.path != SANDBOX_PATH]
BAD_IDS = ["x" * 65, "\x00", "a\nb", "a\x1fb", "a\x7fb", "\x01" * 65]


def with_id(operation: Operation, shipment_id: str) -> str:
    return operation.path.replace("{shipment_id}", quote(shipment_id, safe=""))


@pytest.mark.parametrize("operation", FRAMEWORK_BODY, ids=lambda operation: operation.name)
@pytest.mark.parametrize("bad_id", BAD_IDS)
async def test_a_bad_id_is_422_with_the_frameworks_body(shop: Shop, operation: Operation, bad_id: str) -> None:
    answer = await shop.http.request(operation.method, with_id(operation, bad_id))
    assert answer.status_code == 422
    assert breaches(answer.json(), "HTTPValidationError") == []
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["path", "shipment_id"]]
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("bad_id", BAD_IDS)
async def test_a_bad_id_of_the_sandbox_operation_is_422_with_the_envelope(shop: Shop, bad_id: str) -> None:
    answer = await shop.simulate(quote(bad_id, safe=""), "loaded")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "validation_failed")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    assert [set(problem) for problem in answer.json()["error"]["details"]] == [{"loc", "msg", "type"}]


async def test_a_path_that_ends_in_a_newline_is_another_path(shop: Shop) -> None:
    shipment_id = await shop.reserved()
    for path in ("/boxes", f"/shipments/{shipment_id}/pickup-pin", "/events"):
        answer = await shop.http.get(f"{path}%0A")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("operation", BY_SHIPMENT, ids=lambda operation: operation.name)
@pytest.mark.parametrize("strange_id", ["x" * 64, "x", " ", "é", "📦", "..", "%", "a?b", "'; --", "\ufffd"])
async def test_an_id_that_is_only_strange_is_not_found(shop: Shop, operation: Operation, strange_id: str) -> None:
    path = with_id(operation, strange_id).replace("/../", "/%2e%2e/")
    body = {"event": "loaded"} if operation.body else None
    answer = await shop.http.request(operation.method, path, json=body)
    assert answer.status_code == 404
    assert breaches(answer.json(), "PublicErrorResponse") == []


@pytest.mark.parametrize(
    "path", ["/nothing", "/", "/boxes/", "/shipments/", "/shipments/x/nothing", "/shipments//cancel"]
)
async def test_an_unknown_path_is_not_found(shop: Shop, path: str) -> None:
    answer = await shop.http.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert breaches(answer.json(), "PublicErrorResponse") == []


@pytest.mark.parametrize("path", ["/", "/v2/boxes", "/boxes", "/v1boxes", "/metrics", "/sandbox"])
async def test_an_unknown_path_outside_the_base_address_is_not_found_either(app: ASGIApp, path: str) -> None:
    async with client_of(app) as client:
        answer = await client.get(f"http://test{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("operation", SERVED, ids=lambda operation: operation.name)
async def test_a_wrong_method_is_told_the_right_one(shop: Shop, operation: Operation) -> None:
    right = {other.method for other in SERVED if other.path == operation.path}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - right:
        answer = await shop.http.request(method, with_id(operation, "x"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
        assert breaches(answer.json(), "PublicErrorResponse") == []
        assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == right


async def test_every_answer_has_a_request_id_equal_to_that_of_its_error(shop: Shop, app: ASGIApp) -> None:
    seen = []
    async with client_of(app) as stranger:
        for operation in SERVED:
            seen += [await call(shop, operation), await call(shop, operation, http=stranger)]
        seen += [await stranger.get("http://test/livez"), await stranger.get("/openapi.json")]
    for answer in seen:
        if answer.status_code >= 400:
            assert answer.json()["error"]["request_id"] == answer.headers["x-request-id"]
    assert len({answer.headers["x-request-id"] for answer in seen}) == len(seen)


@pytest.mark.parametrize("own", ["a", "x" * 64, "Order-7_retry.2", "8f14e45f-ceea-467f-a8e5-b6b1f1f1f1f1"])
async def test_a_sane_request_id_of_the_caller_is_taken_over(shop: Shop, own: str) -> None:
    answer = await shop.http.get(f"/shipments/{UNKNOWN_SHIPMENT}", headers={"x-request-id": own})
    assert answer.headers["x-request-id"] == own
    assert answer.json()["error"]["request_id"] == own


@pytest.mark.parametrize("own", ["", "x" * 65, "a b", "a\tb", "ä", "a;b", '{"a":1}', "<script>"])
async def test_any_other_request_id_is_replaced(shop: Shop, own: str) -> None:
    answer = await shop.http.get("/boxes", headers={"x-request-id": own.encode("latin-1")})
    assert answer.headers["x-request-id"] != own
    assert answer.headers["x-request-id"].startswith("req_")


async def test_an_unexpected_error_says_its_request_id_and_nothing_else(own_settings: Settings) -> None:
    async with served(own_settings) as (core, app):
        shop = await open_shop(core, app)
        async with core.db.connection() as connection:
            await connection.execute("ALTER TABLE shipments RENAME COLUMN customer_name TO secret_column")
        async with shop.http:
            answers = [await shop.reserve("order-1", customer_name="Ada"), await shop.read("x")]
            # What does not need that column goes on.
            assert (await shop.boxes()).status_code == 200
    for answer in answers:
        assert answer.status_code == 500
        assert answer.json() == {
            "error": {
                "code": "internal_error",
                "message": "Something went wrong on our side.",
                "request_id": answer.headers["x-request-id"],
            }
        }


@pytest.mark.parametrize("operation", SERVED, ids=lambda operation: operation.name)
async def test_while_the_database_is_away_every_operation_says_when_to_come_back(
    shop: Shop, settings: Settings, operation: Operation
) -> None:
    async with away(settings) as app, client_of(app, shop.api_key) as client:
        answer = await call(shop, operation, http=client)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "temporarily_unavailable")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    assert int(answer.headers["retry-after"]) >= 1
    assert "127.0.0.1" not in answer.text


async def test_a_malformed_key_is_401_even_while_the_database_is_away(settings: Settings) -> None:
    async with away(settings) as app, client_of(app, "nonsense") as client:
        assert (await client.get("/boxes")).status_code == 401


async def test_the_service_comes_back_with_the_database(own_settings: Settings) -> None:
    name = own_settings.database_url.rpartition("/")[2]
    async with served(own_settings) as (core, app):
        shop = await open_shop(core, app)
        async with shop.http:
            before = (await shop.reserve("order-1")).json()
            await _rename_database(name, f"{name}_away")
            assert {(await shop.read(before["id"])).status_code for _ in range(3)} == {503}
            await _rename_database(f"{name}_away", name)
            for _ in range(50):
                again = await shop.reserve("order-1")
                if again.status_code != 503:
                    break
                await asyncio.sleep(0.1)
            assert again.json() == before


async def _rename_database(name: str, new_name: str) -> None:
    connection = await asyncpg.connect(SERVER_URL)
    async with asyncio.timeout(20):
        while True:
            await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
            try:
                await connection.execute(f'ALTER DATABASE "{name}" RENAME TO "{new_name}"')
                break
            except asyncpg.ObjectInUseError:  # a backend that was told to go, or a vacuum that has just come
                continue
    await connection.close()


async def test_requests_that_were_given_up_do_not_hold_up_their_neighbours(shop: Shop) -> None:
    asked = [asyncio.create_task(shop.reserve(f"order-{number}")) for number in range(12)]
    # Until the first is on its way to PostgreSQL and the others gather behind it.
    await asyncio.sleep(0.002)
    for given_up in asked[1::2]:
        given_up.cancel()
    async with asyncio.timeout(5):
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert {answer.status_code for answer in answers[::2] if isinstance(answer, httpx.Response)} == {201}
    assert not any(isinstance(answer, BaseException) for answer in answers[::2])
    assert (await shop.reserve("order-1")).status_code == 201


async def test_a_body_that_breaks_off_is_an_invalid_request(core: Core, shop: Shop) -> None:
    """The caller goes away in the middle: nothing is reserved, and nothing is an error of ours."""
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    request = httpx.Request("POST", "http://test/v1/shipments", headers=shop.http.headers)
    headers = [(name.lower(), value) for name, value in request.headers.raw]
    scope = {"type": "http", "method": "POST", "path": "/v1/shipments", "headers": headers, "query_string": b""}
    await make_app(core, "memory://")(scope, receive, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 400
