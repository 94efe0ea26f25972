"""Housekeeping of what boxes leave behind: journals that another one followed, and messages that were set aside."""

from datetime import UTC, datetime

from pickupbox.database import aside
from pickupbox.database.aside import Unread
from pickupbox.database.partitions import name_of
from pickupbox.domain.doors import Happening
from pickupbox.usecases.core import Core
from pickupbox.usecases.devices import revoke
from pickupbox.usecases.doors import Taken, take_entries
from pickupbox.usecases.retention import JOURNAL_DAYS, forget_journals
from pickupbox.worker import retention
from tests.devices.street import Journal, add_device, ask, operator
from tests.support.shop import Shop

STARTED = Happening.STARTED


async def boots_of(core: Core, device: str) -> set[str]:
    return {boot for (boot,) in await ask(core, "SELECT boot FROM journals WHERE device_id = $1", device)}


async def pass_days(core: Core, device: str, days: float) -> None:
    await ask(
        core,
        "UPDATE journals SET superseded_at = superseded_at - make_interval(secs => $2) WHERE device_id = $1",
        device,
        days * 86_400,
    )


async def followed(journal: Journal) -> Journal:
    """The box lost its storage: a new journal of the same device."""
    new = Journal(journal._core, journal.device)
    await new.tell(STARTED)
    return new


async def test_a_journal_is_forgotten_90_days_after_another_one_began_and_no_sooner(
    core: Core, journal: Journal
) -> None:
    assert JOURNAL_DAYS == 90
    await journal.tell(STARTED)
    new = await followed(journal)
    await pass_days(core, journal.device, 89.9)
    await forget_journals(core, 1000)
    assert await boots_of(core, journal.device) == {journal.boot, new.boot}
    await pass_days(core, journal.device, 0.2)
    await retention.run(core)
    assert await boots_of(core, journal.device) == {new.boot}


async def test_the_journal_that_goes_on_is_never_forgotten(core: Core, journal: Journal) -> None:
    await journal.tell(STARTED)
    assert await ask(core, "SELECT superseded_at FROM journals WHERE device_id = $1", journal.device) == [(None,)]
    await pass_days(core, journal.device, 10_000)
    await forget_journals(core, 1000)
    assert await journal.tell(STARTED) == Taken(2)


async def test_an_old_copy_of_the_disk_is_known_and_goes_on_for_good(core: Core, journal: Journal) -> None:
    await journal.tell(STARTED)
    await journal.tell(STARTED)
    await followed(journal)
    await pass_days(core, journal.device, 80)
    journal.seq = 1
    assert await take_entries(core, [journal.write(STARTED)]) == [Taken(2)]  # it has it: nothing is taken twice
    assert await journal.tell(STARTED) == Taken(3)
    await pass_days(core, journal.device, 30)
    await forget_journals(core, 1000)
    assert await journal.tell(STARTED) == Taken(4)


async def test_journals_of_other_devices_stay(core: Core, shop: Shop, journal: Journal) -> None:
    other = Journal(core, await add_device(shop, await shop.add_box()))
    await journal.tell(STARTED)
    await other.tell(STARTED)
    await followed(journal)
    assert await ask(core, "SELECT superseded_at FROM journals WHERE device_id = $1", other.device) == [(None,)]


async def test_journals_of_a_revoked_device_are_forgotten(core: Core, shop: Shop, journal: Journal) -> None:
    await journal.tell(STARTED)
    assert await revoke(core, operator(shop), journal.device)
    await pass_days(core, journal.device, 91)
    await forget_journals(core, 1000)
    assert await boots_of(core, journal.device) == set()
    assert await journal.tell(STARTED) is None


async def test_journals_are_forgotten_in_batches(core: Core, journal: Journal) -> None:
    await forget_journals(core, 1000)
    for _ in range(4):
        journal = await followed(journal)
    await pass_days(core, journal.device, 91)
    assert [await forget_journals(core, 2) for _ in range(3)] == [2, 1, 0]


async def test_what_is_set_aside_lies_in_the_partition_of_its_day(core: Core) -> None:
    async with core.db.connection() as connection:
        await aside.insert(connection, [Unread("test/days", b"", "why")])
    ((home, at),) = await ask(core, "SELECT tableoid::regclass::text, at FROM set_aside WHERE topic = 'test/days'")
    assert home == name_of("set_aside", at.astimezone(UTC).date())
    assert (datetime.now(UTC) - at).total_seconds() < 60
