"""What listen remembers: whose place it is, what a broken file does, and what is too old."""

import json
import os
import time
from pathlib import Path

import pytest

from pickupbox.desk import DeskError
from pickupbox.desk.memory import KEPT_DAYS, alone_at, folder_of, place_in, secret_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of({"XDG_STATE_HOME": str(tmp_path)})


def test_a_tenant_is_known_by_any_of_its_boxes(folder: Path) -> None:
    place = place_in(folder, "http://localhost/", ["box_1", "box_2"])
    assert (place.known, place.after) == (False, None)
    place.keep("evt_1", "box_3")
    for boxes in (["box_1"], ["box_2", "box_9"], ["box_3"]):
        again = place_in(folder, "http://localhost/", boxes)
        assert (again.known, again.after, again.path) == (True, "evt_1", place.path)
    assert not place_in(folder, "http://localhost/", ["box_9"]).known
    assert not place_in(folder, "http://localhost/", []).known


def test_each_target_has_a_place_of_its_own(folder: Path) -> None:
    for target in ("http://localhost/", "http://localhost/other", ""):
        place_in(folder, target, ["box_1"]).keep(f"evt of {target}", "box_1")
    for target in ("http://localhost/", "http://localhost/other", ""):
        assert place_in(folder, target, ["box_1"]).after == f"evt of {target}"


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", "null", '{"target": 1}', '{"target": "", "boxes": 7, "after": null}']
)
def test_a_broken_place_is_as_if_there_were_none(folder: Path, broken: str) -> None:
    place = place_in(folder, "", ["box_1"])
    place.path.write_text(broken)
    assert not place_in(folder, "", ["box_1"]).known


def test_a_place_whose_event_is_long_gone_is_removed(folder: Path) -> None:
    place = place_in(folder, "", ["box_1"])
    place.write()
    long_ago = time.time() - (KEPT_DAYS + 1) * 86400
    os.utime(place.path, (long_ago, long_ago))
    assert not place_in(folder, "", ["box_1"]).known
    assert not place.path.exists()


def test_a_secret_that_others_could_read_is_closed_to_them(folder: Path) -> None:
    secret = secret_in(folder)
    (folder / "secret").chmod(0o644)
    assert secret_in(folder) == secret
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == ["secret"]


def test_a_secret_that_is_none_is_said_with_the_cure(folder: Path) -> None:
    (folder / "secret").write_text("whsec_oops")
    with pytest.raises(DeskError, match="Remove the file"):
        secret_in(folder)


def test_a_place_is_for_one_at_a_time(folder: Path) -> None:
    place = place_in(folder, "", ["box_1"])
    with alone_at(place), pytest.raises(DeskError, match="already prints"), alone_at(place):
        pass
    with alone_at(place):
        place.write()
    assert json.loads(place.path.read_text()) == {"target": "", "boxes": ["box_1"], "after": None}
