"""One frozen object of settings, read from the environment when a process starts."""

import os
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from pickupbox.certificates import Authority, read_authority
from pickupbox.domain.identifiers import CELL_PATTERN
from pickupbox.vault import Secret, read_secrets

LOCAL_DATABASE = "postgresql://127.0.0.1:5432/postgres"


def _readable(text: SecretStr) -> SecretStr:
    read_secrets(text.get_secret_value())
    return text


def _signing(text: SecretStr) -> SecretStr:
    read_authority(text.get_secret_value())
    return text


def _mailing(text: SecretStr) -> SecretStr:
    parts = urlsplit(text.get_secret_value())
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname or parts.path.strip("/"):
        raise ValueError("a mail server is written smtp://host:port or smtps://user:password@host:port")
    _ = parts.port  # raises what is no number
    return text


class Settings(BaseSettings):
    """Every field is PICKUPBOX_… in the environment; those without a default are required."""

    model_config = SettingsConfigDict(env_prefix="PICKUPBOX_", frozen=True, extra="ignore", hide_input_in_errors=True)

    database_url: str = Field(default=LOCAL_DATABASE, description="PostgreSQL 15 or newer")
    environment: Literal["sandbox", "production"] = Field(description="what this deployment is")
    cell: str = Field(default="c1", pattern=CELL_PATTERN, description="the cell's code, part of every id")
    secrets: Annotated[SecretStr, AfterValidator(_readable)] = Field(
        description="id:base64 of 32 bytes, the current one first, comma, the one before"
    )
    device_authority: Annotated[SecretStr, AfterValidator(_signing)] | None = Field(
        default=None, description="PEM of the key and certificate that sign those of boxes, base64 in one line"
    )
    rate_limit_url: str = Field(
        default="memory://",
        pattern="^(memory://|rediss?://|unix://)",
        description="memory:// for one API process, redis://… for many",
    )
    database_pool: int = Field(default=10, ge=2, le=200, description="connections per process at most")
    webhook_loopback: bool = Field(default=False, description="whether webhooks may go to this machine; sandbox only")
    webhook_concurrency: int = Field(
        default=512, ge=1, le=10_000, description="webhook exchanges under way per worker at most"
    )
    webhook_schedule: str = Field(
        default="0,5,300,1800,7200,18000,36000,50400,72000,86400",
        pattern=r"^\d{1,6}(\.\d{1,3})?(,\d{1,6}(\.\d{1,3})?){0,29}$",
        description="seconds from one attempt of a delivery to the next, comma separated; then it is given up",
    )
    mqtt_url: str = Field(
        default="mqtt://127.0.0.1:1883", pattern="^mqtts?://", description="the broker: mqtt://host:port or mqtts://…"
    )
    mqtt_ca: str | None = Field(default=None, description="file with the authority that the broker's certificate has")
    mqtt_certificate: str | None = Field(default=None, description="file with the service's own certificate")
    mqtt_key: str | None = Field(default=None, description="file with its key")
    admin_url: str = Field(
        default="http://127.0.0.1:8090",
        pattern=r"^(https://[^/?#\s@]+|http://(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?)$",
        description="where people reach the administration, for links in mail and the way back from a provider",
    )
    admin_proxies: int = Field(
        default=0,
        ge=0,
        le=9,
        description="how many proxies of yours stand before the administration: a visitor's address is so many from "
        "the right of X-Forwarded-For",
    )
    smtp_url: Annotated[SecretStr, AfterValidator(_mailing)] | None = Field(
        default=None, description="the mail server: smtp://user:password@host:port or smtps://…"
    )
    mail_from: str = Field(
        default="pickupbox@localhost", pattern=r"^[!-~ ]{1,200}$", description="from whom mail is sent"
    )
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @model_validator(mode="after")
    def _no_loopback_in_production(self) -> Self:
        if self.webhook_loopback and self.environment == "production":
            raise ValueError("PICKUPBOX_WEBHOOK_LOOPBACK is for a sandbox: leave it out in production")
        return self

    def variables(self) -> dict[str, str]:
        """The same settings as variables, for a process of our own."""
        values = {name: value for name, value in self if value is not None}
        return {
            f"PICKUPBOX_{name.upper()}": value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in values.items()
        }

    def webhook_delays(self) -> tuple[float, ...]:
        return tuple(float(seconds) for seconds in self.webhook_schedule.split(","))

    def authority(self) -> Authority | None:
        return read_authority(self.device_authority.get_secret_value()) if self.device_authority else None

    def vault_secrets(self) -> list[Secret]:
        return read_secrets(self.secrets.get_secret_value())


def problems(error: ValidationError) -> list[str]:
    """What is wrong with the environment, one line each, without repeating any value."""
    return [
        f"PICKUPBOX_{'_'.join(str(part) for part in item['loc']).upper()}: {item['msg']}"
        for item in error.errors(include_input=False, include_url=False)
    ]


def database_url() -> str:
    """Where PostgreSQL is, even if the other settings are not complete."""
    return os.environ.get("PICKUPBOX_DATABASE_URL", LOCAL_DATABASE)
