"""KERONG CU16 boards on one RS-485 bus: 16 locks each, addresses 0x00 to 0x9F, 19200 8N1.

A frame is `02 ADDR CMD [DATA …] 03 SUM`; ADDR is the board (high nibble) and the lock (low nibble), SUM the low byte of
the sum of all before it. `31` releases a lock. `30` asks a board, which answers `35` with one bit per lock: DATA1 locks
1 to 8, DATA2 locks 9 to 16, lowest bit first. Answers with two bytes of data are described, and ones with two more for
infrared sensors: both are taken, the first two bytes mean the same. Whether 1 means closed or open is a setting: boards
differ. Whether a release is answered is not sure: so a board is asked for its status before, which shows that it lives,
and whatever it says after is let pass.
"""

import asyncio
import logging
import termios
import threading
import time
from collections.abc import Sequence

import serial

from pickupbox.box.drivers import DriverError

log = logging.getLogger(__name__)

LOCKS = 16
BOARDS = 10
STX, ETX = 0x02, 0x03
STATUS, UNLOCK, STATUS_ANSWER = 0x30, 0x31, 0x35
ANSWER_LENGTHS = (9, 7)
ANSWER_SECONDS = 0.15  # nine bytes take 5 ms at 19200
READ_SECONDS = 0.02
SETTLE_SECONDS = 0.05
TRIES = 2
BROKEN = (OSError, termios.error)  # the adapter was pulled; SerialException is an OSError, termios.error is not


def frame(board: int, lock: int, command: int) -> bytes:
    body = bytes((STX, board << 4 | lock, command, ETX))
    return body + bytes((sum(body) & 0xFF,))


def find_answer(board: int, received: bytes) -> int | None:
    """The 16 bits of the first whole status answer of this board in what was received, noise before it or not."""
    for start in range(len(received)):
        if received[start] != STX:
            continue
        for length in ANSWER_LENGTHS:
            found = received[start : start + length]
            if len(found) == length and _is_answer(board, found):
                return found[3] | found[4] << 8
    return None


def _is_answer(board: int, found: bytes) -> bool:
    return (
        found[1] >> 4 == board
        and found[2] == STATUS_ANSWER
        and found[-2] == ETX
        and found[-1] == sum(found[:-1]) & 0xFF
    )


class Cu16Driver:
    """The compartments lie in the order of the locks: the first 16 on board 0, the next on board 1."""

    def __init__(self, port: str, compartments: Sequence[str], open_bit: int) -> None:
        if len(compartments) > BOARDS * LOCKS:
            raise ValueError(f"more than {BOARDS * LOCKS} compartments on one bus")
        self._port = port
        self._places = {code: divmod(number, LOCKS) for number, code in enumerate(compartments)}
        self._boards = range(-(-len(compartments) // LOCKS))
        self._open_bit = open_bit
        self._bus: serial.Serial | None = None
        self._turn = threading.Lock()  # a call that was given up still ends in its thread

    async def unlock(self, compartment: str) -> None:
        await asyncio.to_thread(self._unlock, *self._places[compartment])

    async def read(self) -> dict[str, bool]:
        bits = await asyncio.to_thread(self._read)
        return {
            code: (bits[board] >> lock & 1) == self._open_bit
            for code, (board, lock) in self._places.items()
            if board in bits
        }

    def close(self) -> None:
        with self._turn:
            self._hang_up()

    def _unlock(self, board: int, lock: int) -> None:
        with self._turn:
            if self._status(board) is None:
                raise DriverError(f"board {board} did not answer")
            try:
                bus = self._dial()
                bus.write(frame(board, lock, UNLOCK))
                # Two talkers on one pair of wires hear nothing: let the board finish before the next question.
                bus.timeout = SETTLE_SECONDS
                bus.read(max(ANSWER_LENGTHS))
                bus.timeout = READ_SECONDS
            except BROKEN as error:
                # What was written may have arrived: the lock counts as released, and the sensor will say.
                self._hang_up()
                log.warning("the bus broke while a lock was released: %s", error)

    def _read(self) -> dict[int, int]:
        with self._turn:
            answers = {board: self._status(board) for board in self._boards}
        found = {board: bits for board, bits in answers.items() if bits is not None}
        if not found:
            raise DriverError("no board answered")
        return found

    def _status(self, board: int) -> int | None:
        for _ in range(TRIES):
            try:
                bits = self._ask(board)
            except BROKEN:
                # The adapter was pulled or reset: open it again at the next try.
                self._hang_up()
                continue
            if bits is not None:
                return bits
        return None

    def _ask(self, board: int) -> int | None:
        bus = self._dial()
        bus.reset_input_buffer()
        bus.write(frame(board, 0, STATUS))
        received = b""
        end = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < end:
            received += bus.read(max(1, bus.in_waiting))
            bits = find_answer(board, received)
            if bits is not None:
                return bits
        return None

    def _dial(self) -> serial.Serial:
        if self._bus is None:
            self._bus = serial.Serial(self._port, 19200, timeout=READ_SECONDS, write_timeout=0.5, exclusive=True)
        return self._bus

    def _hang_up(self) -> None:
        if self._bus is not None:
            self._bus.close()
            self._bus = None
