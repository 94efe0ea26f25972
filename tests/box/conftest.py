"""Fixtures: a broker of its own for each test, that may be killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box.street import Broker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    yield broker
    broker.kill()
