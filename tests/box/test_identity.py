"""The box's identity: a pair in one file that is renewed in time and survives every power cut."""

import asyncio
import logging
import os
import ssl
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from pickupbox.box import identity as module
from pickupbox.box.identity import ASK_AGAIN, BEGIN, SPREAD, Identity, IdentityError, keep_first, new_key
from pickupbox.certificates import new_authority, public_key_of, read_authority, read_certificate, sign
from tests.box.street import new_device
from tests.devices.broker import pem_of, request_of

AUTHORITY = read_authority(new_authority("Test devices", datetime.now(UTC)))
DAY = timedelta(days=1)
SECONDS = 60.0


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(module, "AFTER_AN_ERROR_SECONDS", 0.01)


class LookedEnoughError(Exception):
    """The box has looked at the clock as often as the test wants it to: what it did before is done."""


def clock(now: datetime | None, looks: int) -> Callable[[], datetime | None]:
    left = iter([now] * looks)

    def look() -> datetime | None:
        try:
            return next(left)
        except StopIteration:
            raise LookedEnoughError from None

    return look


def chain_of(device: str, request: str, now: datetime) -> str:
    return sign(AUTHORITY, device, public_key_of(request), now).chain


class Home:
    """A box's folder, with a certificate of a given age; and the service's clock."""

    def __init__(self, folder: Path, age: timedelta) -> None:
        self.device = new_device()
        self.file = folder / "identity.pem"
        self.now = datetime.now(UTC)
        key = ec.generate_private_key(ec.SECP256R1())
        self.file.write_bytes(pem_of(key) + chain_of(self.device, request_of(key), self.now - age).encode())
        self.file.chmod(0o600)
        self.first = self.file.read_text()
        self.asked: list[str] = []

    async def renew(self, answer: Callable[[str], str | None] | None = None, looks: int = 1000) -> Identity:
        """Until a new pair is there; `answer` is the service's to a request."""
        identity = Identity(self.file, self.device)

        def ask(request: str) -> None:
            self.asked.append(request)
            said = answer(request) if answer else chain_of(self.device, request, self.now)
            if said is not None:
                identity.hear(said)

        async with asyncio.timeout(SECONDS):
            await identity.renewed(clock(self.now, looks), ask)
        return identity

    async def asks(self) -> bool:
        """Whether the box puts a question now; it gets no answer."""
        before = len(self.asked)
        with pytest.raises(LookedEnoughError):
            await self.renew(lambda _: None, looks=2)
        return len(self.asked) > before

    def others(self) -> set[str]:
        return {path.name for path in self.file.parent.iterdir()} - {self.file.name}

    def ends(self) -> timedelta:
        text = self.file.read_text()
        return read_certificate(text[text.index("-----BEGIN CERTIFICATE") :]).until - self.now


def assert_usable(pair: Path, device: str) -> None:
    """Key and certificate belong together, and are the device's."""
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(pair)
    text = pair.read_text()
    assert read_certificate(text[text.index("-----BEGIN CERTIFICATE") :]).device == device
    assert stat.S_IMODE(pair.stat().st_mode) == 0o600


async def test_a_new_key_stays_with_its_request() -> None:
    key, request = await new_key("dev_c1_" + "0" * 32)
    made = load_pem_private_key(key.encode(), None)
    assert isinstance(made, ec.EllipticCurvePrivateKey)
    assert public_key_of(request) == made.public_key()


async def test_a_box_asks_in_the_last_29_days_and_a_fleet_spreads_over_four(tmp_path: Path) -> None:
    assert not await Home(tmp_path, timedelta(days=90) - BEGIN - timedelta(minutes=10)).asks()
    due = [Identity(tmp_path, new_device()[:-4] + end)._due for end in ("0000", "8000", "ffff")]
    assert due[0] == BEGIN
    assert due[0] - due[1] == SPREAD / 2
    assert BEGIN - SPREAD < due[2] < BEGIN - SPREAD * 0.99
    assert await Home(tmp_path, timedelta(days=90) - BEGIN + SPREAD).asks()


async def test_it_asks_once_a_day_with_one_key_also_after_a_restart(tmp_path: Path) -> None:
    home = Home(tmp_path, 80 * DAY)
    assert await home.asks()
    assert not await home.asks()
    home.now += ASK_AGAIN
    assert await home.asks()
    home.now -= 3 * ASK_AGAIN  # the service's clock was set back
    assert await home.asks()
    assert len(set(home.asked)) == 1
    assert stat.S_IMODE((tmp_path / "identity.pem.asked").stat().st_mode) == 0o600


async def test_it_asks_nothing_while_the_services_clock_is_not_known(tmp_path: Path) -> None:
    home = Home(tmp_path, 80 * DAY)
    with pytest.raises(LookedEnoughError):
        await Identity(home.file, home.device).renewed(clock(None, 2), home.asked.append)
    assert home.asked == []


async def test_a_new_pair_takes_the_old_ones_place_when_the_broker_has_let_it_in(tmp_path: Path) -> None:
    home = Home(tmp_path, 80 * DAY)
    identity = await home.renew()
    assert home.file.read_text() == home.first
    assert identity.pair() == tmp_path / "identity.pem.new"
    identity.let_in()
    assert home.others() == set()
    assert home.ends() > 89 * DAY
    assert_usable(home.file, home.device)
    assert stat.S_IMODE(home.file.stat().st_mode) == 0o600
    assert identity.pair() == home.file
    assert not await home.asks()


