"""A database of a test's own, for tests that change it under the service."""

from collections.abc import Iterator

import pytest

from pickupbox.settings import Settings
from tests.support.databases import own_database


@pytest.fixture
def own_settings() -> Iterator[Settings]:
    with own_database() as settings:
        yield settings
