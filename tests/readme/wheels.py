"""`just wheels`: both packages as wheels in a clean environment. The demo runs from it; the SDK's tests pass on it."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

from tests.readme.demos import running_demo, without_settings
from tests.style.sources import ROOT

SECONDS = 300
RESERVE = """
import sys
from pickupbox_sdk import Pickupbox
with Pickupbox(*sys.argv[1:]) as pickup:
    print(pickup.create_shipment(pickup.list_boxes()[0].id, "order-1").status)
"""


def run(*command: str | Path, folder: Path) -> str:
    environment = {name: value for name, value in without_settings().items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def install(folder: Path) -> Path:
    """A clean environment with both wheels and what they ask for, and pytest; where its programs are."""
    for package in (ROOT, ROOT / "sdk"):
        run(
            "uv", "build", "--quiet", "--wheel", "--python", sys.executable, "--out-dir", folder, package, folder=folder
        )
    (service,) = folder.glob("pickupbox-*.whl")
    (sdk,) = folder.glob("pickupbox_sdk-*.whl")
    run("uv", "venv", "--quiet", "--python", sys.executable, folder / "clean", folder=folder)
    python = folder / "clean" / "bin" / "python"
    run("uv", "pip", "install", "--quiet", "--python", python, f"{service}[server]", sdk, "pytest", folder=folder)
    return python.parent


def read(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - the demo's own loopback address
        content: bytes = answer.read()
    return content


def try_demo(programs: Path, folder: Path) -> None:
    with running_demo("--json", program=[str(programs / "pickupbox")]) as demo:
        said = json.loads(demo.said_when_ready("{"))
        pages = {
            "the API's reference": f"{said['base_url']}/docs",
            "the administration": said["admin_url"],
            "a box": next(iter(said["box_pages"].values())),
        }
        for name, address in pages.items():
            page = read(address)
            parts = re.findall(rb'(?:src|href)="([^"]+\.(?:js|css)[^"]*)"', page)
            size = sum(len(read(urllib.parse.urljoin(address, part.decode()))) for part in parts)
            print(f"{name}: {len(page):,} bytes, and {size:,} in {len(parts)} scripts and style sheets")
        status = run(programs / "python", "-c", RESERVE, said["api_key"], said["base_url"], folder=folder)
        print("by the SDK:", status.strip())


def try_sdk(programs: Path, folder: Path) -> None:
    shutil.copytree(ROOT / "sdk", folder / "sdk", ignore=shutil.ignore_patterns("src", "__pycache__", ".*"))
    print("the SDK's tests:", run(programs / "python", "-m", "pytest", "-q", folder=folder / "sdk").splitlines()[-1])


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        programs = install(folder)
        try_demo(programs, folder)
        try_sdk(programs, folder)


if __name__ == "__main__":
    main()
