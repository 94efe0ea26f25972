"""Natural batching: while one statement is under way, the next questions gather and then go together.

A lone question never waits. Each caller gets its own answer. If a whole batch fails for a reason that may
lie in one of its questions, every question is asked again alone.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

BATCH_LIMIT = 100


class Gathering[Question, Answer]:
    def __init__(
        self,
        ask_many: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]],
        *,
        blames_one: Callable[[Exception], bool],
    ) -> None:
        self._ask_many = ask_many
        self._blames_one = blames_one
        self._waiting: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        self._under_way: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if self._under_way is None:
            self._under_way = asyncio.create_task(self._drain())
        return await answer

    async def _drain(self) -> None:
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(BATCH_LIMIT, len(self._waiting)))]
                # A caller that went away needs no answer.
                await self._settle([(question, answer) for question, answer in batch if not answer.done()])
        finally:
            self._under_way = None

    async def _settle(self, batch: list[tuple[Question, asyncio.Future[Answer]]]) -> None:
        if not batch:
            return
        try:
            answers = await self._ask_many([question for question, _ in batch])
        except Exception as error:  # noqa: BLE001 - it is handed to the callers, none is swallowed
            if len(batch) > 1 and self._blames_one(error):
                for alone in batch:
                    await self._settle([alone])
                return
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
            return
        for (_, answer), result in zip(batch, answers, strict=True):
            if not answer.done():
                answer.set_result(result)
