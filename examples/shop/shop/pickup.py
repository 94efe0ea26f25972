"""What a shop does with pickup boxes: offer them, reserve, cancel, and be told."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pickupbox_sdk import Box, EventType, Pickupbox, ShipmentNotCancellable, Status, webhooks

from shop.orders import Orders


@dataclass(frozen=True)
class Pickup:
    service: Pickupbox
    orders: Orders
    webhook_secret: str

    def boxes(self) -> dict[str, Box]:
        return {box.id: box for box in self.service.list_boxes()}

    def reserve(self, order: Any) -> None:
        """Safe to repeat: the same order gets the same compartment and PIN."""
        made = self.service.create_shipment(order["box_id"], order["number"], customer_name=order["customer"])
        self.orders.keep_pin(made.id, made.pickup_pin)

    def cancel(self, order: Any) -> None:
        """The order changes when the webhook comes; it does not if it was too late."""
        with suppress(ShipmentNotCancellable):
            self.service.cancel_shipment(order["shipment_id"])

    def receive(self, body: bytes, headers: dict[str, str]) -> None:
        """Take a webhook. An exception from here is answered with an error, and the webhook comes again."""
        event = webhooks.verify(body, headers, self.webhook_secret)  # before anything else
        shipment_id, order = event.data.shipment_id, self.orders.find(event.data.external_order_id)
        if order and event.type == EventType.DOOR_AVAILABLE and event.data.status == Status.FAULT:
            made = self.service.retry_shipment(shipment_id)  # safe to repeat, too
            self.orders.keep_pin(made.id, made.pickup_pin)
        if order and event.type == EventType.LOADED and not order["pin"]:  # its answer was lost: ask, which is audited
            self.orders.keep_pin(shipment_id, self.service.get_pickup_pin(shipment_id).pickup_pin)
        if self.orders.tell(event):
            logging.info("%s: %s", order["number"], event.type)
            if event.type == EventType.LOADED:
                logging.info("%s: here your shop writes to the customer", order["number"])
