"""What boxes said that could not be taken: set aside for people to look at, by days, and dropped after 30."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that could not be taken; its payload holds no PIN."""

    topic: str
    payload: bytes
    reason: str
    kept: bool = True  # else it is one of too many, and not written down


async def insert(connection: Connection, unread: Sequence[Unread]) -> None:
    kept = [one for one in unread if one.kept]
    if not kept:
        return
    await connection.execute(
        "INSERT INTO set_aside (topic, payload, reason) SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[])",
        [_storable(one.topic, 200) for one in kept],
        [one.payload for one in kept],
        [_storable(one.reason, 500) for one in kept],
    )


def _storable(text: str, length: int) -> str:
    """As much of a text as is kept, without what PostgreSQL cannot hold."""
    return text[:length].replace("\0", "").encode(errors="replace").decode()
