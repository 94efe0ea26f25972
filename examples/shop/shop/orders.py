"""The orders, in SQLite: they survive a restart, and an event counts once."""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pickupbox_sdk import Event

PLACE = "INSERT OR IGNORE INTO orders (number, key, product, customer, box_id, box_name) VALUES (?, ?, ?, ?, ?, ?)"
FIND = "SELECT * FROM orders LEFT JOIN pins USING (shipment_id) WHERE "
TELL = """UPDATE orders SET status = :status, shipment_id = :shipment_id, compartment = :compartment_code,
    attempt = :attempt_number, told_at = :at
    WHERE number = :external_order_id AND (attempt, told_at) <= (:attempt_number, :at)"""


class Orders:
    def __init__(self, file: Path) -> None:
        self._file = file
        file.touch(mode=0o600)  # there are PINs in it
        with self._transaction() as database:
            database.executescript(Path(__file__).with_name("orders.sql").read_text())

    def place(self, key: str, product: str, customer: str, box_id: str, box_name: str) -> Any:
        """The order of a checkout page: a new one, or the one that was made when it was sent before."""
        with self._transaction() as database:
            database.execute(PLACE, (secrets.token_hex(6).upper(), key, product, customer, box_id, box_name))
            return database.execute(FIND + "key = ?", (key,)).fetchone()

    def find(self, number: str) -> Any:
        with self._transaction() as database:
            return database.execute(FIND + "number = ?", (number,)).fetchone()

    def to_pack(self) -> list[Any]:
        with self._transaction() as database:
            return database.execute(FIND + "status = 'reserved'").fetchall()

    def keep_pin(self, shipment_id: str, pin: str) -> None:
        with self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO pins VALUES (?, ?)", (shipment_id, pin))

    def tell(self, event: Event) -> bool:
        """Let an event count, and say whether it did: not if it came before, or is older than what we know."""
        with self._transaction() as database:
            if not database.execute("INSERT OR IGNORE INTO handled VALUES (?)", (event.id,)).rowcount:
                return False
            if event.data.status not in ("reserved", "loaded"):
                database.execute("DELETE FROM pins WHERE shipment_id = ?", (event.data.shipment_id,))
            return database.execute(TELL, asdict(event.data) | {"at": event.occurred_at.timestamp()}).rowcount == 1

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file, timeout=10)) as database, database:
            database.row_factory = sqlite3.Row
            yield database
