"""Every statement about boxes finds its rows by an index, however many boxes there are and however long their past."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from pickupbox.database import aside, commands, devices, doors, journals, keypads, presence, rosters
from pickupbox.database.aside import Unread
from pickupbox.database.connection import Connection
from pickupbox.database.presence import Beat
from pickupbox.domain.throttle import Keypad
from pickupbox.usecases.core import Core
from tests.database.plans import assert_only_indexes, databases, listening, plan_of
from tests.devices.street import add_device
from tests.support.shop import Shop

# Many boxes with a device each, and a past of shipments, journals, commands, doors and PINs that failed.
GROW = """
    INSERT INTO boxes SELECT (jsonb_populate_record(b, jsonb_build_object('id', 'box_' || n))).*
    FROM boxes b, generate_series(1, 5000) AS n;
    INSERT INTO compartments SELECT tenant_id, 'box_' || n, code, position
    FROM compartments, generate_series(1, 500) AS n;
    INSERT INTO shipments SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'shp_' || n,
        'external_order_id', 'old-' || n))).* FROM shipments s, generate_series(1, 10000) AS n;
    INSERT INTO devices (tenant_id, id, box_id) SELECT tenant_id, 'dev_' || id, id FROM boxes WHERE id LIKE 'box\\_%'
        AND id NOT LIKE 'box\\_c1%';
    INSERT INTO journals SELECT id, 'boot' || n, 9, CASE WHEN n > 1 THEN now() END
    FROM devices, generate_series(1, 5) AS n;
    INSERT INTO doors SELECT tenant_id, id, 'c' || n, false FROM boxes, generate_series(1, 3) AS n;
    INSERT INTO keypads SELECT tenant_id, id, now(), 0, 0, 0 FROM boxes;
    INSERT INTO door_commands SELECT tenant_id, 'cmd_' || n || id, 'dev_' || id, id, 'c1', 'load', 'shp_' || n, NULL,
        'keypad', now(), now(), now() FROM boxes, generate_series(1, 5) AS n;
    INSERT INTO rosters SELECT tenant_id, id, 1, 1 FROM boxes WHERE id NOT LIKE 'box\\_c1%';
    INSERT INTO set_aside SELECT now(), 't', 'p', 'r' FROM generate_series(1, 5000);
    ANALYZE;
