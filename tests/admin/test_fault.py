"""An operator's word: a fault that no door reported."""

from pickupbox.domain.roles import Role
from tests.admin.office import Office


async def test_an_operators_word_faults_a_shipment_holds_its_compartment_and_is_noted(office: Office) -> None:
    operator = await office.sign_in(Role.OPERATOR)
    shipment = await office.shop.reserved("order-1", "loaded")
    code = (await office.shop.read(shipment)).json()["compartment_code"]
    page = f"/shipments/{shipment}/fault"
    assert "order-1" in (await operator.get(page)).text
    for wrong in ({"reason": "", "typed": code}, {"reason": "The parcel is wet", "typed": "Z9"}):
        assert (await operator.post(page, wrong)).status_code == 422
        assert (await office.shop.read(shipment)).json()["status"] == "loaded"
    assert (await operator.post(page, {"reason": "The parcel is wet", "typed": code.lower()})).status_code == 303
    read = (await office.shop.read(shipment)).json()
    assert (read["status"], read["compartment_state"]) == ("fault", "awaiting_removal")
    async with office.core.db.connection() as connection:
        entry = await connection.fetchrow("SELECT actor, action FROM audit WHERE object = $1", shipment)
    assert tuple(entry or ()) == (operator.id, "shipment.fault: The parcel is wet")
    assert "The parcel is wet" in (await operator.get(f"/shipments/{shipment}")).text


async def test_what_is_over_cannot_be_faulted(office: Office) -> None:
    operator = await office.sign_in(Role.OPERATOR)
    shipment = await office.shop.reserved("order-1", "loaded", "picked_up")
    code = (await office.shop.read(shipment)).json()["compartment_code"]
    answer = await operator.post(f"/shipments/{shipment}/fault", {"reason": "too late", "typed": code})
    assert answer.status_code == 409
    assert "Only a reserved or loaded shipment can be declared faulty." in answer.text
    assert "can be cancelled" not in answer.text
    assert (await office.shop.read(shipment)).json()["status"] == "picked_up"
