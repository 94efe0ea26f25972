"""The operations: seven of the contract, and the additions. An endpoint translates and does nothing else."""

from starlette.requests import Request
from starlette.responses import Response

from pickupbox.api.bodies import answer, box_body, events_answer, shipment_body
from pickupbox.api.errors import InvalidPath, problem_of
from pickupbox.api.requests import body_of, caller_of, core_of, query_of, shipment_id_of
from pickupbox.api.schemas import EventsQuery, OrderQuery, PublicShipmentCreate, SandboxTransitionRequest
from pickupbox.database import boxes
from pickupbox.domain.errors import InvalidRequest, ValidationFailed
from pickupbox.usecases.cancel import cancel
from pickupbox.usecases.feed import read_feed
from pickupbox.usecases.read import find_by_order, read
from pickupbox.usecases.reserve import Reserved, Wish, reserve
from pickupbox.usecases.retry import retry
from pickupbox.usecases.reveal_pin import reveal_pin
from pickupbox.usecases.simulate import simulate

# A PIN must not stay in any cache on its way.
NO_STORE = {"cache-control": "no-store"}


async def list_boxes(request: Request) -> Response:
    async with core_of(request).db.connection() as connection:
        found = await boxes.list_active(connection, caller_of(request).tenant)
    return answer({"items": [box_body(box) for box in found]})


async def create_shipment(request: Request) -> Response:
    wish = await body_of(request, PublicShipmentCreate)
    reserved = await reserve(
        core_of(request),
        caller_of(request),
        Wish(
            wish.box_id,
            wish.external_order_id,
            wish.customer_name,
            wish.reservation_ttl_minutes,
            wish.pickup_ttl_minutes,
        ),
    )
    return _reserved(reserved)


async def get_shipment(request: Request) -> Response:
    shipment_id = shipment_id_of(request)
    return answer(shipment_body(await read(core_of(request), caller_of(request).tenant, shipment_id)))


async def get_pickup_pin(request: Request) -> Response:
    shipment_id = shipment_id_of(request)
    pin = await reveal_pin(core_of(request), caller_of(request), shipment_id)
    return answer({"shipment_id": shipment_id, "pickup_pin": pin}, headers=NO_STORE)


async def cancel_shipment(request: Request) -> Response:
    shipment_id = shipment_id_of(request)
    return answer(shipment_body(await cancel(core_of(request), caller_of(request).tenant, shipment_id)))


async def retry_shipment(request: Request) -> Response:
    shipment_id = shipment_id_of(request)
    return _reserved(await retry(core_of(request), caller_of(request), shipment_id))


async def simulate_event(request: Request) -> Response:
    try:
        shipment_id = shipment_id_of(request)
        wanted = await body_of(request, SandboxTransitionRequest)
    # Whatever is wrong with this operation's request is 422 with the envelope.
    except InvalidPath as invalid:
        raise ValidationFailed(details=[problem_of(problem, "path") for problem in invalid.problems]) from None
    except InvalidRequest as invalid:
        raise ValidationFailed(details=[{"loc": ["body"], "msg": str(invalid), "type": "json_invalid"}]) from None
    shipment = await simulate(core_of(request), caller_of(request).tenant, shipment_id, wanted.event)
    return answer(shipment_body(shipment))


async def list_events(request: Request) -> Response:
    asked = query_of(request, EventsQuery)
    return events_answer(await read_feed(core_of(request), caller_of(request).tenant, asked.after, asked.limit))


async def find_shipments(request: Request) -> Response:
    asked = query_of(request, OrderQuery)
    found = await find_by_order(core_of(request), caller_of(request).tenant, asked.external_order_id)
    return answer({"items": [shipment_body(shipment) for shipment in found]})


def _reserved(reserved: Reserved) -> Response:
    headers = {**NO_STORE, "idempotent-replayed": "true"} if reserved.replayed else NO_STORE
    return answer(shipment_body(reserved.shipment) | {"pickup_pin": reserved.pin}, 201, headers)
