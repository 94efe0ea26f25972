"""One frozen object of settings, read from the environment when a process starts."""

import os
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from pickupbox.domain.identifiers import CELL_PATTERN
from pickupbox.vault import Secret, read_secrets

LOCAL_DATABASE = "postgresql://127.0.0.1:5432/postgres"


def _readable(text: SecretStr) -> SecretStr:
    read_secrets(text.get_secret_value())
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
    rate_limit_url: str = Field(
        default="memory://",
        pattern="^(memory://|rediss?://|unix://)",
        description="memory:// for one API process, redis://… for many",
    )
    database_pool: int = Field(default=10, ge=2, le=200, description="connections per process at most")
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    def variables(self) -> dict[str, str]:
        """The same settings as variables, for a process of our own."""
        values = {name: str(value) for name, value in self if name != "secrets"}
        values["secrets"] = self.secrets.get_secret_value()
        return {f"PICKUPBOX_{name.upper()}": value for name, value in values.items()}

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
