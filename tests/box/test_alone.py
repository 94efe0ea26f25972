"""The box stands alone: nothing of the service is loaded, and a small board has room for it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.box.street import Broker, a_service, new_device
from tests.support.waiting import until

MEGABYTES = 64
LOADED = """
import sys
import pickupbox.box.program, pickupbox.box.__main__, pickupbox.box.drivers.cu16, pickupbox.box.page.process
print(*sorted(sys.modules))
"""
# What of our own the box may load: itself, the wire, and what the wire takes from the domain, which is pure.
OURS = {"devices", "devices.messages", "devices.values", "devices.wire"}
# The libraries that the box needs; the rest is Python's own.
THEIRS = {"aiomqtt", "paho", "serial", "termios"}


def test_the_box_loads_the_wire_and_nothing_else_of_the_service() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=60, check=True)
    names = set(loaded.stdout.split())
    ours = {name.removeprefix("pickupbox.") for name in names if name.startswith("pickupbox.")}
    assert {name for name in ours if name.partition(".")[0] not in ("box", "domain")} <= OURS
    tops = {name.partition(".")[0] for name in names}
    assert tops - THEIRS - {"pickupbox"} - sys.stdlib_module_names - helpers_of_this_environment() == set()


def helpers_of_this_environment() -> set[str]:
    """What this Python loads before anything is asked for, such as the hook of an editable install."""
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return {name.partition(".")[0] for name in bare.stdout.split()}


async def test_a_running_box_stays_under_64_mib_and_stops_when_it_is_told(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    environment = {
        **os.environ,
        "PICKUPBOX_BOX_DEVICE": device,
        "PICKUPBOX_BOX_COMPARTMENTS": ",".join(f"A{number}" for number in range(160)),
        "PICKUPBOX_BOX_JOURNAL": str(tmp_path / "journal"),
        "PICKUPBOX_BOX_MQTT_URL": f"mqtt://127.0.0.1:{broker.port}",
    }
    async with a_service(broker, device) as service:
        box = start(environment)
        try:
            await until(lambda: service.entries() == [1])
            for number in range(160):
                await service.tell(service.opening(f"A{number}"))
            await until(lambda: len(service.said()) == 320)
            assert peak_kib(box.pid) < MEGABYTES * 1024
            box.send_signal(signal.SIGTERM)
            assert box.wait(10) == 0
        finally:
            box.kill()
            box.wait(10)


def start(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "pickupbox.box", "run"], env=environment)


def peak_kib(process: int) -> int:
    """The most memory that the process ever had resident."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def test_a_wrong_setting_is_named_and_nothing_starts() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PICKUPBOX_BOX_")}
    box = subprocess.run(
        [sys.executable, "-m", "pickupbox.box", "run"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = "PICKUPBOX_BOX_DEVICE is not set: it is the dev_… that `pickupbox box enroll` prints.\n"
    assert (box.returncode, box.stderr) == (2, said)
