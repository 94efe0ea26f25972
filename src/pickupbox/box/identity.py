"""Who the box is: its key and its certificate in one file, and how the next pair takes their place.

One file, so that no power cut parts the key from its certificate. A new pair is written beside it and tried at the
broker; only when the broker has let it in does it take the old one's place, by one rename. A pair that is not let in
while the old one is, is thrown away: a box that nobody lets in must be visited by a person.

Keys and requests are made by the `openssl` program, so the box needs no library for them. The box's own clock is never
asked: what is due is decided by the service's.
"""

import asyncio
import logging
import os
import ssl
from asyncio.subprocess import PIPE
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

log = logging.getLogger(__name__)

# The service begins 30 days before the end; the boxes of a fleet that was enrolled in one night spread over four days.
BEGIN, SPREAD = timedelta(days=29), timedelta(days=4)
ASK_AGAIN = timedelta(days=1)  # an answer may be lost, but the service gives a device no more than ten
LOOK_SECONDS = 10.0
AFTER_AN_ERROR_SECONDS = 3600.0
OPENSSL_SECONDS = 60.0
NEW_KEY = ("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "-")
CONFIG = "[req]\ndistinguished_name=name\n[name]\n"  # instead of the system's, which may be missing
READ = ("x509", "-noout", "-subject", "-nameopt", "RFC2253", "-enddate")
BEGIN_REQUEST = "-----BEGIN CERTIFICATE REQUEST-----"
BEGIN_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


class IdentityError(Exception):
    """A key or a certificate cannot be made, read or taken; the text says why."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is not answered yet: when it was last put, and the key that waits for its certificate."""

    at: datetime
    key: str
    request: str


class Identity:
    def __init__(self, file: Path, device: str) -> None:
        self._file = file
        self._new = _beside(file, "new")
        self._asked = _beside(file, "asked")
        self._device = device
        self._tries_new = False
        self._until: datetime | None = None
        self._chains: asyncio.Queue[str] = asyncio.Queue(1)
        self._due = BEGIN - SPREAD * (int(device[-4:], 16) / 0x10000)

    def pair(self) -> Path:
        """The file to connect with now: a new pair in turns with the old one, until one of the two is let in."""
        self._tries_new = self._new.exists() and not (self._tries_new and self._file.exists())
        if not self._tries_new and not self._file.exists():
            raise FileNotFoundError(f"{self._file} is missing: enroll the box")
        return self._new if self._tries_new else self._file

    def let_in(self) -> None:
        """The broker took the pair."""
        if self._tries_new:
            self._asked.unlink(missing_ok=True)
            _settle(self._new, self._file)
            self._tries_new, self._until = False, None
            log.info("this box has a new certificate")
        elif self._new.exists():
            self._new.unlink()
            log.error("the new certificate was not let in and the old one was: it is thrown away")

    def hear(self, chain: str) -> None:
        """An answer of the service; one at a time is enough."""
        with suppress(asyncio.QueueFull):
            self._chains.put_nowait(chain)

    async def renewed(self, now: Callable[[], datetime | None], ask: Callable[[str], object]) -> None:
        """Ask when it is time; return when there is a new pair to connect with. `now` is the service's clock."""
        rest = LOOK_SECONDS
        while True:
            try:
                if await self._take_heard(rest):
                    return
                if (moment := now()) is not None and (request := await self._question(moment)) is not None:
                    ask(request)
                rest = LOOK_SECONDS
            except (IdentityError, OSError) as error:
                log.error("no new certificate: %s", error)  # noqa: TRY400 - the reason is enough
                rest = AFTER_AN_ERROR_SECONDS

    async def _take_heard(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                chain = await self._chains.get()
        except TimeoutError:
            return False
        return await self._take(chain)

    async def _question(self, now: datetime) -> str | None:
        if await self._ends() - now > self._due:
            return None
        asked = self._read_asked()
        if asked is not None and abs(now - asked.at) < ASK_AGAIN:
            return None
        key, request = await new_key(self._device) if asked is None else (asked.key, asked.request)
        # On disk before it is sent: the answer may come after a power cut.
        write(self._asked, f"{now.isoformat()}\n{key}{request}")
        return request

    async def _take(self, chain: str) -> bool:
        """Keep a chain beside the old one, to be tried; False if nobody waits for it any more."""
        asked = self._read_asked()
        if asked is None or self._new.exists():
            return False
        until = await _until(chain, self._device)
        if until <= await self._ends():
            raise IdentityError("the new certificate ends no later than the old one")
        write(self._new, asked.key + chain, check=_fits)
        return True

    async def _ends(self) -> datetime:
        if self._until is None:
            pair = self._file.read_text()
            self._until = await _until(pair[pair.find(BEGIN_CERTIFICATE) :], self._device)
        return self._until

    def _read_asked(self) -> Asked | None:
        try:
            at, _, pems = self._asked.read_text().partition("\n")
            place = pems.index(BEGIN_REQUEST)
            return Asked(datetime.fromisoformat(at), pems[:place], pems[place:])
        except FileNotFoundError:
            return None
        except ValueError:
            log.warning("%s cannot be read: a new key is made", self._asked)
            return None


async def new_key(device: str) -> tuple[str, str]:
    """A new key and the request for its certificate, PEM. Neither touches a disk here."""
    made = await _openssl(*NEW_KEY, "-subj", f"/CN={device}", "-config", "/dev/stdin", given=CONFIG)
    place = made.find(BEGIN_REQUEST)
    if "PRIVATE KEY-----" not in made[:place] or place < 0:
        raise IdentityError("openssl made no key and request")
    return made[:place], made[place:]


async def keep_first(file: Path, device: str, key: str, chain: str) -> None:
    """The pair that the box got for its code. What was begun with another is over."""
    await _until(chain, device)
    for leftover in ("asked", "new"):
        _beside(file, leftover).unlink(missing_ok=True)
    write(file, key + chain, check=_fits)


async def _until(chain: str, device: str) -> datetime:
    """When the first certificate of a chain ends; it must be the device's."""
    lines = (await _openssl(*READ, given=chain)).splitlines()
    said = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    if said.get("subject") != f"CN={device}":
        raise IdentityError("a certificate of another device")
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(said.get("notAfter", "")), UTC)


async def _openssl(*arguments: str, given: str) -> str:
    try:
        running = await asyncio.create_subprocess_exec("openssl", *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    except OSError as error:
        raise IdentityError(f"the program openssl does not start: {error}") from None
    try:
        async with asyncio.timeout(OPENSSL_SECONDS):
            said, _ = await running.communicate(given.encode())
    except TimeoutError:
        raise IdentityError("openssl takes too long") from None
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    if running.returncode != 0:
        raise IdentityError(f"openssl {arguments[0]} failed: not a certificate, or an openssl that is too old")
    return said.decode()


def write(file: Path, text: str, check: Callable[[Path], None] = lambda _: None) -> None:
    """All of it or nothing, whenever the power goes; readable for nobody else."""
    part = _beside(file, "part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    check(part)
    _settle(part, file)


def _settle(part: Path, file: Path) -> None:
    part.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _fits(pair: Path) -> None:
    """Whether key and certificate belong together."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(pair)
    except ssl.SSLError:
        pair.unlink()
        raise IdentityError("a certificate for another key") from None


def _beside(file: Path, word: str) -> Path:
    return file.with_name(f"{file.name}.{word}")
