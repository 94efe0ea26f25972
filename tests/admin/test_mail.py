"""Mail: written in the commit of what it tells, sent by a real mail server, tried again, never told to a log."""

import asyncio
import socket
import string
from collections.abc import Iterator
from email.message import Message as Received
from functools import partial
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as Inbox
from pydantic import SecretStr
from structlog.testing import capture_logs

from pickupbox.database import mails
from pickupbox.domain.letters import LETTERS, Letter
from pickupbox.domain.people import EmailTaken
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases import links
from pickupbox.usecases.core import Core
from pickupbox.usecases.mail import DELAYS, NO_SERVER, send_next
from pickupbox.usecases.team import invite
from pickupbox.worker import mail as worker
from pickupbox.worker.loops import repeat
from tests.admin.people import PASSWORD, Someone, link_in_mail, run, someone, stranger
from tests.support.shop import Shop


class Server(Inbox):
    """What arrived, and how the server answers."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[Received] = []
        self.answer: str | None = None
        self.refusing: frozenset[str] = frozenset()

    def handle_message(self, message: Received) -> None:
        self.received.append(message)

    async def handle_RCPT(self, _: Any, __: Any, envelope: Any, address: str, ___: Any) -> str:  # noqa: N802 - aiosmtpd's
        if address in self.refusing:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return self.answer or "250 OK"


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Server, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    handler = Server()
    controller = Controller(handler, hostname="127.0.0.1", port=port)
    controller.start()
    yield handler, port
    controller.stop()


@pytest.fixture
async def inbox(core: Core, server: tuple[Server, int]) -> Server:
    """The server, and nothing of an earlier test that waits."""
    await run(
        core,
        """
        UPDATE mails SET due_at = NULL, text_secret_id = NULL, text_sealed = NULL WHERE due_at IS NOT NULL
        RETURNING id
        """,
    )
    handler, _ = server
    handler.received.clear()
    handler.answer, handler.refusing = None, frozenset()
    return handler


@pytest.fixture
def posting(settings: Settings, server: tuple[Server, int]) -> Settings:
    return settings.model_copy(
        update={"smtp_url": SecretStr(f"smtp://127.0.0.1:{server[1]}"), "mail_from": "Pickupbox <box@firm.test>"}
    )


@pytest.fixture
async def ada(core: Core, shop: Shop) -> Someone:
    return await someone(core, shop.tenant)


async def stored(core: Core, email: str) -> tuple[Any, ...]:
    (row,) = await run(
        core,
        """
        SELECT due_at IS NOT NULL, attempts, sent_at IS NOT NULL, problem, text_sealed IS NOT NULL FROM mails
        WHERE recipient = $1
        """,
        email,
    )
    return tuple(row)


async def test_an_invitation_arrives_with_a_link_that_works(
    core: Core, ada: Someone, inbox: Server, posting: Settings
) -> None:
    email = f"{core.new_id('new')}@firm.test"
    made = await invite(core, ada.caller, Role.OWNER, email, "Wim Müller", Role.VIEWER, "de")
    assert await worker.run(core, posting, asyncio.Event()) == 0
    (mail,) = inbox.received
    text = mail.get_payload(decode=True).decode()
    assert (mail["To"], mail["From"]) == (email, "Pickupbox <box@firm.test>")
    assert mail["Subject"] == "Einladung zu Test shop bei Pickupbox"
    assert "Wim Müller" in text
    assert made.url in text
    await links.use(core, made.url.rpartition("/")[2], None, PASSWORD, None)
    assert await stored(core, email) == (False, 1, True, None, False)


async def test_what_is_not_committed_sends_nothing(core: Core, ada: Someone, inbox: Server, posting: Settings) -> None:
    with pytest.raises(EmailTaken):
        await invite(core, ada.caller, Role.OWNER, ada.email, "Eve", Role.VIEWER)
    assert await send_next(core, worker.sender(posting)) is False
    assert inbox.received == []


async def test_a_server_that_is_busy_is_tried_again_and_then_given_up(
    core: Core, ada: Someone, inbox: Server, posting: Settings
) -> None:
    inbox.answer = "451 later"
    await links.ask_for_reset(core, ada.email, stranger().address)
    for number in range(len(DELAYS)):
        assert await send_next(core, worker.sender(posting)) is True
        assert await send_next(core, worker.sender(posting)) is False
        waiting, attempts, sent, problem, _ = await stored(core, ada.email)
        assert (waiting, attempts, sent) == (True, number + 1, False)
        assert "451" in problem
        ((seconds,),) = await run(
            core, "SELECT extract(epoch FROM due_at - now())::int FROM mails WHERE recipient = $1", ada.email
        )
        assert abs(seconds - DELAYS[number]) < 5
        await run(core, "UPDATE mails SET due_at = now() WHERE recipient = $1", ada.email)
    assert await send_next(core, worker.sender(posting)) is True
    waiting, attempts, sent, _, text = await stored(core, ada.email)
    assert (waiting, attempts, sent, text) == (False, len(DELAYS) + 1, False, False)


async def test_a_mail_that_failed_arrives_when_the_server_is_well_again(
    core: Core, ada: Someone, inbox: Server, posting: Settings
) -> None:
    inbox.answer = "451 later"
    await links.ask_for_reset(core, ada.email, stranger().address)
    await send_next(core, worker.sender(posting))
    inbox.answer = None
    await run(core, "UPDATE mails SET due_at = now() WHERE recipient = $1", ada.email)
    await send_next(core, worker.sender(posting))
    assert len(inbox.received) == 1


async def test_a_recipient_that_does_not_exist_is_given_up_at_once_and_holds_up_nobody(
    core: Core, shop: Shop, ada: Someone, inbox: Server, posting: Settings
) -> None:
    bob = await someone(core, shop.tenant)
    inbox.refusing = frozenset({ada.email})
    for email in (ada.email, bob.email):
        await links.ask_for_reset(core, email, stranger().address)
    while await send_next(core, worker.sender(posting)):
        pass
    assert (await stored(core, ada.email))[:3] == (False, 1, False)
    assert [mail["To"] for mail in inbox.received] == [bob.email]


async def test_a_server_that_is_away_is_tried_again(
    core: Core, ada: Someone, inbox: Server, settings: Settings
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        away = settings.model_copy(update={"smtp_url": SecretStr(f"smtp://127.0.0.1:{free.getsockname()[1]}")})
        await links.ask_for_reset(core, ada.email, stranger().address)
        await send_next(core, worker.sender(away))
    assert (await stored(core, ada.email))[:3] == (True, 1, False)


async def test_a_server_that_says_nothing_does_not_keep_a_worker_from_stopping(
    core: Core, shop: Shop, ada: Someone, inbox: Server, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "GRACE_SECONDS", 0.2)
    called, stop, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        await over.wait()
        writer.close()

    bob = await someone(core, shop.tenant)
    for email in (ada.email, bob.email):
        await links.ask_for_reset(core, email, stranger().address)
    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as mute:
        port = mute.sockets[0].getsockname()[1]
        hanging = settings.model_copy(update={"smtp_url": SecretStr(f"smtp://127.0.0.1:{port}")})
        looping = asyncio.create_task(repeat("mail", partial(worker.run, core, hanging, stop), stop))
        await called.wait()
        stop.set()
        async with asyncio.timeout(2):
            await looping
        over.set()
    assert (await stored(core, ada.email))[:3] == (True, 1, False)
    assert (await stored(core, bob.email))[:3] == (True, 0, False)


async def test_two_workers_send_a_mail_once(core: Core, ada: Someone, inbox: Server, posting: Settings) -> None:
    await links.ask_for_reset(core, ada.email, stranger().address)
    async with core.db.transaction() as tx:
        assert await mails.claim(tx, 60) is not None
        # What one worker is just taking, another neither takes nor waits for.
        async with asyncio.timeout(2):
            assert await send_next(core, worker.sender(posting)) is False
    assert await send_next(core, worker.sender(posting)) is False
    await run(core, "UPDATE mails SET due_at = now() WHERE recipient = $1", ada.email)
    await asyncio.gather(*(send_next(core, worker.sender(posting)) for _ in range(4)))
    assert len(inbox.received) == 1


async def test_without_a_mail_server_the_log_says_so_and_nothing_secret(
    core: Core, ada: Someone, inbox: Server, settings: Settings
) -> None:
    await links.ask_for_reset(core, ada.email, stranger().address)
    token = await link_in_mail(core, ada.email)
    with capture_logs() as lines:
        await worker.run(core, settings, asyncio.Event())
    (line,) = [line for line in lines if line["event"] == "mail_not_sent"]
    assert line["problem"] == NO_SERVER == "not sent: set PICKUPBOX_SMTP_URL"
    assert token not in str(lines)
    assert ada.email not in str(lines)
    assert await stored(core, ada.email) == (False, 1, False, NO_SERVER, False)


async def test_a_password_is_not_sent_to_a_server_without_tls(
    core: Core,
    ada: Someone,
    inbox: Server,
    settings: Settings,
    server: tuple[Server, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_HERE", frozenset())  # as if it were another machine
    trusting = settings.model_copy(update={"smtp_url": SecretStr(f"smtp://box:xyzzy@127.0.0.1:{server[1]}")})
    await links.ask_for_reset(core, ada.email, stranger().address)
    await send_next(core, worker.sender(trusting))
    waiting, _, sent, problem, _ = await stored(core, ada.email)
    assert (waiting, sent, inbox.received) == (True, False, [])
    assert "a password is not sent without" in problem
    assert "xyzzy" not in problem


def test_every_letter_is_written_in_every_language_with_the_same_values() -> None:
    assert set(LETTERS) == {(letter, locale) for letter in Letter for locale in ("en", "de")}

    def values(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    for letter in Letter:
        (subject, text), (betreff, wortlaut) = LETTERS[letter, "en"], LETTERS[letter, "de"]
        assert values(subject) == values(betreff)
        assert values(text) == values(wortlaut)
        assert "link" in values(text)
