"""The fixture for pytest. Nothing else is imported until a test asks for it."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pickupbox_sdk.testing.sandbox import Sandbox


@pytest.fixture
def pickupbox_sandbox() -> "Sandbox":
    """A new Pickupbox sandbox in memory."""
    from pickupbox_sdk.testing.sandbox import Sandbox

    return Sandbox()
