"""The bare client that the gateway is held against: it takes the same messages and commits one row for each.

The same shared subscription and QoS 1; uvloop; asyncpg with a prepared INSERT of topic and payload as they came, each
its own commit, on so many connections side by side. It reads no payload, asks nothing, keeps no order and answers
nothing: whoever did less would not keep the messages.

`python -m bench.listener library|lean CONNECTIONS`, with the settings in the environment; it writes `ready` when it
listens. `library` is aiomqtt, what anyone would take; `lean` is the gateway's own session, the fastest that we know.
"""

import asyncio
import sys
from urllib.parse import urlsplit

import aiomqtt
import asyncpg
import uvloop

from pickupbox.devices.messages import Direction
from pickupbox.devices.session import INFLIGHT, connect
from pickupbox.devices.wire import topics_of
from pickupbox.settings import Settings

TABLE = "CREATE TABLE bare_messages (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, topic text, payload bytea)"
INSERT = "INSERT INTO bare_messages (topic, payload) VALUES ($1, $2)"
ALL = f"$share/bare/{topics_of('+', Direction.UP)}"

type Waiting = asyncio.Queue[tuple[str, bytes]]


async def keep(settings: Settings, waiting: Waiting) -> None:
    connection = await asyncpg.connect(settings.database_url)
    insert = await connection.prepare(INSERT)
    while True:
        topic, payload = await waiting.get()
        await insert.fetch(topic, payload)


async def listen_by_library(settings: Settings, waiting: Waiting) -> None:
    url = urlsplit(settings.mqtt_url)
    version = aiomqtt.ProtocolVersion.V5
    async with aiomqtt.Client(url.hostname, url.port, protocol=version, max_inflight_messages=INFLIGHT) as mqtt:
        await mqtt.subscribe(ALL, qos=1)
        say_ready()
        async for message in mqtt.messages:
            waiting.put_nowait((message.topic.value, message.payload))


async def listen_lean(settings: Settings, waiting: Waiting) -> None:
    async with connect(settings, "bare", lambda *said: waiting.put_nowait(said)) as mqtt:
        await mqtt.subscribe(ALL)
        say_ready()
        await mqtt.ended()


def say_ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


async def main(way: str, connections: int) -> None:
    settings, waiting = Settings(), asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(connections):
            tasks.create_task(keep(settings, waiting))
        tasks.create_task((listen_lean if way == "lean" else listen_by_library)(settings, waiting))


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], int(sys.argv[2])))
