"""Sends mail that waits in the outbox, through the mail server of the settings."""

import asyncio
import ssl
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from urllib.parse import SplitResult, unquote, urlsplit

import aiosmtplib

from pickupbox.settings import Settings
from pickupbox.telemetry import log
from pickupbox.usecases.core import Core
from pickupbox.usecases.mail import Message, NotSentError, Send, send_next

REST = 1.0
SECONDS = 30.0
GRACE_SECONDS = 5.0  # for what is under way when the worker is told to stop
UNTRUSTED = "the mail server's certificate is not trusted (SSL_CERT_FILE may name its authority)"
_HERE = frozenset({"127.0.0.1", "::1", "localhost"})


async def run(core: Core, settings: Settings, stop: asyncio.Event) -> float:
    """Send one mail. When the worker stops, it has some seconds to end; if they are too few, it is sent again."""
    sending = asyncio.create_task(send_next(core, sender(settings)))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({sending, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    try:
        async with asyncio.timeout(GRACE_SECONDS):
            return 0 if await sending else REST
    except TimeoutError:
        log.warning("mail_broken_off", cause="the mail server did not answer, and the worker stops")
        return REST


def sender(settings: Settings) -> Send | None:
    """How a mail is sent; None without a mail server."""
    if settings.smtp_url is None:
        return None
    server = urlsplit(settings.smtp_url.get_secret_value())

    async def send(message: Message) -> None:
        try:
            async with asyncio.timeout(2 * SECONDS), _client(server) as client:
                await _log_in(client, server)
                await client.send_message(written(message, settings.mail_from))
        except aiosmtplib.SMTPRecipientsRefused as refused:
            code = refused.recipients[0].code
            raise NotSentError(f"the recipient is refused with {code}", for_good=code >= 500) from None
        except aiosmtplib.SMTPAuthenticationError as refused:
            raise NotSentError(f"{refused.code}: user or password is wrong in PICKUPBOX_SMTP_URL") from None
        except aiosmtplib.SMTPResponseException as refused:
            raise NotSentError(f"the mail server answers {refused.code}") from None
        except (aiosmtplib.SMTPException, OSError) as problem:
            for cause in (problem, problem.__cause__):
                if isinstance(cause, ssl.SSLCertVerificationError):
                    raise NotSentError(f"{UNTRUSTED}: {cause.verify_message}") from None
            raise NotSentError(f"{type(problem).__name__}: {problem}") from None

    return send


def _client(server: SplitResult) -> aiosmtplib.SMTP:
    """STARTTLS is taken when the server offers it, except on this machine, where nobody has a certificate."""
    here = server.hostname in _HERE
    return aiosmtplib.SMTP(
        hostname=server.hostname,
        port=server.port or (465 if server.scheme == "smtps" else 25),
        use_tls=server.scheme == "smtps",
        start_tls=False if here or server.scheme == "smtps" else None,
        timeout=SECONDS,
    )


async def _log_in(client: aiosmtplib.SMTP, server: SplitResult) -> None:
    if not server.username:
        return
    if server.hostname not in _HERE and client.get_transport_info("sslcontext") is None:
        raise NotSentError("the mail server offers no TLS, and a password is not sent without")
    await client.login(unquote(server.username), unquote(server.password or ""))


def written(message: Message, sender: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = sender
    mail["To"] = message.recipient
    mail["Subject"] = message.subject
    mail["Date"] = format_datetime(datetime.now(UTC))
    # From the mail's own id: should it be sent twice, mail programs show it once.
    mail["Message-ID"] = f"<{message.id}@{parseaddr(sender)[1].rpartition('@')[2] or 'pickupbox'}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text)
    return mail
