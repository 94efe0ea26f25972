"""Plants each fault in a copy of the source, runs the tests that must notice, and says who slept."""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.planted import faults, street_faults
from tests.planted.fault import Fault

ROOT = Path(__file__).parents[2]
FAULTS = (*faults.FAULTS, *street_faults.FAULTS)
AT_ONCE = 2
SECONDS = 300
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:schemathesis")  # the second takes as long to import as all of ours
FAILED = 1  # pytest's exit status for failed tests; any other but 0 means that it did not get so far


def refuse_what_does_not_fit() -> None:
    for fault in FAULTS:
        times = (ROOT / "src/pickupbox" / fault.file).read_text().count(fault.old)
        if times != 1:
            raise SystemExit(f"{fault.file} has {times} times: {fault.old!r}; mend the list of faults")


def plant(fault: Fault, source: Path) -> None:
    file = source / "pickupbox" / fault.file
    file.write_text(file.read_text().replace(fault.old, fault.new))


def run(fault: Fault) -> tuple[Fault, str]:
    with tempfile.TemporaryDirectory(prefix="pickupbox-planted-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source)
        plant(fault, source)
        environment = {**os.environ, "PYTHONPATH": str(source), "PICKUPBOX_MODEL_HISTORIES": "60"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", *WITHOUT, fault.caught_by]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    if done.returncode == FAILED:
        noticed = next((line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), "caught")
        return fault, noticed.partition(" - ")[0].removeprefix("FAILED ")
    if done.returncode == 0:
        return fault, ""
    raise SystemExit(f"{fault.name}: the tests did not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def main() -> None:
    refuse_what_does_not_fit()
    wanted = [fault for fault in FAULTS if all(word in fault.name for word in sys.argv[1:])]
    table = Table("Planted", "Caught by")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(run, wanted))
    for fault, noticed in results:
        table.add_row(fault.name, noticed or "[red]nobody[/red]")
    Console().print(table)
    missed = sum(not noticed for _, noticed in results)
    print(f"{len(results) - missed} of {len(results)} planted faults caught")
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
