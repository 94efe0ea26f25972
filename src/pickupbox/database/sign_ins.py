"""Sign-ins under way, and how often one was tried in vain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection

MINUTES = 10
FORGOTTEN_HOURS = 24


@dataclass(frozen=True, slots=True)
class SignIn:
    """Either a person whose password was right, or someone who is at their firm's provider."""

    tenant_id: str
    user_id: str | None
    next: str
    domain: str | None = None
    state: str | None = None
    nonce: str | None = None
    verifier: str | None = None
    session_hash: bytes | None = None  # a step-up of this session, and not a sign-in


_COLUMNS = "tenant_id, user_id, next, domain, state, nonce, verifier, session_hash"


async def insert(connection: Connection, tenant: str, token_hash: bytes, sign_in: SignIn) -> None:
    await connection.execute(
        f"INSERT INTO sign_ins ({_COLUMNS}, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        tenant,
        sign_in.user_id,
        sign_in.next,
        sign_in.domain,
        sign_in.state,
        sign_in.nonce,
        sign_in.verifier,
        sign_in.session_hash,
        token_hash,
    )


async def find(connection: Connection, token_hash: bytes) -> SignIn | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM sign_ins WHERE hash = $1 AND begun_at > now() - interval '{MINUTES} minutes'",
        token_hash,
    )
    return SignIn(*row.values()) if row else None


async def take(connection: Connection, token_hash: bytes) -> SignIn | None:
    """The sign-in, and nobody can finish it again."""
    row = await connection.fetchrow(
        f"""
        DELETE FROM sign_ins WHERE hash = $1 AND begun_at > now() - interval '{MINUTES} minutes' RETURNING {_COLUMNS}
        """,
        token_hash,
    )
    return SignIn(*row.values()) if row else None


@dataclass(frozen=True, slots=True)
class Attempts:
    failures: int
    seconds_closed: float


async def seconds_closed(connection: Connection, hashes: Sequence[bytes]) -> float:
    """How long the one of them that waits longest has to wait still."""
    seconds: float = await connection.fetchval(
        """
        SELECT coalesce(max(greatest(0, extract(epoch FROM closed_until - clock_timestamp()))), 0)::float8
        FROM sign_in_attempts WHERE hash = ANY ($1::bytea[])
        """,
        list(hashes),
    )
    return seconds


async def lock_attempts(connection: Connection, hashes: Sequence[bytes]) -> dict[bytes, Attempts]:
    """How often each was tried in vain, ours until the commit; always in the same order, so that no two wait for
    each other. Failures of yesterday are forgotten."""
    ordered = sorted(hashes)
    await connection.execute(
        """
        INSERT INTO sign_in_attempts (hash, failures, closed_until)
        SELECT h, 0, now() FROM unnest($1::bytea[]) AS h ORDER BY h ON CONFLICT DO NOTHING
        """,
        ordered,
    )
    rows = await connection.fetch(
        f"""
        SELECT hash, CASE WHEN last_at > now() - interval '{FORGOTTEN_HOURS} hours' THEN failures ELSE 0 END,
            greatest(0, extract(epoch FROM closed_until - clock_timestamp()))::float8
        FROM sign_in_attempts WHERE hash = ANY ($1::bytea[]) ORDER BY hash FOR UPDATE
        """,
        ordered,
    )
    return {token: Attempts(failures, seconds) for token, failures, seconds in (row.values() for row in rows)}


async def save_attempts(connection: Connection, counted: Mapping[bytes, Attempts]) -> None:
    await connection.execute(
        """
        UPDATE sign_in_attempts a SET failures = c.failures, last_at = now(),
            closed_until = clock_timestamp() + make_interval(secs => c.seconds)
        FROM unnest($1::bytea[], $2::int[], $3::float8[]) AS c (hash, failures, seconds) WHERE a.hash = c.hash
        """,
        list(counted),
        [one.failures for one in counted.values()],
        [one.seconds_closed for one in counted.values()],
    )


async def forget(connection: Connection, limit: int) -> int:
    """Drop sign-ins that were never finished and attempts of yesterday; how many of the more numerous kind."""
    unfinished = await connection.fetch(
        f"""
        DELETE FROM sign_ins WHERE hash = ANY (ARRAY(
            SELECT hash FROM sign_ins WHERE begun_at < now() - interval '{MINUTES} minutes'
            ORDER BY begun_at LIMIT $1 FOR UPDATE SKIP LOCKED
        )) RETURNING next
        """,
        limit,
    )
    attempts = await connection.fetch(
        f"""
        DELETE FROM sign_in_attempts WHERE hash = ANY (ARRAY(
            SELECT hash FROM sign_in_attempts WHERE last_at < now() - interval '{FORGOTTEN_HOURS} hours'
            ORDER BY last_at LIMIT $1 FOR UPDATE SKIP LOCKED
        )) RETURNING failures
        """,
        limit,
    )
    return max(len(unfinished), len(attempts))
