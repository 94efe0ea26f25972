"""The bare engine: what pgbench does with the same tables, prepared statements and all of PostgreSQL's guarantees.

The reservation is the leanest statement for exactly one: pick, insert, take, tell, return, with the same indexes,
constraints and event as ours, but without the arrays by which ours makes many at once.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from bench.street import BOXES, Street
from pickupbox.database.events import DATA
from pickupbox.database.shipments import COLUMNS

CONNECTIONS = 4  # fastest here of 4, 8, 16, 32 and 64, for creates and for reads

RESERVE_ONE = f"""
    WITH b AS (
        SELECT * FROM boxes WHERE tenant_id = $tenant AND id = $box AND active
    ), free AS (
        SELECT code FROM compartments
        WHERE tenant_id = $tenant AND box_id = $box AND shipment_id IS NULL AND in_service
        ORDER BY position LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ), made AS (
        INSERT INTO shipments (tenant_id, id, external_order_id, attempt_number, box_id, compartment_code,
            reservation_ttl_minutes, pickup_ttl_minutes, stage, trail, event_count, created_at, updated_at,
            reservation_expires_at, due_at, pin_secret_id, pin_sealed, pin_lookup)
        SELECT b.tenant_id, 'shp_bare_' || $unique, 'bare-' || $unique, 1, b.id, free.code,
            b.reservation_ttl_minutes, b.pickup_ttl_minutes, 'reserved', ARRAY['reserve'], 1, now(), now(),
            now() + make_interval(mins => b.reservation_ttl_minutes),
            now() + make_interval(mins => b.reservation_ttl_minutes),
            'bench', decode(lpad($unique, 68, '0'), 'hex'), decode(lpad($unique, 32, '0'), 'hex')
        FROM b CROSS JOIN free
        ON CONFLICT DO NOTHING
        RETURNING *
    ), taken AS (
        UPDATE compartments c SET shipment_id = s.id FROM made s
        WHERE c.tenant_id = $tenant AND c.box_id = $box AND c.code = s.compartment_code
    ), told AS (
        INSERT INTO events (shipment_created_at, tenant_id, shipment_id, sequence, step, id, type, occurred_at, data)
        SELECT s.created_at, s.tenant_id, s.id, 1, 1, 'evt_bare_' || $unique, 'reserved', s.created_at, {DATA}
        FROM made s CROSS JOIN b
        CROSS JOIN (VALUES ('reserved', 'reserved')) AS e (status, compartment_state)
    )
    SELECT {COLUMNS} FROM made s;
"""
READ_ONE = f"SELECT {COLUMNS}, s.pin_secret_id, s.pin_sealed FROM shipments s WHERE tenant_id = $tenant AND id = $id;"


def creates_per_second(street: Street, seconds: int, round_number: int) -> float:
    """One reservation per statement, each committed."""
    unique = f"lpad((:client_id::bigint * 100000000 + :n + {round_number + 1} * 1000000000000::bigint)::text, 26, '0')"
    statement = _filled(RESERVE_ONE, tenant=_text(street.tenant), box=f"({_array(street.boxes)})[:box]", unique=unique)
    return _pgbench(street, f"\\set n :n + 1\n\\set box random(1, {BOXES})\n{statement}\n", seconds)


def reads_per_second(street: Street, seconds: int, ids: list[str]) -> float:
    """One shipment per statement, by its id."""
    statement = _filled(READ_ONE, tenant=_text(street.tenant), id=f"({_array(ids)})[:shipment]")
    return _pgbench(street, f"\\set shipment random(1, {len(ids)})\n{statement}\n", seconds)


def _text(value: str) -> str:
    return f"'{value}'"


def _array(values: list[str]) -> str:
    return f"ARRAY[{', '.join(map(_text, values))}]"


def _filled(statement: str, **values: str) -> str:
    one_line = " ".join(statement.split())
    # pgbench takes :MI and :SS for variables, even inside a string.
    without_colons = one_line.replace("HH24:MI:SS", "HH24-MI-SS")
    return re.sub(r"\$(\w+)", lambda match: values[match[1]], without_colons)


def _pgbench(street: Street, script: str, seconds: int) -> float:
    address = urlsplit(street.settings.database_url)
    options = "-c plan_cache_mode=force_generic_plan -c jit=off -c enable_seqscan=off -c timezone=UTC"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.sql"
        path.write_text(script)
        command = [
            *("pgbench", "--no-vacuum", "--protocol=prepared", "--define=n=0", f"--file={path}"),
            *(f"--client={CONNECTIONS}", "--jobs=2", f"--time={seconds}"),
            *(f"--host={address.hostname or '127.0.0.1'}", f"--port={address.port or 5432}", address.path[1:]),
        ]
        user = {"PGUSER": address.username} if address.username else {}
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **user, "PGOPTIONS": options},
            timeout=seconds + 60,
            check=False,
        )
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    if done.returncode or not found:
        raise RuntimeError(f"pgbench failed: {done.stderr[-2000:]}")
    return float(found[1])
