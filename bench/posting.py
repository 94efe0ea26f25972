"""The bare loop that delivery is held against: the same HTTP client, the same bodies, as many at a time, no database.

`python -m bench.posting PORT COUNT CONCURRENCY`
"""

import asyncio
import sys
from datetime import UTC, datetime

import aiohttp
import uvloop

from pickupbox.domain.lifecycle import Event
from pickupbox.webhooks.bodies import example_of
from pickupbox.webhooks.signing import signed_headers


async def post(port: int, count: int, concurrency: int) -> None:
    body = example_of("bench", "evt_bench_" + "0" * 32, Event.RESERVED, datetime.now(UTC))
    headers = signed_headers([b"\0" * 32], "evt_bench_" + "0" * 32, 1_700_000_000, body)
    headers["Content-Type"] = "application/json"
    left = iter(range(count))

    async def one_after_the_other(session: aiohttp.ClientSession) -> None:
        for _ in left:
            async with session.post(f"http://127.0.0.1:{port}/", data=body, headers=headers) as answer:
                await answer.read()
                if answer.status != 200:
                    raise RuntimeError(f"the receiver answered {answer.status}")

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session, asyncio.TaskGroup() as loops:
        for _ in range(concurrency):
            loops.create_task(one_after_the_other(session))


if __name__ == "__main__":
    uvloop.run(post(*(int(argument) for argument in sys.argv[1:4])))
