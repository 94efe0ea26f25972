"""CU16 boards down to the byte, at the other end of a pseudo-terminal."""

import os
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from select import select


def with_sum(*body: int) -> bytes:
    return bytes(body) + bytes((sum(body) & 0xFF,))


@dataclass
class Boards:
    """What the boards are like, and what they were told. `bits` are the raw bits of each board that is there."""

    bits: dict[int, int] = field(default_factory=lambda: {0: 0xFFFF})
    infrared: bool = True
    noise_before: bytes = b""
    wrong_sum: bool = False
    cut_to: int | None = None
    in_pieces: bool = False
    silent: int = 0  # how many questions are still not answered
    answers_unlock: bool = True
    other_address: int | None = None
    echoes: bool = False
    released: list[tuple[int, int]] = field(default_factory=list)
    strange: list[bytes] = field(default_factory=list)

    def hear(self, frame: bytes) -> bytes:
        heard = frame if self.echoes else b""
        start, address, command, end, _ = frame
        if (start, end) != (2, 3) or frame != with_sum(*frame[:-1]) or command not in (0x30, 0x31):
            self.strange.append(frame)
            return heard
        board, lock = address >> 4, address & 0x0F
        if board not in self.bits:
            return heard
        if command == 0x31:
            self.released.append((board, lock))
            return heard + (self._answer(board) if self.answers_unlock else b"")
        if self.silent:
            self.silent -= 1
            return heard
        return heard + self.noise_before + self._answer(board)

    def _answer(self, board: int) -> bytes:
        address = board << 4 if self.other_address is None else self.other_address
        low, high = self.bits[board] & 0xFF, self.bits[board] >> 8
        data = (low, high, 0xA5, 0x5A) if self.infrared else (low, high)
        answer = with_sum(2, address, 0x35, *data, 3)
        if self.wrong_sum:
            answer = answer[:-1] + bytes((answer[-1] ^ 1,))
        return answer[: self.cut_to]


@contextmanager
def on_a_bus(boards: Boards) -> Iterator[str]:
    """The path of the serial port that the boards hang on."""
    near, far = os.openpty()
    tty.setraw(near)
    tty.setraw(far)
    done_read, done_write = os.pipe()
    bus = threading.Thread(target=_serve, args=(boards, near, done_read))
    bus.start()
    try:
        yield os.ttyname(far)
    finally:
        os.close(done_write)
        bus.join(10)
        for descriptor in (near, far, done_read):
            os.close(descriptor)


def _serve(boards: Boards, near: int, done: int) -> None:
    received = b""
    while done not in (ready := select([near, done], [], [], 10)[0]) and ready:
        received += os.read(near, 256)
        while len(received) >= 5:
            answer, received = boards.hear(received[:5]), received[5:]
            for piece in [answer[i : i + 1] for i in range(len(answer))] if boards.in_pieces else [answer]:
                os.write(near, piece)
