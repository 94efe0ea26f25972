"""The cable to the broker. A real box's is just there; the page of a virtual box listens at it, cuts and mends it."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

import aiomqtt

from pickupbox.devices.messages import Message


class Cable:
    """`passes` is told of every message, up and down; one from the service for which it says no does not arrive."""

    def __init__(self, passes: Callable[[Message], bool] = lambda _: True) -> None:
        self.passes = passes
        self._whole = asyncio.Event()
        self._whole.set()
        self._carried: aiomqtt.Client | None = None

    def cut(self) -> None:
        """Both ends see the connection break off, without a goodbye."""
        self._whole.clear()
        ours = None if self._carried is None else self._carried._client.socket()  # aiomqtt itself does not show it
        if isinstance(ours, socket.socket):
            with suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._whole.set()

    async def plugged(self, stop: asyncio.Event) -> bool:
        """Wait while it is cut; False: the program is to stop."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._whole, stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        return not stop.is_set()

    async def carry(self, client: aiomqtt.Client) -> None:
        """The connection that a cut breaks, until this is cancelled."""
        self._carried = client
        try:
            if not self._whole.is_set():  # cut while it was being made
                self.cut()
            await asyncio.Event().wait()
        finally:
            self._carried = None