"""


@dataclass(frozen=True, slots=True)
class Place:
    tenant: str
    box_id: str
    device: str


type Act = Callable[[Connection, Place], Awaitable[Any]]


async def seed(shop: Shop) -> None:
    await shop.reserved("A", "expired")


settings, core, app = databases(seed, GROW)


async def lock_journals(connection: Connection, at: Place) -> None:
    await journals.lock(connection, [(at.device, "new")])


async def save_journals(connection: Connection, at: Place) -> None:
    await journals.save(connection, [(at.device, "new", 1)])


async def forget_journals(connection: Connection, _: Place) -> None:
    await journals.forget(connection, 90, 1000)


async def device_of(connection: Connection, at: Place) -> None:
    await devices.device_of(connection, at.tenant, at.box_id)


async def note_presence(connection: Connection, at: Place) -> None:
    await presence.note(connection, {at.device: True})


async def insert_command(connection: Connection, at: Place) -> None:
    await commands.insert(
        connection,
        at.tenant,
        "cmd_new",
        device_id=at.device,
        box_id=at.box_id,
        compartment_code="1",
        purpose="load",
        shipment_id="shp_1",
        about=None,
        actor="test",
    )


async def find_commands(connection: Connection, _: Place) -> None:
    await commands.find(connection, ["cmd_new"])


async def mark_sent(connection: Connection, _: Place) -> None:
    await commands.mark_sent(connection, ["cmd_new"])


async def take_unsent(connection: Connection, _: Place) -> None:
    await commands.take_unsent(connection, 2.0, 100)


async def give_back(connection: Connection, _: Place) -> None:
    await commands.give_back(connection, ["cmd_new"])


async def note_commands(connection: Connection, _: Place) -> None:
    await commands.note(connection, [("cmd_new", "opened", None)])


async def box_of(connection: Connection, at: Place) -> None:
    await devices.box_of(connection, at.device)


async def lock_keypad(connection: Connection, at: Place) -> None:
    await keypads.lock(connection, at.tenant, at.box_id)


async def save_keypad(connection: Connection, at: Place) -> None:
    _, now = await keypads.lock(connection, at.tenant, at.box_id)
    await keypads.save(connection, at.tenant, at.box_id, Keypad(now.date()))


async def find_by_pin(connection: Connection, at: Place) -> None:
    await keypads.find_by_pin(connection, at.tenant, at.box_id, [bytes(16), bytes(16)], None)


async def lock_behind(connection: Connection, at: Place) -> None:
    await doors.lock_behind(connection, [(at.tenant, at.box_id, "1")])


async def save_doors(connection: Connection, at: Place) -> None:
    await doors.save(connection, [(at.tenant, at.box_id, "1", True)])


async def take_out_of_service(connection: Connection, at: Place) -> None:
    await doors.take_out_of_service(connection, [(at.tenant, at.box_id, "1")])


async def save_beats(connection: Connection, at: Place) -> None:
    await presence.save(connection, [Beat(at.device, "new", 0, "1.0", ["A1"])])


async def set_aside(connection: Connection, _: Place) -> None:
    await aside.insert(connection, [Unread("topic", b"payload", "reason")])


async def begin_roster(connection: Connection, at: Place) -> None:
    await rosters.compare(connection, [(at.device, 0)])


async def make_roster(connection: Connection, at: Place) -> None:
    await begin_roster(connection, at)
    made = await rosters.take_changed(connection, 100)
    await rosters.list_live(connection, [one.box_id for one in made])


async def confirm_roster(connection: Connection, at: Place) -> None:
    await rosters.confirm(connection, at.device, 1)


async def is_withheld(connection: Connection, at: Place) -> None:
    await rosters.is_withheld(connection, at.tenant, at.box_id)


async def last_heard(connection: Connection, at: Place) -> None:
    await rosters.last_heard(connection, [at.box_id])


DEVICE, JOURNAL, COMMAND, COMPARTMENT = "devices_pkey", "journals_pkey", "door_commands_pkey", "compartments_pkey"
KEYPAD, ROSTER, CHANGES = "keypads_pkey", "rosters_pkey", "roster_changes_pkey"
BEGUN = {DEVICE, ROSTER, "roster_changes_box"}
LEADS = {JOURNAL: "device_id = ", COMPARTMENT: "tenant_id = "}
EXPECTED: list[tuple[Act, list[set[str]]]] = [
    (lock_journals, [{DEVICE, JOURNAL}, {DEVICE, JOURNAL}, {DEVICE, JOURNAL}]),
    (save_journals, [{JOURNAL}]),
    (forget_journals, [{JOURNAL, "journals_superseded"}]),
    (insert_command, [set()]),
    (find_commands, [{COMMAND}]),
    (mark_sent, [{COMMAND}]),
    (take_unsent, [{COMMAND, "door_commands_unsent"}]),
    (give_back, [{COMMAND}]),
    (note_commands, [{COMMAND}]),
    (box_of, [{DEVICE}]),
    (device_of, [{"devices_live"}]),
    (note_presence, [{DEVICE}]),
    (lock_keypad, [{KEYPAD}, set(), {KEYPAD}]),
    (save_keypad, [{KEYPAD}, set(), {KEYPAD}, {KEYPAD}]),
    (find_by_pin, [{"shipments_live_pin"}]),
    (lock_behind, [{COMPARTMENT, "shipments_pkey"}]),
    (save_doors, [{COMPARTMENT}]),
    (take_out_of_service, [{COMPARTMENT}]),
    (save_beats, [{DEVICE, JOURNAL}]),
    (set_aside, [set()]),
    (begin_roster, [BEGUN]),
    (make_roster, [BEGUN, {CHANGES}, {ROSTER, COMPARTMENT, "devices_live"}, {ROSTER, COMPARTMENT, "shipments_pkey"}]),
    (confirm_roster, [{DEVICE, ROSTER, COMPARTMENT}]),
    (is_withheld, [{"compartments_free", "devices_live"}]),
    (last_heard, [{ROSTER, "devices_live"}]),
]


@pytest.mark.parametrize(("act", "expected"), EXPECTED, ids=[act.__name__ for act, _ in EXPECTED])
async def test_a_statement_about_boxes_uses_the_index_that_was_made_for_it(
    shop: Shop, core: Core, act: Act, expected: list[set[str]]
) -> None:
    at = Place(shop.tenant, shop.box_id, await add_device(shop))
    async with core.db.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        async with listening(connection) as asked:
            await act(connection, at)
        plans = [await plan_of(connection, query) for query in asked]
        await transaction.rollback()
    for plan in plans:
        assert_only_indexes(plan)
        for node in plan:
            # Not by the end of a key, which would read the whole index.
            assert f"({LEADS.get(node.get('Index Name'), '')}" in node.get("Index Cond", "(")
        assert not {"Hash Join", "Merge Join"} & {node["Node Type"] for node in plan}
    # A box by either of its keys.
    found = [{node["Index Name"] for node in plan if "Index Name" in node} for plan in plans]
    assert [indexes - {"boxes_pkey", "boxes_id_key"} for indexes in found] == expected
