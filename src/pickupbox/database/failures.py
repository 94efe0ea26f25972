"""Endpoints that do nothing but fail: one row each while it lasts, none for the healthy."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class BackOff:
    """After so many failures in a row an endpoint waits as a whole: as long as it has been failing, within bounds.

    Not doubling with each failure: those that were under way together would count as many.
    """

    patience: int
    shortest: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True)
class Failed:
    endpoint_id: str
    times: int
    pause: float | None  # seconds that the endpoint asked for
    leased_until: datetime | None = None  # of the lane that failed; a probe has put the same time into resume_at


async def note(connection: Connection, failed: Sequence[Failed], back_off: BackOff) -> None:
    """Count failures; an endpoint out of patience, or one that asked for a pause, waits as a whole."""
    ordered = sorted(failed, key=lambda f: f.endpoint_id)
    await connection.execute(
        """
        INSERT INTO webhook_failures AS f (endpoint_id, failures, resume_at)
        SELECT d.endpoint_id, d.times, greatest(now() + make_interval(secs => d.pause),
               CASE WHEN d.times >= $4 THEN now() + $5::interval * (0.8 + 0.4 * random()) END)
        FROM unnest($1::text[], $2::int[], $3::float[]) AS d (endpoint_id, times, pause)
        ON CONFLICT (endpoint_id) DO UPDATE SET failures = f.failures + EXCLUDED.failures,
            resume_at = greatest(nullif(f.resume_at, (
                    SELECT d.leased_until FROM unnest($1::text[], $7::timestamptz[]) AS d (endpoint_id, leased_until)
                    WHERE d.endpoint_id = f.endpoint_id
                )), EXCLUDED.resume_at, CASE WHEN f.failures + EXCLUDED.failures >= $4 THEN
                now() + least($6, greatest($5, now() - f.failing_since)) * (0.8 + 0.4 * random()) END)
        """,
        [f.endpoint_id for f in ordered],
        [f.times for f in ordered],
        [f.pause for f in ordered],
        back_off.patience,
        back_off.shortest,
        back_off.longest,
        [f.leased_until for f in ordered],
    )


async def forget(connection: Connection, endpoints: Sequence[str]) -> None:
    """They accepted something: nothing is held against them."""
    await connection.execute(
        """
        DELETE FROM webhook_failures WHERE endpoint_id IN (
            SELECT endpoint_id FROM webhook_failures WHERE endpoint_id = ANY ($1::text[])
            ORDER BY endpoint_id FOR UPDATE
        )
        """,
        sorted(set(endpoints)),
    )
