"""A new box, with nothing but its device id and a code: through the real API it gets its key and certificate."""

import os
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from pickupbox.certificates import new_authority, read_authority
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.devices import enroll
from tests.box.street import new_device
from tests.box.test_identity import assert_usable
from tests.devices.street import operator
from tests.support.processes import api_process
from tests.support.shop import Shop

SETTING = new_authority("Test devices", datetime.now(UTC))


def enroll_box(pair: Path, device: str, service: str, code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pickupbox.box", "enroll", service],
        env={
            **os.environ,
            "PICKUPBOX_BOX_DEVICE": device,
            "PICKUPBOX_BOX_COMPARTMENTS": "A1",
            "PICKUPBOX_BOX_IDENTITY_FILE": str(pair),
        },
        input=f"{code}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def test_a_code_becomes_a_pair_in_one_file_once(
    shop: Shop, core: Core, settings: Settings, tmp_path: Path
) -> None:
    made = await enroll(replace(core, authority=read_authority(SETTING)), operator(shop), shop.box_id)
    assert made is not None
    pair = tmp_path / "identity.pem"
    with api_process(settings.model_copy(update={"device_authority": SecretStr(SETTING)}), tmp_path / "log") as base:
        service = base.removesuffix("/v1")
        wrong = enroll_box(pair, made.device, service, "AAAA-AAAA-AAAA-AAAA")
        assert (wrong.returncode, pair.exists()) == (2, False)
        assert "the service refused the code (404)" in wrong.stderr
        nowhere = enroll_box(tmp_path / "no" / "pair", made.device, service, made.code)
        assert (nowhere.returncode, "not a folder" in nowhere.stderr) == (2, True)
        done = enroll_box(pair, made.device, service, made.code.lower())
        assert done.returncode == 0, done.stderr
        kept = pair.read_text()
        assert_usable(pair, made.device)
        again = enroll_box(pair, made.device, service, made.code)
        assert (again.returncode, pair.read_text()) == (2, kept)
    away = enroll_box(pair, made.device, service, made.code)
    assert "the service does not answer" in away.stderr
    assert stat.S_IMODE(pair.stat().st_mode) == 0o600


@pytest.mark.parametrize("service", ["http://shop.example", "ftp://127.0.0.1", "shop.example"])
def test_a_code_goes_over_https_alone(tmp_path: Path, service: str) -> None:
    refused = enroll_box(tmp_path / "identity.pem", new_device(), service, "AAAA")
    assert (refused.returncode, refused.stderr) == (2, "the service's address is not https://…\n")