async def test_a_pair_that_is_not_let_in_while_the_old_one_is_is_thrown_away(tmp_path: Path) -> None:
    home = Home(tmp_path, 80 * DAY)
    identity = await home.renew()
    # The network is away: the two have their turns, and none is given up.
    assert [identity.pair().suffix for _ in range(5)] == [".new", ".pem", ".new", ".pem", ".new"]
    assert identity.pair() == home.file
    identity.let_in()
    assert home.file.read_text() == home.first
    assert identity.pair() == home.file
    assert not await home.asks()  # not before tomorrow
    home.now += ASK_AGAIN
    assert await home.asks()


async def test_an_answer_that_comes_after_a_restart_still_fits(tmp_path: Path) -> None:
    home = Home(tmp_path, 80 * DAY)
    assert await home.asks()
    restarted = Identity(home.file, home.device)
    restarted.hear(chain_of(home.device, home.asked[0], home.now))
    async with asyncio.timeout(SECONDS):
        await restarted.renewed(clock(home.now, 1000), home.asked.append)
    assert restarted.pair().suffix == ".new"
    # The same answer again, as MQTT may bring it: nothing more happens.
    restarted.hear(chain_of(home.device, home.asked[0], home.now))
    with pytest.raises(LookedEnoughError):
        await restarted.renewed(clock(home.now, 2), home.asked.append)
    restarted.let_in()
    assert home.others() == set()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda home, _: chain_of(home.device, request_of(OTHER_KEY), home.now), "for another key"),
        (lambda home, request: chain_of(new_device(), request, home.now), "of another device"),
        (lambda home, request: chain_of(home.device, request, home.now - 85 * DAY), "no later than the old one"),
        (lambda *_: "nonsense", "not a certificate"),
        (lambda *_: "", "not a certificate"),
    ],
    ids=["another key", "another device", "older", "nonsense", "nothing"],
)
async def test_an_answer_that_is_not_ours_is_refused_and_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, answer: Callable[[Home, str], str], reason: str
) -> None:
    home = Home(tmp_path, 80 * DAY)
    with caplog.at_level(logging.ERROR), pytest.raises(LookedEnoughError):
        await home.renew(lambda request: answer(home, request), looks=2)
    assert [reason in line for line in caplog.messages] == [True]
    assert home.file.read_text() == home.first
    assert home.others() == {"identity.pem.asked"}
    home.now += ASK_AGAIN
    (await home.renew()).let_in()  # the next one may be right


OTHER_KEY = ec.generate_private_key(ec.SECP256R1())


async def test_without_the_program_openssl_the_box_goes_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home(tmp_path, 80 * DAY)
    monkeypatch.setenv("PATH", str(tmp_path))
    with caplog.at_level(logging.ERROR):
        assert not await home.asks()
    assert "the program openssl does not start" in caplog.text


def test_a_box_without_a_pair_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="enroll the box"):
        Identity(tmp_path / "identity.pem", new_device()).pair()


async def test_the_first_pair_replaces_what_was_begun_with_another(tmp_path: Path) -> None:
    home = Home(tmp_path, 80 * DAY)
    await home.renew()
    key, request = await new_key(device := new_device())
    with pytest.raises(IdentityError, match="another key"):
        await keep_first(home.file, device, pem_of(OTHER_KEY).decode(), chain_of(device, request, home.now))
    assert_usable(home.file, home.device)
    await keep_first(home.file, device, key, chain_of(device, request, home.now))
    assert_usable(home.file, device)
    assert home.others() == set()


class PowerCut(BaseException):
    """Not an Exception: no code of ours may catch it."""


class Power:
    """Fails before the given call that changes the disk. What was written and not synced is there by half."""

    def __init__(self, between: pytest.MonkeyPatch, fails_at: int) -> None:
        self._left = fails_at
        between.setattr(os, "open", self._guarded(os.open))
        between.setattr(os, "fsync", self._guarded(os.fsync, tear))
        between.setattr(Path, "replace", self._guarded(Path.replace))
        between.setattr(Path, "unlink", self._guarded(Path.unlink))

    def _guarded(self, act: Callable[..., Any], damage: Callable[..., None] = lambda *_: None) -> Callable[..., Any]:
        def guarded(*values: Any, **named: Any) -> Any:
            if self._left == 0:
                damage(*values)
                raise PowerCut
            self._left -= 1
            return act(*values, **named)

        return guarded


def tear(descriptor: int) -> None:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.truncate(descriptor, os.fstat(descriptor).st_size // 2)


async def test_a_power_cut_at_any_write_leaves_a_usable_pair_and_a_way_on(tmp_path: Path) -> None:
    cuts = 0
    while True:
        (folder := tmp_path / str(cuts)).mkdir()
        home = Home(folder, 80 * DAY)
        try:
            with pytest.MonkeyPatch.context() as between:
                Power(between, cuts)
                identity = await home.renew()
                assert_usable(identity.pair(), home.device)
                identity.let_in()
        except PowerCut:
            cuts += 1
        else:
            break
        again = Identity(home.file, home.device)
        assert_usable(home.file, home.device)
        if (pair := again.pair()) == home.file and home.ends() < BEGIN:
            home.now += ASK_AGAIN
            again = await home.renew()
            pair = again.pair()
        assert_usable(pair, home.device)
        again.let_in()
        assert home.ends() > 80 * DAY
        assert_usable(home.file, home.device)
    assert cuts >= 12
