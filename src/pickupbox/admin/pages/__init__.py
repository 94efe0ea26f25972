"""The pages, one module per noun; each ends with the list of what it serves."""

from pickupbox.admin.pages import (
    account,
    audit,
    box,
    boxes,
    deliveries,
    emergency,
    endpoints,
    fault,
    keys,
    lab,
    overview,
    removal,
    requests,
    shipment,
    shipments,
    sign_in,
    team,
)
from pickupbox.admin.routes import Page

PAGES: list[Page] = [
    *overview.PAGES,
    *shipments.PAGES,
    *shipment.PAGES,
    *fault.PAGES,
    *lab.PAGES,
    *boxes.PAGES,
    *box.PAGES,
    *removal.PAGES,
    *emergency.PAGES,
    *keys.PAGES,
    *endpoints.PAGES,
    *deliveries.PAGES,
    *requests.PAGES,
    *audit.PAGES,
    *sign_in.PAGES,
    *account.PAGES,
    *team.PAGES,
]
