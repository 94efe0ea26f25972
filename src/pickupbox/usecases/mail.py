"""Mail: put into the outbox with the act that it tells of, sent afterwards."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pickupbox.database import mails, users
from pickupbox.database.connection import Connection
from pickupbox.domain.letters import Letter, written
from pickupbox.telemetry import MAILS, log
from pickupbox.usecases.core import Core

LEASE_SECONDS = 120  # longer than an exchange with the mail server may take
# Seconds from one attempt to the next; after the last one it is given up.
DELAYS = (30, 120, 600, 3600, 4 * 3600)
NO_SERVER = "not sent: set PICKUPBOX_SMTP_URL"


@dataclass(frozen=True, slots=True)
class Message:
    """What a mail server is given."""

    id: str
    recipient: str
    subject: str
    text: str


class NotSentError(Exception):
    """The mail server did not take it; `for_good` if it never will."""

    def __init__(self, problem: str, *, for_good: bool = False) -> None:
        super().__init__(problem)
        self.for_good = for_good


type Send = Callable[[Message], Awaitable[None]]


async def post(core: Core, tx: Connection, user: users.User, letter: Letter, tenant_name: str, link: str) -> None:
    """Write a letter into the outbox, in the transaction of what it tells."""
    subject, text = written(letter, user.locale, name=user.name, email=user.email, tenant=tenant_name, link=link)
    mail_id = core.new_id("mai")
    await mails.insert(
        tx,
        user.tenant_id,
        mail_id,
        kind=letter,
        recipient=user.email,
        subject=subject,
        text=core.vault.seal_for_people(user.tenant_id, mail_id, text.encode()),
    )


async def send_next(core: Core, send: Send | None) -> bool:
    """Send one mail that is due; whether there was one. Without a way to send it is given up and said so."""
    async with core.db.connection() as connection:
        claimed = await mails.claim(connection, LEASE_SECONDS)
    if claimed is None:
        return False
    await _send(core, send, claimed)
    return True


async def _send(core: Core, send: Send | None, mail: mails.Mail) -> None:
    if send is None:
        MAILS.labels("not_sent").inc()
        log.warning("mail_not_sent", mail=mail.id, kind=mail.kind, tenant=mail.tenant_id, problem=NO_SERVER)
        async with core.db.connection() as connection:
            await mails.settle(connection, mail.id, NO_SERVER)
        return
    text = core.vault.open_for_people(mail.tenant_id, mail.id, mail.text).decode()
    try:
        await send(Message(mail.id, mail.recipient, mail.subject, text))
    except NotSentError as refused:
        await _failed(core, mail, str(refused)[:200], for_good=refused.for_good)
        return
    MAILS.labels("sent").inc()
    async with core.db.connection() as connection:
        await mails.settle(connection, mail.id, None)


async def _failed(core: Core, mail: mails.Mail, problem: str, *, for_good: bool) -> None:
    given_up = for_good or mail.attempts > len(DELAYS)
    MAILS.labels("given_up" if given_up else "failed").inc()
    log.warning("mail_failed", mail=mail.id, kind=mail.kind, tenant=mail.tenant_id, problem=problem, given_up=given_up)
    async with core.db.connection() as connection:
        if given_up:
            await mails.settle(connection, mail.id, problem)
        else:
            await mails.postpone(connection, mail.id, DELAYS[mail.attempts - 1], problem)
