"""Fixtures. The sandbox in memory comes with the package, as it does for shops."""

from collections.abc import Iterator

import pytest
from scripted import Script, serving


@pytest.fixture
def script() -> Iterator[Script]:
    with serving() as script:
        yield script
