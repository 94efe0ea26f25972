"""`just quickstart`: docs/quickstart.md as a newcomer follows it, from a clean clone, timed per step."""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pickupbox.database import schema
from tests.readme import walk
from tests.readme.demos import without_settings
from tests.style.sources import ROOT, files
from tests.support.databases import SERVER_URL
from tests.support.processes import free_port

PAGE = ROOT / "docs" / "quickstart.md"
FIRST_RESERVATION = "Reserve a compartment"
FIRST_RESERVATION_SECONDS = 3 * 60.0
WHOLE_SECONDS = 10 * 60.0


def clone(folder: Path) -> Path:
    """The files that git knows or would take, and nothing that was built from them."""
    to = folder / "pickupbox"
    for path in files():
        copied = to / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copied)
    return to


def newcomer(home: Path, shop_port: int) -> dict[str, str]:
    """Nothing of ours is set, and no virtual environment is active; the package caches are those of this machine."""
    own = {"PICKUPBOX_DATABASE_URL": SERVER_URL, "XDG_STATE_HOME": str(home), "PORT": str(shop_port)}
    without = {name: value for name, value in without_settings().items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    path = [one for one in os.environ["PATH"].split(":") if one != str(ROOT / ".venv" / "bin")]
    return without | own | {"PATH": ":".join(path)}


def main() -> None:
    port, shop_port = free_port(), free_port()
    page = PAGE.read_text().replace("just demo", f"just demo --fresh --port {port}").replace("5000", str(shop_port))
    steps: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        cloned = clone(Path(folder))
        try:
            for walked in walk.follow(walk.blocks(page), cloned, newcomer(Path(folder), shop_port), Path(folder)):
                walked.check()
                steps[walked.block.step] = steps.get(walked.block.step, 0.0) + walked.seconds
        finally:
            asyncio.run(schema.drop_database(SERVER_URL, f"pickupbox_demo_{port}"))
    _show(steps)
    until_first = sum(list(steps.values())[: list(steps).index(FIRST_RESERVATION) + 1])
    if until_first > FIRST_RESERVATION_SECONDS or sum(steps.values()) > WHOLE_SECONDS:
        sys.exit(f"Too long: {until_first:.0f} s to the first reservation, {sum(steps.values()):.0f} s in all.")


def _show(steps: dict[str, float]) -> None:
    table = Table("docs/quickstart.md from a clean clone", "seconds")
    for step, seconds in steps.items():
        table.add_row(step, f"{seconds:.1f}")
    table.add_row("all", f"{sum(steps.values()):.1f}", style="bold")
    Console().print(table)


if __name__ == "__main__":
    main()
