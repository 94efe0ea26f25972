"""A receiver that costs as little as it can: answers 200 to whatever comes, and tells how fast it came.

`python -m bench.receiver PORT`; a GET answers {"posts", "seconds"} of the posts so far and forgets them.
"""

import asyncio
import json
import sys
import time

import uvloop

ACCEPTED = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Tally:
    posts = 0
    first = last = 0.0


class Receiver(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        received = self._received + data
        while (end := received.find(b"\r\n\r\n")) >= 0:
            if received.startswith(b"GET"):
                self._tell()
                received = received[end + 4 :]
                continue
            place = received.lower().index(b"content-length: ") + 16
            whole = end + 4 + int(received[place : received.index(b"\r\n", place)])
            if len(received) < whole:
                break
            received = received[whole:]
            Tally.last = time.perf_counter()
            Tally.first = Tally.first or Tally.last
            Tally.posts += 1
            self._transport.write(ACCEPTED)
        self._received = received

    def _tell(self) -> None:
        body = json.dumps({"posts": Tally.posts, "seconds": Tally.last - Tally.first}).encode()
        Tally.posts, Tally.first, Tally.last = 0, 0.0, 0.0
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
