"""The journal: what happened at the box, on disk until the service has it. SQLite, and the only SQL in the box.

An entry is durable before anyone hears of it (WAL, synchronous FULL) and is dropped only when the service acknowledged
its number. Numbers count from 1 without a gap; `boot` is made with the file and names the numbering. Beside the entries
lie what must survive a restart: the doors, the keypad's counters, and the ids of the last commands.

Bounds: `limit` entries. From nine tenths on, no command is taken (`has_room`), so that what follows from a command
always fits. When it is full all the same (a sensor that flaps for days without network), `write` refuses and nothing
moves: no entry is lost or overwritten, doors are compared again at the next reading, and the first acknowledgement
makes room. What swung to and fro meanwhile is not known; how the doors stand then is. A full disk is the same as a full
journal.

A file that is damaged is set aside as `….damaged` and a new journal begins, under a new boot.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from pickupbox.box.doors import Happened
from pickupbox.domain.doors import Happening

COMMANDS = 1_000  # a command lives for 30 s: one that is no longer remembered is long late

_TABLES = """
CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS commands (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    happening TEXT NOT NULL,
    compartment TEXT,
    command TEXT,
    reason TEXT
);
"""


class JournalError(Exception):
    """Nothing was written: the journal or the disk is full, or the file cannot be used."""


@dataclass(frozen=True, slots=True)
class Entry:
    seq: int
    at: datetime
    happened: Happened


class Journal:
    """One per box program; the file is locked, so a second program on it does not start."""

    def __init__(self, path: Path, limit: int) -> None:
        self._limit = limit
        self.damaged = False
        try:
            self._db = _open(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # locked, no permission, no folder: not the file's fault
                raise JournalError(str(error)) from error
            _set_aside(path)
            self.damaged = True
            self._db = _open(path)
        self.boot = self._boot()
        self.last = self._number("SELECT seq FROM sqlite_sequence WHERE name = 'entries'")
        oldest = self._number("SELECT min(seq) FROM entries")
        self.acked = oldest - 1 if oldest else self.last

    def close(self) -> None:
        self._db.close()

    @property
    def waiting(self) -> int:
        """How many entries the service does not have yet."""
        return self.last - self.acked

    @property
    def has_room(self) -> bool:
        """Whether a command may be taken: what follows from it will fit."""
        return self.waiting < self._limit * 9 // 10

    def write(
        self, happened: Sequence[Happened], keep: Mapping[str, str] | None = None, command: str | None = None
    ) -> None:
        """Entries, kept values and a command's id, all or nothing, on the disk when this returns."""
        if self.waiting + len(happened) > self._limit:
            raise JournalError("journal_full")
        now = datetime.now(UTC).timestamp()
        rows = [(now, one.happening.value, one.compartment, one.command, one.reason) for one in happened]
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                self._db.executemany(
                    "INSERT INTO entries (at, happening, compartment, command, reason) VALUES (?, ?, ?, ?, ?)", rows
                )
                self._db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", list((keep or {}).items()))
                if command is not None:
                    self._remember(command)
        except sqlite3.Error as error:
            raise JournalError(str(error)) from error
        self.last += len(rows)

    def _remember(self, command: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO commands (id) VALUES (?)", (command,))
        self._db.execute("DELETE FROM commands WHERE number <= (SELECT max(number) FROM commands) - ?", (COMMANDS,))

    def knows(self, command: str) -> bool:
        """Whether this command was taken or refused before."""
        return self._db.execute("SELECT 1 FROM commands WHERE id = ?", (command,)).fetchone() is not None

    def kept(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM kept WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def after(self, seq: int, count: int) -> list[Entry]:
        """The next entries after a number, in order."""
        rows = self._db.execute(
            "SELECT seq, at, happening, compartment, command, reason FROM entries WHERE seq > ? ORDER BY seq LIMIT ?",
            (max(seq, self.acked), count),
        )
        return [
            Entry(seq, datetime.fromtimestamp(at, UTC), Happened(Happening(happening), *rest))
            for seq, at, happening, *rest in rows
        ]

    def drop(self, seq: int) -> None:
        """The service has everything up to this number."""
        if seq > self.last:
            raise ValueError(f"{seq} was never written")
        if seq <= self.acked:
            return
        # Not synced, to spare the disk: what a power cut brings back is sent once more; the next write syncs it along.
        self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            self._db.execute("DELETE FROM entries WHERE seq <= ?", (seq,))
        except sqlite3.Error as error:
            raise JournalError(str(error)) from error
        finally:
            self._db.execute("PRAGMA synchronous = FULL")
        self.acked = seq

    def begin_anew(self) -> None:
        """The service has numbers that this journal never gave: the disk lost its end. Under a new boot from 1."""
        rows = self._db.execute(
            "SELECT at, happening, compartment, command, reason FROM entries ORDER BY seq"
        ).fetchall()
        boot = token_hex(16)
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                self._db.execute("DELETE FROM entries")
                self._db.execute("DELETE FROM sqlite_sequence WHERE name = 'entries'")
                self._db.execute("INSERT OR REPLACE INTO kept VALUES ('boot', ?)", (boot,))
                self._db.executemany(
                    "INSERT INTO entries (at, happening, compartment, command, reason) VALUES (?, ?, ?, ?, ?)", rows
                )
        except sqlite3.Error as error:
            raise JournalError(str(error)) from error
        self.boot, self.last, self.acked = boot, len(rows), 0

    def _boot(self) -> str:
        self._db.execute("INSERT OR IGNORE INTO kept VALUES ('boot', ?)", (token_hex(16),))
        boot = self.kept("boot")
        if boot is None:
            raise JournalError("the journal has no boot")
        return boot

    def _number(self, query: str) -> int:
        row = self._db.execute(query).fetchone()
        return int(row[0] or 0) if row else 0


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=2, isolation_level=None)
    try:
        # Before anything is read: the lock is then kept in memory, and no second program gets in.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA journal_size_limit = 4194304")
        db.execute("PRAGMA cache_size = -512")
        _check(db)
        db.executescript(_TABLES)
    except BaseException:
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection) -> None:
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)


def _set_aside(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(path.with_name(f"{path.name}.damaged{suffix}"))
