"""What is live: a door that opens changes on every page that shows it, at once, and nobody polls."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack

import httpx
import pytest

from pickupbox.admin.admission import SESSION
from pickupbox.admin.live import MOST_OF_ONE
from pickupbox.domain.doors import Happening
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.removal import open_for_removal
from tests.admin.office import Office
from tests.admin.tabs import an_administration, measure, tab
from tests.devices.street import Journal, add_device, operator, place_of
from tests.support.shop import Shop

PAGES = 200
BOXES = 20
SECONDS = 0.5
SAID = {"open": Happening.DOOR_OPENED, "close": Happening.DOOR_CLOSED}


@pytest.fixture(scope="module")
def served(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with an_administration(settings, tmp_path_factory.mktemp("admin")) as address:
        yield address


@pytest.mark.slow
async def test_a_report_of_an_open_door_is_on_200_open_pages_within_half_a_second(
    office: Office, shop: Shop, served: str
) -> None:
    boxes = [await shop.add_box() for _ in range(BOXES)]
    journals = {box: Journal(shop.core, await add_device(shop, box)) for box in boxes}
    tokens = [(await office.sign_in(Role.VIEWER)).token for _ in range(PAGES // MOST_OF_ONE)]
    p95 = await measure(served, tokens, boxes, PAGES, lambda box, way: journals[box].tell(SAID[way], "A1"))
    assert p95 < SECONDS


async def test_a_removal_goes_on_by_itself_on_the_phone(office: Office, shop: Shop, served: str) -> None:
    journal = Journal(shop.core, await add_device(shop))
    shipment = await shop.reserved("A", "loaded", "fault")
    code = (await place_of(shop.core, shipment))[1]
    token = (await office.sign_in(Role.OPERATOR)).token
    async with asyncio.timeout(20), tab(served, token, f"watch=removal:{shipment}") as phone:
        await phone.read_until('data-screen="open_it"')
        command = await open_for_removal(shop.core, operator(shop), shipment)
        await phone.read_until('data-screen="opening"')
        await journal.tell(Happening.DOOR_OPENED, code, command.id)
        await phone.read_until('data-screen="empty_it"')
        await journal.tell(Happening.DOOR_CLOSED, code, command.id)
        await phone.read_until('data-screen="confirm"')


async def test_todays_numbers_follow(office: Office, shop: Shop, served: str) -> None:
    token = (await office.sign_in(Role.VIEWER)).token
    # Long: an event is counted when no older transaction of the whole PostgreSQL runs, and other tests have theirs.
    async with asyncio.timeout(40), tab(served, token, "watch=tenant:&watch=figures:") as page:
        await page.read_until("event: figures", "0]]}")
        for number in (1, 2):  # the second a moment after a look
            await shop.reserved(f"order-{number}")
            await page.read_until("event: figures", f"{number}]]}}")


async def test_nobody_hears_of_another_tenants_box(office: Office, other_shop: Shop, served: str) -> None:
    journal = Journal(other_shop.core, await add_device(other_shop))
    token = (await office.sign_in(Role.OWNER)).token
    async with tab(served, token, f"watch=box:{other_shop.box_id}") as page:
        await journal.tell(Happening.DOOR_OPENED, "A1")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await page.read_until("door-A1")


async def test_one_person_has_so_many_live_pages_and_no_more(office: Office, shop: Shop, served: str) -> None:
    token, colleague = (await office.sign_in(Role.VIEWER)).token, (await office.sign_in(Role.VIEWER)).token
    watch = f"watch=box:{shop.box_id}"
    async with asyncio.timeout(20), AsyncExitStack() as pages, httpx.AsyncClient(base_url=served) as http:
        for _ in range(MOST_OF_ONE):
            page = await pages.enter_async_context(tab(served, token, watch))
            await page.read_until("event: cabinet")
        async with http.stream("GET", f"/live?{watch}", headers={"Cookie": f"{SESSION}={token}"}) as refused:
            assert (refused.status_code, refused.headers.get("retry-after")) == (429, "60")
        async with tab(served, colleague, watch) as page:
            await page.read_until("event: cabinet")
