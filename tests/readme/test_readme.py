"""A newcomer's path: the demo, and the README's lines as they stand."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.readme import walk
from tests.readme.demos import STOP_SECONDS, lives, running_demo, without_settings
from tests.support.processes import Process, free_port

ROOT = Path(__file__).parents[2]
README = walk.blocks((ROOT / "README.md").read_text())
KEYS_OF_THE_DESIGN = {
    "base_url",
    "api_key",
    "other_api_key",
    "tenant",
    "database_url",
    "admin_url",
    "admin_email",
    "admin_password",
    "box_pages",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a demo says to a newcomer."""

    text: str

    @property
    def lines_to_paste(self) -> str:
        """The lines for another terminal: four exports and a curl."""
        return "".join(line + "\n" for line in re.findall(r"^  ((?:export |curl ).*)$", self.text, re.MULTILINE))

    @property
    def exports(self) -> str:
        return "".join(line + "\n" for line in self.lines_to_paste.splitlines() if line.startswith("export"))

    def word_after(self, before: str) -> str:
        found = re.search(rf"{re.escape(before)}([^\s;]+)", self.text)
        assert found is not None, self.text
        return found[1]

    @property
    def tenant(self) -> str:
        return self.word_after("TENANT=")


@pytest.fixture(scope="module")
def demo() -> Iterator[Said]:
    with running_demo() as running:
        yield Said(running.said_when_ready("Ctrl-C"))


def pickupbox(demo: Said, *arguments: str) -> str:
    """A command that knows nothing but where the demo's database is; what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "pickupbox", *arguments],
        env={**without_settings(), "PICKUPBOX_DATABASE_URL": demo.word_after("PICKUPBOX_DATABASE_URL=")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def boxes_seen_with(base_url: str, api_key: str) -> set[str]:
    request = urllib.request.Request(  # noqa: S310 - the demo's own loopback address
        f"{base_url}/boxes", headers={"Authorization": f"Bearer {api_key}"}
    )
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310 - as above
        return {box["id"] for box in json.load(response)["items"]}


def test_the_readme_answers_as_it_says(demo: Said, tmp_path: Path) -> None:
    walked = list(walk.follow(README, ROOT, without_settings(), tmp_path, demo.exports))
    for one in walked:
        one.check()
    reserved, lived = (one.answer for one in walked)
    assert re.search(r'"pickup_pin": "[0-9]{6}"', reserved)
    assert re.findall(r"tells (.*)", lived) == ["reserved", "loaded and picked_up", "door_available"]


def test_an_answer_that_the_readme_does_not_show_is_noticed() -> None:
    block = walk.Block("", '"id": "shp_…",\n"status": "fault"\n')
    assert block.fits('"id": "shp_1",\n"status": "fault"\n')
    assert not block.fits('"id": "shp_1",\n"status": "loaded"\n')
    assert not block.fits('"id": "shp_1",\n"status": "fault"\n"more": 1\n')
    assert not block.fits("")


def test_a_line_of_the_readme_that_is_refused_is_noticed(demo: Said, tmp_path: Path) -> None:
    refused = walk.Block('call "$BASE_URL/shipments/shp_unknown" | python3 -m json.tool\n', "")
    with pytest.raises(AssertionError, match="returned error: 404"):
        list(walk.follow([README[0], refused], ROOT, without_settings(), tmp_path, demo.exports))


def test_what_the_demo_prints_can_be_pasted(demo: Said) -> None:
    assert demo.exports.count("\n") == 4
    pasted = ["bash", "-euc", demo.lines_to_paste]
    answer = subprocess.run(pasted, env=without_settings(), capture_output=True, text=True, timeout=30, check=True)
    assert len(json.loads(answer.stdout)["items"]) == 2


def test_what_the_demo_says_of_its_variables_stands_right_below_them(demo: Said) -> None:
    pasted, said = demo.text.split("\n\n")[1:3]
    assert pasted.count("export ") == 4
    assert said.startswith("With these four set, every other command acts on this sandbox: pickupbox ")


def test_other_commands_act_on_the_demo_by_its_database_alone(demo: Said) -> None:
    added = json.loads(pickupbox(demo, "key", "add", "--tenant", demo.tenant, "--name", "second", "--json"))
    base_url = demo.word_after("BASE_URL=")
    assert boxes_seen_with(base_url, added["api_key"]) == boxes_seen_with(base_url, demo.word_after("API_KEY="))
    assert "Demo shop" in pickupbox(demo, "tenant", "list")
    assert "All hold." in pickupbox(demo, "check")


def test_a_second_api_serves_the_demo_by_its_database_alone(demo: Said, tmp_path: Path) -> None:
    port = free_port()
    environment = without_settings() | {"PICKUPBOX_DATABASE_URL": demo.word_after("PICKUPBOX_DATABASE_URL=")}
    api = Process(["api", "--port", str(port)], environment, tmp_path / "api.log")
    try:
        api.wait_until_ready(f"http://127.0.0.1:{port}/readyz")
        key = demo.word_after("API_KEY=")
        assert boxes_seen_with(f"http://127.0.0.1:{port}/v1", key) == boxes_seen_with(demo.word_after("BASE_URL="), key)
    finally:
        api.stop()


def test_lists_show_identifiers_that_the_other_commands_take(demo: Said) -> None:
    assert demo.tenant in pickupbox(demo, "tenant", "list")
    key = json.loads(pickupbox(demo, "key", "add", "--tenant", demo.tenant, "--name", "listed", "--json"))
    assert key["id"] in pickupbox(demo, "key", "list", "--tenant", demo.tenant)


def test_with_json_the_demo_prints_one_line_and_sigterm_leaves_nothing_behind() -> None:
    with running_demo("--json") as running:
        said = json.loads(running.said_when_ready("{"))
        mine, others = (boxes_seen_with(said["base_url"], said[key]) for key in ("api_key", "other_api_key"))
        pages = [urllib.request.urlopen(page, timeout=10).read() for page in said["box_pages"].values()]  # noqa: S310
        family = running.processes()
        seconds = running.terminate()
        left = {pid for pid in family if lives(pid)}
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        printed = running.said()
    assert (printed.count("\n"), json.loads(printed)) == (1, said)
    assert set(said) == KEYS_OF_THE_DESIGN
    assert set(said["box_pages"]) == mine | others
    assert (len(mine), len(others), mine & others) == (2, 2, set())
    assert [b"<title>" in page for page in pages] == [True] * 4
    assert len(family) >= 8, "the demo, its API, its worker, its gateway, four boxes"
    assert (running.process.returncode, left) == (0, set())
    assert seconds < STOP_SECONDS


def test_without_a_broker_the_demo_runs_and_says_that_it_has_no_boxes() -> None:
    with running_demo(PICKUPBOX_MQTT_URL=f"mqtt://127.0.0.1:{free_port()}") as running:
        assert "It has no boxes to play with." in running.said_when_ready("Ctrl-C")
