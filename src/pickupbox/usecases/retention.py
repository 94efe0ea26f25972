"""What is no longer needed goes: customers' names, journals of boxes that another one followed, and what is over of
people's sessions, sign-ins, links and mail."""

from pickupbox.certificates import LIFETIME
from pickupbox.database import journals, links, mails, retention, sessions, sign_ins
from pickupbox.telemetry import ERASED
from pickupbox.usecases.core import Core

NAME_DAYS = 30
MAIL_DAYS = 30
# An old copy of a box's disk could bring an old journal back, and its entries must not be taken twice. But the copy's
# certificate is no younger than the journal, and when that has ended nobody lets the copy in.
JOURNAL_DAYS = LIFETIME.days


async def erase_names(core: Core, limit: int) -> int:
    """Erase names of shipments released 30 days ago or more; how many were erased."""
    async with core.db.connection() as connection:
        erased = await retention.erase_names(connection, NAME_DAYS, limit)
    ERASED.inc(erased)
    return erased


async def forget_journals(core: Core, limit: int) -> int:
    """Forget journals that were superseded 90 days ago or more; how many were forgotten."""
    async with core.db.connection() as connection:
        return await journals.forget(connection, JOURNAL_DAYS, limit)


async def forget_visits(core: Core, limit: int) -> int:
    """Forget sessions, sign-ins and links that are over, and mail that was sent 30 days ago; the most of one kind."""
    async with core.db.connection() as connection:
        forgotten = [
            await sessions.forget(connection, limit),
            await sign_ins.forget(connection, limit),
            await links.forget(connection, limit),
            await mails.forget(connection, MAIL_DAYS, limit),
        ]
    return max(forgotten)
