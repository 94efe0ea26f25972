"""Fixtures: Debian's Chromium, a broker of its own for each test, and a box with twelve doors and its page."""

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright
from playwright.async_api import Page as Tab

from tests.box.playing import Page, a_page
from tests.box.street import Broker

DOORS = tuple(f"{column}{row}" for column in "AB" for row in range(1, 7))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    yield broker
    broker.kill()


@pytest_asyncio.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium") or "/usr/bin/chromium",
            args=["--no-sandbox"],  # CI runs as root, where Chromium has no sandbox; it sees our own page alone
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture
async def box(broker: Broker, tmp_path: Path) -> AsyncIterator[Page]:
    async with a_page(broker, tmp_path, compartments=DOORS) as page:
        yield page


@pytest.fixture
def picture(tmp_path: Path) -> Callable[[str], Path]:
    """Where a screenshot goes: the folder of PICKUPBOX_PICTURES, if CI wants to keep them."""
    folder = Path(os.environ.get("PICKUPBOX_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return lambda name: folder / f"{name}.png"


@asynccontextmanager
async def a_tab(browser: Browser, url: str, width: int = 1280, height: int = 900, **manners: Any) -> AsyncIterator[Tab]:
    """The page as somebody sees it; an error in its script or a breach of its policy fails the test."""
    context = await browser.new_context(viewport={"width": width, "height": height}, **manners)
    tab = await context.new_page()
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    try:
        await tab.goto(url)
        await tab.locator(".cell").first.wait_for()
        yield tab
    finally:
        await context.close()
    assert wrong == []
