"""What boxes are told without having asked: commands of operators, simulated events, rosters."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from pickupbox.database import commands
from pickupbox.database.commands import EXPIRY_SECONDS, SIMULATION_SECONDS, Command
from pickupbox.devices.messages import Message, Open, Roster, Simulated
from pickupbox.domain.doors import Purpose, Simulation
from pickupbox.domain.grants import write_grant
from pickupbox.usecases.core import Core
from pickupbox.usecases.rosters import NewRoster, make_rosters

LOOK_SECONDS = 2.0
BATCH = 100
ROSTER_SECONDS = 60  # a box that was away longer says with its heartbeat that it has an old one
GRANTS_PER_PART = 100

type Publish = Callable[[str, Message, int | None], Awaitable[bool]]


class Outbox:
    """Looks when the bell rings, and every two seconds for what was left by a gateway that died."""

    def __init__(self, core: Core, publish: Publish) -> None:
        self._core = core
        self._publish = publish
        self._rung = asyncio.Event()

    async def hear_bell(self) -> None:
        await self._core.db.listen(self._rung.set, asyncio.Event())

    async def look(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._rung.wait()
        self._rung.clear()
        await self._send_commands()
        await self._send_rosters()

    async def send(self, command: Command) -> bool:
        message = _message_of(command)
        expiry = SIMULATION_SECONDS if isinstance(message, Simulated) else EXPIRY_SECONDS
        return await self._publish(command.device_id, message, expiry)

    async def _send_commands(self) -> None:
        async with self._core.db.connection() as connection:
            left = await commands.take_unsent(connection, LOOK_SECONDS, BATCH)
        sent = await asyncio.gather(*(self.send(command) for command in left))
        if not all(sent):
            failed = [command.id for command, was_sent in zip(left, sent, strict=True) if not was_sent]
            async with self._core.db.connection() as connection:
                await commands.give_back(connection, failed)

    async def _send_rosters(self) -> None:
        """One that does not arrive is missed by the next heartbeat's answer, and made anew."""
        for roster in await make_rosters(self._core, BATCH):
            for part in self._parts(roster):
                await self._publish(roster.device_id, part, ROSTER_SECONDS)

    def _parts(self, roster: NewRoster) -> Sequence[Roster]:
        lines = [write_grant(grant) for grant in roster.grants]
        parts = [lines[start : start + GRANTS_PER_PART] for start in range(0, len(lines), GRANTS_PER_PART)] or [[]]
        return [
            Roster(
                id=self._core.new_id("msg"),
                at=datetime.now(UTC),
                version=roster.version,
                part=number,
                parts=len(parts),
                key=roster.key.hex(),
                grants=grants,
            )
            for number, grants in enumerate(parts, start=1)
        ]


def _message_of(command: Command) -> Open | Simulated:
    if command.purpose in set(Simulation):
        simulation = Simulation(command.purpose)
        return Simulated(
            id=command.id, at=command.created_at, compartment=command.compartment_code, simulation=simulation
        )
    return Open(
        id=command.id,
        at=datetime.now(UTC),
        compartment=command.compartment_code,
        purpose=Purpose(command.purpose),
        expires_at=command.expires_at,
        about=command.about,
    )
