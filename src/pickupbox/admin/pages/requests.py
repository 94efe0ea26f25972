"""Requests that the tenant's keys made of the API: by request id, by key, by status."""

from urllib.parse import urlencode

from starlette.responses import Response

from pickupbox.admin.routes import get
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.database import tenants
from pickupbox.domain.roles import Act
from pickupbox.usecases.request_log import ANY, KEPT_DAYS, Statuses, find_requests, list_requests

STATUSES = {
    "2xx": Statuses(200, 299),
    "4xx": Statuses(400, 499),
    "5xx": Statuses(500, 599),
    "errors": Statuses(400, 599),
}
ID_LENGTH = 64


async def list_all(visit: Visit) -> Response:
    request_id = visit.query("id")[:ID_LENGTH].replace("\0", "")
    key_id, status = visit.query("key"), visit.query("status")
    status = status if status in STATUSES else ""
    async with visit.core.db.connection() as connection:
        keys = {key.id: key for key in await tenants.list_keys(connection, visit.tenant)}
    key_id = key_id if key_id in keys else ""
    if request_id:
        page = await find_requests(visit.core, visit.tenant, request_id)
    else:
        page = await list_requests(
            visit.core,
            visit.tenant,
            visit.query("after"),
            key_id=key_id or None,
            statuses=STATUSES.get(status, ANY),
        )
    more = f"/requests?{urlencode({'key': key_id, 'status': status, 'after': page.next})}" if page.next else ""
    return visit.page(
        "requests/list.html",
        page=page,
        more=more,
        keys=keys,
        key_options=[("", _("Any")), *((key.id, f"{key.name} …{key.shown[-4:]}") for key in keys.values())],
        request_id=request_id,
        key_id=key_id,
        chosen=status,
        days=KEPT_DAYS,
    )


PAGES = [get("/requests", Act.SEE_INTEGRATIONS, list_all)]
