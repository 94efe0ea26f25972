"""Messages per second through one gateway process, and through a bare client that commits one row per message.

Both get the same: 500 boxes, each with its own connection to one broker, report whole door cycles (unlocked, opened,
closed), in turns, one report of every box after the other, at most `AHEAD` beyond what is committed. Half of the doors
are opened to load a reserved shipment, half to pick one up, as on the street. A message counts when its commit is done.

- bare: `bench/listener.py` with aiomqtt, on 16 connections to PostgreSQL; and the same on the gateway's own MQTT
  session (`lean`), which takes a third of aiomqtt's CPU time: what is left then is the gateway's own work
- ours: `pickupbox gateway` as in production. It reads and checks every message, takes each journal in order, moves
  shipments, tells events, notes doors, commands and removals, commits, and acknowledges every message to its box; the
  boxes take these answers in, in the same process that sends, which costs only ours
"""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import asyncpg
import uvloop

from bench.boxes import connect_boxes
from bench.listener import TABLE
from bench.street import clear_live, run_sql
from bench.yard import GATEWAY, Yard, listening
from pickupbox.devices.messages import Ack, Journaled
from pickupbox.devices.wire import encode
from pickupbox.domain.doors import Happening
from pickupbox.usecases.boxes import codes

BOXES = 500
CONNECTIONS = 16
AHEAD = 5000
LOOK_SECONDS = 0.05
LIMIT_SECONDS = 120
CYCLE = (Happening.UNLOCKED, Happening.DOOR_OPENED, Happening.DOOR_CLOSED)

COMMITTED = "SELECT coalesce(sum(seq), 0)::bigint FROM journals"
# A number is taken a moment before its commit, but counting the rows again and again would slow the bare one down.
KEPT = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM bare_messages_n_seq"


def gateway_per_second(yard: Yard, cycles: int) -> float:
    _fill(yard, cycles)
    with listening(yard, *GATEWAY):
        rate = uvloop.run(_report(yard, cycles, COMMITTED, answered=True))
    _expect(yard, "SELECT count(*) FROM shipments WHERE stage IN ('protected', 'cooling')", BOXES * cycles)
    return rate


def bare_per_second(yard: Yard, cycles: int, way: str) -> float:
    _fill(yard, cycles)
    run_sql(yard.settings, "DROP TABLE IF EXISTS bare_messages", TABLE)
    with listening(yard, ["-m", "bench.listener", way, str(CONNECTIONS)], "ready"):
        rate = uvloop.run(_report(yard, cycles, KEPT, answered=False))
    _expect(yard, "SELECT count(*) FROM bare_messages", BOXES * cycles * len(CYCLE))
    return rate


def _expect(yard: Yard, question: str, count: int) -> None:
    found = run_sql(yard.settings, question)
    if found != count:
        raise RuntimeError(f"{question}: {found}, not {count}")


def _command_id(box_id: str, code: str) -> str:
    return f"cmd_{box_id[4:]}_{code}"


async def _report(yard: Yard, cycles: int, question: str, *, answered: bool) -> float:
    """Send all reports; how many were committed per second, from the first sent to the last committed."""
    boxes = await connect_boxes(yard.port, yard.devices())
    heard: Counter[str] = Counter()
    for box in boxes:
        box.hear = lambda _, kind, __: heard.update((kind,))
    reports = _reports(yard, cycles)
    database = await asyncpg.connect(yard.settings.database_url)
    look = await database.prepare(question)
    began, total = time.perf_counter(), len(boxes) * len(reports[0])
    sent = committed = 0
    async with asyncio.timeout(LIMIT_SECONDS):
        while committed < total:
            # Some hundred at a time, so that answers are taken in between.
            while sent < min(total, committed + AHEAD):
                for number in range(sent, min(sent + 250, total)):
                    boxes[number % BOXES].publish(Journaled.kind, reports[number % BOXES][number // BOXES])
                sent = min(sent + 250, total)
                await asyncio.sleep(0)
            await asyncio.sleep(LOOK_SECONDS)
            committed = await look.fetchval()
        seconds = time.perf_counter() - began
    await asyncio.sleep(1)  # for the last commits of the bare one, and the last answers of ours
    if heard != (Counter({Ack.kind: total}) if answered else Counter()):
        raise RuntimeError(f"{total} reports were answered by {heard}")
    await database.close()
    for box in boxes:
        box.close()
    return total / seconds


def _reports(yard: Yard, cycles: int) -> list[Sequence[bytes]]:
    """What each box says, written beforehand: each takes its doors one after the other."""
    boot, at, doors = secrets.token_hex(8), datetime.now(UTC), codes(cycles)
    return [
        [
            encode(
                Journaled(
                    id=f"msg_{secrets.token_hex(13)}",
                    at=at,
                    boot=boot,
                    seq=number + 1,
                    happening=CYCLE[number % len(CYCLE)],
                    compartment=doors[number // len(CYCLE)],
                    command=_command_id(box, doors[number // len(CYCLE)]),
                )
            )
            for number in range(cycles * len(CYCLE))
        ]
        for box in yard.street.boxes
    ]


def _fill(yard: Yard, cycles: int) -> None:
    """In each box as many shipments as there will be cycles, in turns reserved and ready, each with a command."""
    clear_live(yard.street)
    run_sql(
        yard.settings,
        "TRUNCATE journals, door_commands, doors",
        f"""
        INSERT INTO shipments (tenant_id, id, external_order_id, attempt_number, box_id, compartment_code,
            reservation_ttl_minutes, pickup_ttl_minutes, stage, trail, event_count, created_at, updated_at,
            reservation_expires_at, loaded_at, pickup_available_at, pickup_expires_at, due_at, pin_secret_id,
            pin_sealed, pin_lookup)
        SELECT c.tenant_id, 'shp_' || substr(c.box_id, 5) || c.code, 'order-' || c.box_id || c.code, 1, c.box_id,
            c.code, 1440, 2880, CASE WHEN ready THEN 'ready' ELSE 'reserved' END, CASE WHEN ready THEN
            ARRAY['reserve', 'door_opened', 'door_closed', 'protection_ended'] ELSE ARRAY['reserve'] END,
            CASE WHEN ready THEN 2 ELSE 1 END, now(), now(), now() + interval '1 day',
            CASE WHEN ready THEN now() END, CASE WHEN ready THEN now() END, CASE WHEN ready THEN now() + interval
            '2 days' END, now() + interval '1 day', 'bench', decode(repeat('00', 34), 'hex'),
            decode(md5(c.box_id || c.code), 'hex')
        FROM compartments c CROSS JOIN LATERAL (SELECT c.position % 2 = 1 AS ready) AS r
        WHERE c.code = ANY (ARRAY{codes(cycles)!r})
        """,
        "UPDATE compartments c SET shipment_id = s.id FROM shipments s WHERE (s.box_id, s.compartment_code) = "
        "(c.box_id, c.code) AND s.released_at IS NULL",
        """
        INSERT INTO door_commands (tenant_id, id, device_id, box_id, compartment_code, purpose, shipment_id, actor,
            expires_at, sent_at)
        SELECT tenant_id, 'cmd_' || substr(box_id, 5) || '_' || compartment_code, replace(box_id, 'box_', 'dev_'),
            box_id, compartment_code, CASE stage WHEN 'ready' THEN 'pick_up' ELSE 'load' END, id, 'bench',
            now() + interval '30 seconds', now()
        FROM shipments WHERE released_at IS NULL
        """,
        *(f"VACUUM ANALYZE {table}" for table in ("boxes", "shipments", "compartments", "door_commands", "journals")),
        "CHECKPOINT",
    )
