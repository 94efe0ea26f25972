"""A Pickupbox sandbox in memory for a shop's own tests; in pytest, the fixture `pickupbox_sandbox`."""

from pickupbox_sdk.testing.sandbox import Delivery, Sandbox
from pickupbox_sdk.testing.transport import SandboxTransport

__all__ = ["Delivery", "Sandbox", "SandboxTransport"]
