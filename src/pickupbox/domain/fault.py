"""A fault by a person's word: what is refused."""

from pickupbox.domain.errors import Conflict


class ShipmentNotFaultable(Conflict):
    """Only a reserved or loaded shipment can be declared faulty.

    Look at the shipment: it was picked up, was cancelled, has expired or is faulted already.
    """

    code = "shipment_not_faultable"
