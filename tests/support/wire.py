"""A wire to PostgreSQL that counts round trips: what the client sends and then waits for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

ASKS = b"SQ"  # Sync ends an extended query, Query is a simple one; the client waits for the answer of each


class Wire:
    def __init__(self, url: str) -> None:
        self.url = url
        self.round_trips = 0


@asynccontextmanager
async def counting_wire(database_url: str) -> AsyncIterator[Wire]:
    """An address that leads to the same database, and how often it was asked."""
    address = urlsplit(database_url)
    wire = Wire("")

    async def forward(client: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader, server = await asyncio.open_connection(address.hostname, address.port or 5432)
        back = asyncio.create_task(_copy(reader, writer))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await _startup(client, server)
            while True:
                head = await client.readexactly(5)
                body = await client.readexactly(int.from_bytes(head[1:]) - 4)
                # The bell is rung after the answer, beside the way.
                wire.round_trips += head[:1] in [bytes([kind]) for kind in ASKS] and not body.startswith(b"NOTIFY ")
                server.write(head + body)
        server.close()
        await back

    serving = await asyncio.start_server(forward, "127.0.0.1", 0)
    port = serving.sockets[0].getsockname()[1]
    user = f"{address.username}@" if address.username else ""
    wire.url = urlunsplit(address._replace(netloc=f"{user}127.0.0.1:{port}", query="sslmode=disable"))
    async with serving:
        yield wire


async def _startup(client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
    """The first message of a connection has no kind."""
    length = await client.readexactly(4)
    server.write(length + await client.readexactly(int.from_bytes(length) - 4))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()
