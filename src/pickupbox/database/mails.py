"""The outbox of mail: written with what it tells, sent afterwards."""

from dataclasses import dataclass

from pickupbox.database.connection import Connection, Row
from pickupbox.vault import Sealed


@dataclass(frozen=True, slots=True)
class Mail:
    tenant_id: str
    id: str
    kind: str
    recipient: str
    subject: str
    text: Sealed
    attempts: int


_COLUMNS = "m.tenant_id, m.id, m.kind, m.recipient, m.subject, m.text_secret_id, m.text_sealed, m.attempts"


def _mail_of(row: Row) -> Mail:
    tenant, mail_id, kind, recipient, subject, secret_id, sealed, attempts = row.values()
    return Mail(tenant, mail_id, kind, recipient, subject, Sealed(secret_id, sealed), attempts)


async def insert(
    connection: Connection, tenant: str, mail_id: str, *, kind: str, recipient: str, subject: str, text: Sealed
) -> None:
    await connection.execute(
        """
        INSERT INTO mails (tenant_id, id, kind, recipient, subject, text_secret_id, text_sealed)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        tenant,
        mail_id,
        kind,
        recipient,
        subject,
        text.secret_id,
        text.sealed,
    )


async def claim(connection: Connection, lease_seconds: int) -> Mail | None:
    """The mail that is due the longest, ours for a while: who dies over it leaves it to be sent again."""
    row = await connection.fetchrow(
        f"""
        UPDATE mails m SET due_at = now() + make_interval(secs => $1), attempts = m.attempts + 1
        WHERE m.id = (
            SELECT id FROM mails WHERE due_at <= now() ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        )
        RETURNING {_COLUMNS}
        """,
        lease_seconds,
    )
    return _mail_of(row) if row else None


async def settle(connection: Connection, mail_id: str, problem: str | None) -> None:
    """Sent, or given up if there is a problem; the text goes either way."""
    await connection.execute(
        """
        UPDATE mails SET due_at = NULL, text_secret_id = NULL, text_sealed = NULL, problem = $2,
            sent_at = CASE WHEN $2::text IS NULL THEN now() END
        WHERE id = $1
        """,
        mail_id,
        problem,
    )


async def postpone(connection: Connection, mail_id: str, seconds: float, problem: str) -> None:
    await connection.execute(
        """
        UPDATE mails SET due_at = now() + make_interval(secs => $2), problem = $3
        WHERE id = $1 AND due_at IS NOT NULL
        """,
        mail_id,
        seconds,
        problem,
    )


async def lock_sealed_otherwise(connection: Connection, secret_id: str, limit: int) -> list[Mail]:
    """Mail that waits and that this secret did not seal."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM mails m WHERE m.due_at IS NOT NULL AND m.text_secret_id <> $1
        ORDER BY m.due_at LIMIT $2 FOR NO KEY UPDATE
        """,
        secret_id,
        limit,
    )
    return [_mail_of(row) for row in rows]


async def save_sealed(connection: Connection, mail_id: str, text: Sealed) -> None:
    await connection.execute(
        "UPDATE mails SET text_secret_id = $2, text_sealed = $3 WHERE id = $1", mail_id, text.secret_id, text.sealed
    )


async def forget(connection: Connection, days: int, limit: int) -> int:
    """Drop what was sent or given up that many days ago; how many."""
    rows = await connection.fetch(
        """
        DELETE FROM mails WHERE id = ANY (ARRAY(
            SELECT id FROM mails WHERE created_at < now() - make_interval(days => $1) AND due_at IS NULL
            ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
        )) RETURNING id
        """,
        days,
        limit,
    )
    return len(rows)
