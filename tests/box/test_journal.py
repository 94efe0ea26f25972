"""The journal: nothing that was written is lost, and numbers have no gap and no double."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pickupbox.box.doors import Happened
from pickupbox.box.journal import COMMANDS, Journal, JournalError
from pickupbox.domain.doors import Happening

OPENED = Happened(Happening.DOOR_OPENED, "A1", "cmd", None)
# Writes for ever and says each number after it was written; drops now and then, as acknowledgements do.
WRITER = """
import sys
from pathlib import Path
from pickupbox.box.doors import Happened
from pickupbox.box.journal import Journal
from pickupbox.domain.doors import Happening
journal = Journal(Path(sys.argv[1]), 50_000)
print("start", journal.boot, journal.last, journal.acked, flush=True)
while True:
    journal.write([Happened(Happening.DOOR_OPENED, "A1", f"c{journal.last + 1}")], {"doors": str(journal.last + 1)})
    print("wrote", journal.last, flush=True)
    if journal.last % 7 == 0:
        journal.drop(journal.last - 3)
        print("dropped", journal.last - 3, flush=True)
"""


def numbers(journal: Journal) -> list[int]:
    return [entry.seq for entry in journal.after(0, 100_000)]


@pytest.mark.slow
def test_fifty_kills_at_any_moment_lose_nothing_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    chance = random.Random(4)  # noqa: S311 - moments, not secrets
    wrote = 0
    for _ in range(50):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            heard = [writer.stdout.readline() for _ in range(chance.randrange(1, 40))]
            writer.send_signal(signal.SIGKILL)
            heard += writer.stdout.readlines()
        said = [int(line.split()[1]) for line in heard if line.startswith("wrote") and line.endswith("\n")]
        wrote = max([wrote, *said])
        dropped = [int(line.split()[1]) for line in heard if line.startswith("dropped") and line.endswith("\n")]
        journal = Journal(path, 50_000)
        found = journal.after(0, 100_000)
        assert journal.last in (wrote, wrote + 1)  # one may have been written whose word did not come through
        assert [one.seq for one in found] == list(range(journal.acked + 1, journal.last + 1))
        assert journal.acked <= max([0, wrote, *dropped])
        assert [one.happened.command for one in found] == [f"c{one.seq}" for one in found]
        assert journal.kept("doors") == (str(journal.last) if journal.last else None)
        wrote = journal.last
        journal.close()
    assert wrote > 200


def test_an_entry_is_on_the_disk_when_write_returns(tmp_path: Path) -> None:
    """The bytes are synced: the settings that SQLite needs for that are the ones in force."""
    journal = Journal(tmp_path / "journal", 100)
    read = lambda name: journal._db.execute(f"PRAGMA {name}").fetchone()[0]  # noqa: E731
    assert (read("journal_mode"), read("synchronous")) == ("wal", 2)
    journal.write([OPENED])
    journal.drop(1)
    assert read("synchronous") == 2
    journal.close()


def test_numbers_go_on_after_all_was_dropped_and_the_box_restarted(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", 100)
    boot = journal.boot
    journal.write([OPENED, OPENED])
    journal.drop(2)
    journal.close()
    again = Journal(tmp_path / "journal", 100)
    again.write([OPENED])
    assert (again.boot, again.last, again.acked, numbers(again)) == (boot, 3, 2, [3])
    again.close()


def test_what_was_acknowledged_is_gone_and_nothing_else(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", 100)
    journal.write([OPENED] * 5)
    journal.drop(3)
    journal.drop(2)
    assert (numbers(journal), journal.waiting) == ([4, 5], 2)
    with pytest.raises(ValueError, match="never written"):
        journal.drop(6)
    assert [one.seq for one in journal.after(4, 10)] == [5]
    assert [one.seq for one in journal.after(0, 1)] == [4]
    journal.close()
    again = Journal(tmp_path / "journal", 100)
    assert (numbers(again), again.waiting) == ([4, 5], 2)
    again.close()


def test_a_full_journal_refuses_and_keeps_what_it_has(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", 10)
    journal.write([OPENED] * 8)
    assert journal.has_room
    journal.write([OPENED])
    assert not journal.has_room
    with pytest.raises(JournalError):
        journal.write([OPENED, OPENED], {"doors": "new"}, "cmd_1")
    assert (numbers(journal), journal.kept("doors"), journal.knows("cmd_1")) == (list(range(1, 10)), None, False)
    journal.drop(5)
    journal.write([OPENED, OPENED])
    assert numbers(journal) == [6, 7, 8, 9, 10, 11]
    journal.close()


def test_a_full_disk_is_like_a_full_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", 50_000)
    journal.write([OPENED])
    pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
    journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match="full"):
        journal.write([OPENED] * 5_000)
    assert (numbers(journal), journal.last) == ([1], 1)
    journal._db.execute("PRAGMA max_page_count = 100000")
    journal.write([OPENED])
    assert numbers(journal) == [1, 2]
    journal.close()


def test_commands_are_remembered_across_a_restart_up_to_a_bound(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", 100)
    for number in range(COMMANDS + 1):
        journal._remember(f"cmd_{number}")  # without an entry each
    journal.close()
    again = Journal(tmp_path / "journal", 100)
    assert [again.knows(f"cmd_{number}") for number in (0, 1, COMMANDS)] == [False, True, True]
    again.close()


@pytest.mark.parametrize("place", [0, 4096 * 8])
def test_a_damaged_file_is_set_aside_and_a_new_boot_begins(tmp_path: Path, place: int) -> None:
    path = tmp_path / "journal"
    journal = Journal(path, 5_000)
    boot = journal.boot
    journal.write([OPENED] * 3_000)
    journal.close()
    damaged = bytearray(path.read_bytes())
    damaged[place : place + 4096] = b"?" * 4096
    path.write_bytes(damaged)
    again = Journal(path, 5_000)
    assert (again.damaged, again.last) == (True, 0)
    assert again.boot != boot
    assert path.with_name("journal.damaged").read_bytes() == damaged
    again.write([OPENED])
    again.close()


def test_a_second_program_on_the_same_journal_does_not_start(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", 100)
    code = (
        "import sys; from pathlib import Path; from pickupbox.box.journal import Journal; Journal(Path(sys.argv[1]), 9)"
    )
    second = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "journal")], capture_output=True, text=True, timeout=30, check=False
    )
    assert "JournalError: database is locked" in second.stderr
    journal.write([OPENED])
    journal.close()


def test_a_journal_that_lost_its_end_begins_anew_with_what_it_has(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", 100)
    boot = journal.boot
    journal.write([OPENED] * 4)
    journal.drop(2)
    journal.begin_anew()
    assert journal.boot != boot
    assert (numbers(journal), journal.last, journal.acked) == ([1, 2], 2, 0)
    journal.close()
    again = Journal(tmp_path / "journal", 100)
    assert (again.boot, again.last, again.acked) == (journal.boot, 2, 0)
    again.close()
