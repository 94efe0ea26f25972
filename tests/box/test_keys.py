"""Keys from a device: each in order, and again after the device was away."""

import asyncio
import os
import tty
from pathlib import Path
from select import select

import pytest

from pickupbox.box import keys
from pickupbox.box.keys import KEYS_AT_ONCE, read_keys
from tests.support.waiting import until


async def test_keys_arrive_in_order_also_when_the_device_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "AGAIN_SECONDS", 0.05)
    port, pressed = tmp_path / "keypad", []

    async def press(key: str) -> None:
        pressed.append(key)

    reading = asyncio.create_task(read_keys(port, press))
    for typed in (b"12*", b"3#\xff4"):
        near, far = os.openpty()
        tty.setraw(far)
        port.unlink(missing_ok=True)
        port.symlink_to(os.ttyname(far))
        expected = [*pressed, *typed.decode("ascii", "ignore")]
        os.write(near, typed)
        await until(lambda: pressed == expected)  # noqa: B023
        os.close(near)
        os.close(far)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert pressed == ["1", "2", "*", "3", "#", "4"]


async def test_a_key_does_not_wait_for_the_one_before_and_a_flood_is_dropped(tmp_path: Path) -> None:
    pipe, pressed, go = tmp_path / "keypad", [], asyncio.Event()
    os.mkfifo(pipe)

    async def press(key: str) -> None:
        pressed.append(key)
        await go.wait()

    reading = asyncio.create_task(read_keys(pipe, press))
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, b"12")
    await until(lambda: pressed == ["1", "2"])
    os.write(writer, b"3" * 1_000)
    await until(lambda: select([writer], [], [], 0)[0] == [])  # all was read
    go.set()
    await until(lambda: os.write(writer, b"4") and pressed[-1] == "4")
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    os.close(writer)
    assert pressed.count("3") == KEYS_AT_ONCE - 2
