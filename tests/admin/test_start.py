"""What the administration says when it starts."""

from dataclasses import replace

import pytest
from starlette.types import Message
from structlog.testing import capture_logs

from pickupbox.admin.app import make_app
from pickupbox.database.connection import Database
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core

HTTPS = "https://admin.firm.example"


@pytest.mark.parametrize(
    ("environment", "admin_url", "proxies", "warned"),
    [
        ("production", HTTPS, 0, True),
        ("production", HTTPS, 1, False),
        ("production", "http://127.0.0.1:8090", 0, False),
        ("sandbox", HTTPS, 0, False),
    ],
)
async def test_who_forgot_to_name_the_proxies_is_told(
    core: Core, settings: Settings, environment: str, admin_url: str, proxies: int, *, warned: bool
) -> None:
    own = replace(core, db=Database(settings.database_url), environment=environment, admin_url=admin_url)
    app = make_app(own, settings.model_copy(update={"admin_proxies": proxies}))
    coming: list[Message] = [{"type": "lifespan.shutdown"}, {"type": "lifespan.startup"}]

    async def receive() -> Message:
        return coming.pop()

    async def send(_: Message) -> None:
        pass

    with capture_logs() as lines:
        await app({"type": "lifespan", "state": {}}, receive, send)
    assert ("no_proxies_named" in [line["event"] for line in lines]) == warned
