"""An operator's word that something is wrong with a shipment: it is faulted, and its compartment is held."""

from starlette.responses import Response

from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.domain.roles import Act
from pickupbox.usecases.fault import declare_fault
from pickupbox.usecases.read import read

REASON_LENGTH = 200


async def ask(visit: Visit) -> Response:
    shipment = await read(visit.core, visit.tenant, visit.path("shipment_id"))
    return visit.page("shipment/fault.html", shipment=shipment, reason="", error="")


async def declare(visit: Visit) -> Response:
    shipment = await read(visit.core, visit.tenant, visit.path("shipment_id"))
    form = await visit.form()
    reason = " ".join(form.get("reason", "").split())[:REASON_LENGTH]
    error = ""
    if len(reason) < 3:
        error = _("Say in a few words what is wrong.")
    elif form.get("typed", "").upper() != shipment.compartment_code.upper():
        error = _("That is not the door's code.")
    if error:
        return visit.page("shipment/fault.html", 422, shipment=shipment, reason=reason, error=error)
    await declare_fault(visit.core, visit.caller, shipment.id, reason)
    return visit.go(f"/shipments/{shipment.id}", _("The fault is declared. What lies inside awaits removal."))


PAGES = [
    get("/shipments/{shipment_id}/fault", Act.DECLARE_FAULT, ask),
    post("/shipments/{shipment_id}/fault", Act.DECLARE_FAULT, declare),
]
