"""The driver for CU16 boards, against boards that speak bytes on a pseudo-terminal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.box.drivers import DriverError
from pickupbox.box.drivers.cu16 import Cu16Driver, find_answer, frame
from tests.box.boards import Boards, on_a_bus, with_sum

TWELVE = [f"A{number}" for number in range(1, 13)]
TWENTY = [f"A{number}" for number in range(1, 21)]


@asynccontextmanager
async def driving(boards: Boards, compartments: list[str] = TWELVE, open_bit: int = 0) -> AsyncIterator[Cu16Driver]:
    with on_a_bus(boards) as port:
        driver = Cu16Driver(port, compartments, open_bit)
        try:
            yield driver
        finally:
            driver.close()


def test_a_frame_is_start_address_command_end_and_sum() -> None:
    assert frame(0, 0, 0x30).hex(" ") == "02 00 30 03 35"
    assert frame(0, 0, 0x31).hex(" ") == "02 00 31 03 36"
    assert frame(1, 15, 0x31).hex(" ") == "02 1f 31 03 55"
    assert frame(9, 15, 0x31).hex(" ") == "02 9f 31 03 d5"


async def test_a_lock_is_released_at_its_own_address() -> None:
    boards = Boards(bits={0: 0xFFFF, 1: 0xFFFF})
    async with driving(boards, TWENTY) as driver:
        for code in ("A1", "A16", "A17", "A20"):
            await driver.unlock(code)
    assert boards.released == [(0, 0), (0, 15), (1, 0), (1, 3)]
    assert boards.strange == []


@pytest.mark.parametrize("infrared", [True, False])
@pytest.mark.parametrize("open_bit", [0, 1])
async def test_doors_are_read_in_both_polarities_and_both_lengths(open_bit: int, infrared: bool) -> None:
    boards = Boards(bits={0: 0b0000_1001_0000_0010}, infrared=infrared)
    async with driving(boards, open_bit=open_bit) as driver:
        ones = {"A2", "A9", "A12"}
        assert await driver.read() == {code: (code in ones) == (open_bit == 1) for code in TWELVE}


async def test_two_boards_are_read_as_one_cabinet() -> None:
    boards = Boards(bits={0: 0xFFFF & ~(1 << 15), 1: 0xFFFF & ~(1 << 3)})
    async with driving(boards, TWENTY) as driver:
        assert {code for code, is_open in (await driver.read()).items() if is_open} == {"A16", "A20"}


async def test_a_board_that_is_away_hides_its_own_doors_only() -> None:
    async with driving(Boards(bits={1: 0xFFFF}), TWENTY) as driver:
        assert sorted(await driver.read()) == ["A17", "A18", "A19", "A20"]
        with pytest.raises(DriverError, match="board 0"):
            await driver.unlock("A1")
        await driver.unlock("A17")


async def test_a_wrong_sum_is_no_answer() -> None:
    async with driving(Boards(wrong_sum=True)) as driver:
        with pytest.raises(DriverError):
            await driver.read()


async def test_silence_is_an_error_and_one_lost_answer_is_not() -> None:
    boards = Boards(silent=1)
    async with driving(boards) as driver:
        assert len(await driver.read()) == 12
        boards.silent = 1_000
        with pytest.raises(DriverError):
            await driver.read()
        with pytest.raises(DriverError):
            await driver.unlock("A1")
    assert boards.released == []


@pytest.mark.parametrize(
    "noise", [b"\x00\xff", b"\x02", b"\x02\x00\x35", b"\x02\x00\x35\xff\xff\x03\x00", b"\x03" * 40]
)
async def test_noise_before_the_frame_is_let_pass(noise: bytes) -> None:
    boards = Boards(bits={0: 0xFFFE}, noise_before=noise)
    async with driving(boards) as driver:
        assert [code for code, is_open in (await driver.read()).items() if is_open] == ["A1"]


async def test_endless_noise_ends() -> None:
    async with driving(Boards(noise_before=b"\x02" * 2_000, wrong_sum=True)) as driver:
        with pytest.raises(DriverError):
            await driver.read()


@pytest.mark.parametrize("length", range(1, 7))
async def test_half_a_frame_is_no_answer(length: int) -> None:
    boards = Boards(cut_to=length)
    async with driving(boards) as driver:
        with pytest.raises(DriverError):
            await driver.read()
        boards.cut_to = None
        assert len(await driver.read()) == 12


async def test_a_frame_in_pieces_is_put_together() -> None:
    async with driving(Boards(bits={0: 0xFFFE}, in_pieces=True)) as driver:
        assert (await driver.read())["A1"]


async def test_the_answer_of_another_board_is_not_taken() -> None:
    async with driving(Boards(other_address=0x10)) as driver:
        with pytest.raises(DriverError):
            await driver.read()


@pytest.mark.parametrize("answers", [True, False])
async def test_a_board_may_answer_a_release_or_not(answers: bool) -> None:
    boards = Boards(answers_unlock=answers, echoes=answers)
    async with driving(boards) as driver:
        await driver.unlock("A3")
        assert len(await driver.read()) == 12
    assert boards.released == [(0, 2)]


async def test_a_port_that_comes_back_is_opened_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    port = tmp_path_factory.mktemp("bus") / "port"
    driver = Cu16Driver(str(port), TWELVE, 0)
    with pytest.raises(DriverError):
        await driver.read()
    for _ in range(2):
        with on_a_bus(Boards()) as path:
            port.unlink(missing_ok=True)
            port.symlink_to(path)
            assert len(await driver.read()) == 12
        with pytest.raises(DriverError):  # pulled
            await driver.read()
    driver.close()


@given(st.binary(max_size=40), st.integers(0, 9), st.integers(0, 0xFFFF), st.booleans())
def test_an_answer_is_found_behind_any_noise_that_is_no_answer(
    noise: bytes, board: int, bits: int, longer: bool
) -> None:
    data = (bits & 0xFF, bits >> 8, 0, 0) if longer else (bits & 0xFF, bits >> 8)
    whole = with_sum(2, board << 4, 0x35, *data, 3)
    found = find_answer(board, noise + whole)
    if find_answer(board, noise + whole[:-1]) is None:
        assert found == bits
