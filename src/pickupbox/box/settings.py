"""The box's settings: environment variables PICKUPBOX_BOX_…, read once when the program starts."""

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pickupbox.devices.values import FORMS
from pickupbox.domain.identifiers import DEVICE_PATTERN

PREFIX = "PICKUPBOX_BOX_"
COMPARTMENTS = 160  # ten CU16 boards on one bus: addresses 0x00 to 0x9F


class SettingError(Exception):
    """A setting is missing or makes no sense; the text names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSettings:
    device: str
    compartments: tuple[str, ...]  # in the order of the locks
    journal: Path
    mqtt_host: str = "127.0.0.1"
    mqtt_port: int = 1883
    mqtt_tls: bool = False
    ca_file: Path | None = None
    identity_file: Path | None = None  # our key and certificate chain; renewed in place
    driver: str = "virtual"
    serial_port: str = "/dev/ttyUSB0"
    open_bit: int = 0  # what the CU16's bit is while a door is open; boards differ
    keypad: Path | None = None  # a device that sends one character per key
    journal_entries: int = 50_000
    look_seconds: float = 0.1
    heartbeat_seconds: float = 15.0

    def tls(self, pair: Path | None = None) -> ssl.SSLContext | None:
        """Mutual TLS: who the broker is by our authority, who we are by our key and certificate."""
        if not self.mqtt_tls:
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        if pair is not None:
            context.load_cert_chain(pair)
        return context


def read_settings(environment: Mapping[str, str] = os.environ) -> BoxSettings:
    given = {name.removeprefix(PREFIX): value for name, value in environment.items() if name.startswith(PREFIX)}
    host, port, tls = _broker(given.get("MQTT_URL", "mqtt://127.0.0.1:1883"))
    driver = given.get("DRIVER", "virtual")
    if driver not in ("virtual", "cu16"):
        raise SettingError(f"{PREFIX}DRIVER is not virtual or cu16")
    return BoxSettings(
        device=_device(given.get("DEVICE", "")),
        compartments=_compartments(given.get("COMPARTMENTS", "")),
        journal=Path(given.get("JOURNAL", "journal.sqlite")),
        mqtt_host=host,
        mqtt_port=port,
        mqtt_tls=tls,
        ca_file=_file(given, "CA_FILE"),
        identity_file=_file(given, "IDENTITY_FILE"),
        driver=driver,
        serial_port=given.get("SERIAL_PORT", "/dev/ttyUSB0"),
        open_bit=int(_number(given, "OPEN_BIT", 0, 0, 1)),
        keypad=_file(given, "KEYPAD"),
        journal_entries=int(_number(given, "JOURNAL_ENTRIES", 50_000, 1_000, 1_000_000)),
        look_seconds=_number(given, "LOOK_SECONDS", 0.1, 0.02, 5),
        heartbeat_seconds=_number(given, "HEARTBEAT_SECONDS", 15, 1, 600),
    )


def _broker(url: str) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SettingError(f"{PREFIX}MQTT_URL is not an address") from None
    if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname:
        raise SettingError(f"{PREFIX}MQTT_URL is not mqtt://host:port or mqtts://host:port")
    tls = parts.scheme == "mqtts"
    return parts.hostname, port or (8883 if tls else 1883), tls


def _device(text: str) -> str:
    if re.fullmatch(DEVICE_PATTERN, text) is None:
        wrong = "is not the id of a device" if text else "is not set"
        raise SettingError(f"{PREFIX}DEVICE {wrong}: it is the dev_… that `pickupbox box enroll` prints.")
    return text


def _compartments(text: str) -> tuple[str, ...]:
    if not text:
        raise SettingError(
            f"{PREFIX}COMPARTMENTS is not set: it is the doors' codes in the order of the locks, such as A1,A2,A3."
        )
    codes = tuple(code.strip() for code in text.split(",") if code.strip())
    if not 1 <= len(codes) <= COMPARTMENTS or len(set(codes)) != len(codes):
        raise SettingError(f"{PREFIX}COMPARTMENTS is not 1 to {COMPARTMENTS} different codes with commas between")
    if not all(FORMS["compartment"].fullmatch(code) for code in codes):
        raise SettingError(f"{PREFIX}COMPARTMENTS has a code that is no compartment's")
    return codes


def _file(given: Mapping[str, str], name: str) -> Path | None:
    return Path(given[name]) if given.get(name) else None


def _number(given: Mapping[str, str], name: str, default: float, least: float, most: float) -> float:
    try:
        value = float(given.get(name, default))
    except ValueError:
        raise SettingError(f"{PREFIX}{name} is not a number") from None
    if not least <= value <= most:
        raise SettingError(f"{PREFIX}{name} is not between {least} and {most}")
    return value
