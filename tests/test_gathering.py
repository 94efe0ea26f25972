"""Natural batching: who goes together, and whom a failure concerns."""

import asyncio
from collections.abc import Sequence

import pytest

from pickupbox.gathering import BATCH_LIMIT, Gathering


class Asked:
    """Answers every number with its double, when it is let; keeps what went together."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may_answer = asyncio.Event()
        self.away = False

    async def ask_many(self, questions: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(questions))
        await self.may_answer.wait()
        if self.away:
            raise ConnectionError("away")
        if any(question < 0 for question in questions):
            raise ValueError("a bad question")
        return [2 * question for question in questions]


@pytest.fixture
async def asked() -> Asked:
    return Asked()


@pytest.fixture
async def gathering(asked: Asked) -> Gathering[int, int]:
    return Gathering(asked.ask_many, blames_one=lambda error: isinstance(error, ValueError))


async def turns(number: int = 5) -> None:
    """Let everyone who can go on do so."""
    for _ in range(number):
        await asyncio.sleep(0)


async def answers(asking: Sequence[asyncio.Task[int]]) -> list[int | BaseException]:
    """What each caller got; a caller that is left waiting fails the test."""
    return await asyncio.wait_for(asyncio.gather(*asking, return_exceptions=True), timeout=2)


async def behind_one_under_way(
    gathering: Gathering[int, int], asked: Asked, questions: Sequence[int]
) -> list[asyncio.Task[int]]:
    """Question 0 is under way; the others have gathered behind it."""
    asking = [asyncio.create_task(gathering.ask(0))]
    await turns()
    asking += [asyncio.create_task(gathering.ask(question)) for question in questions]
    await turns()
    assert asked.batches == [[0]]
    return asking


async def test_a_lone_question_is_asked_at_once_and_alone(gathering: Gathering[int, int], asked: Asked) -> None:
    asked.may_answer.set()
    assert await asyncio.wait_for(gathering.ask(1), timeout=1) == 2
    assert await asyncio.wait_for(gathering.ask(2), timeout=1) == 4
    assert asked.batches == [[1], [2]]


async def test_questions_gather_while_one_is_under_way_and_each_gets_its_own_answer(
    gathering: Gathering[int, int], asked: Asked
) -> None:
    asking = await behind_one_under_way(gathering, asked, [1, 2, 3])
    asked.may_answer.set()
    assert await answers(asking) == [0, 2, 4, 6]
    assert asked.batches == [[0], [1, 2, 3]]


async def test_no_more_go_together_than_the_limit(gathering: Gathering[int, int], asked: Asked) -> None:
    questions = list(range(1, BATCH_LIMIT * 2 + 6))
    asking = await behind_one_under_way(gathering, asked, questions)
    asked.may_answer.set()
    assert await answers(asking) == [0, *(2 * question for question in questions)]
    assert [len(batch) for batch in asked.batches] == [1, BATCH_LIMIT, BATCH_LIMIT, 5]


async def test_one_bad_question_fails_only_itself(gathering: Gathering[int, int], asked: Asked) -> None:
    asking = await behind_one_under_way(gathering, asked, [1, -2, 3])
    asked.may_answer.set()
    got = await answers(asking)
    assert [got[0], got[1], got[3]] == [0, 2, 6]
    assert isinstance(got[2], ValueError)
    assert asked.batches[1:] == [[1, -2, 3], [1], [-2], [3]]


async def test_a_failure_that_no_question_is_to_blame_for_reaches_every_caller_and_is_not_repeated(
    gathering: Gathering[int, int], asked: Asked
) -> None:
    asking = await behind_one_under_way(gathering, asked, [1, 2])
    asked.away = True
    asked.may_answer.set()
    got = await answers(asking)
    assert [type(answer) for answer in got] == [ConnectionError] * 3
    assert asked.batches == [[0], [1, 2]]


async def test_a_caller_that_goes_away_does_not_hurt_its_neighbours(
    gathering: Gathering[int, int], asked: Asked
) -> None:
    asking = await behind_one_under_way(gathering, asked, [1, 2, 3])
    asking[2].cancel()
    await turns()
    asked.may_answer.set()
    got = await answers(asking)
    assert [got[0], got[1], got[3]] == [0, 2, 6]
    assert isinstance(got[2], asyncio.CancelledError)
    assert asked.batches[1] == [1, 3]


async def test_a_caller_that_goes_away_under_way_does_not_hurt_its_neighbours(
    gathering: Gathering[int, int], asked: Asked
) -> None:
    asking = [asyncio.create_task(gathering.ask(question)) for question in (1, 2, 3)]
    await turns()
    assert asked.batches == [[1, 2, 3]]
    asking[0].cancel()
    await turns()
    asked.may_answer.set()
    assert await answers(asking[1:]) == [4, 6]
    assert asking[0].cancelled()


async def test_the_next_question_is_answered_after_a_failure(gathering: Gathering[int, int], asked: Asked) -> None:
    asked.away = True
    asked.may_answer.set()
    with pytest.raises(ConnectionError):
        await gathering.ask(1)
    asked.away = False
    assert await gathering.ask(2) == 4


async def test_a_lone_bad_question_is_asked_once(gathering: Gathering[int, int], asked: Asked) -> None:
    asked.may_answer.set()
    with pytest.raises(ValueError, match="bad question"):
        await gathering.ask(-1)
    assert asked.batches == [[-1]]
