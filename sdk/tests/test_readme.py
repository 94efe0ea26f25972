"""The examples of the README run as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

from pickupbox_sdk import Pickupbox
from pickupbox_sdk.testing import Sandbox

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_run(
    pickupbox_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PICKUPBOX_API_KEY", pickupbox_sandbox.api_key)
    monkeypatch.setenv("PICKUPBOX_BASE_URL", pickupbox_sandbox.base_url)
    monkeypatch.setenv("WEBHOOK_SECRET", pickupbox_sandbox.webhook_secret)
    real = Pickupbox.__init__

    def in_memory(self: Pickupbox, *args: Any, **options: Any) -> None:
        real(self, *args, **{"transport": pickupbox_sandbox.transport} | options)

    monkeypatch.setattr(Pickupbox, "__init__", in_memory)
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, str(README), "exec"), names)  # noqa: S102 - our own README
    assert capsys.readouterr().out == "A1 reserved\nreserved order-1042\n"
    names["test_the_customer_is_called_when_the_parcel_is_ready"](Sandbox())
    assert capsys.readouterr().out == "tell the customer of order-1\n"
    assert names["receive"](b"{}", {}) == 400
    assert len(BLOCKS) == 4
