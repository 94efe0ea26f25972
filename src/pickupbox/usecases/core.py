"""What every use case needs, made once per process; and where ids and PINs come from."""

import os
import secrets
import time
from dataclasses import dataclass

from pickupbox.certificates import Authority
from pickupbox.database.connection import Database
from pickupbox.domain.identifiers import identifier
from pickupbox.domain.pins import PIN_COUNT, pin_of
from pickupbox.settings import Settings
from pickupbox.vault import Vault

PLATFORM = "platform"  # the actor of what is done at the command line


@dataclass(frozen=True, slots=True)
class Core:
    db: Database
    vault: Vault
    environment: str
    cell: str
    webhook_loopback: bool = False  # whether webhooks may go to this machine
    authority: Authority | None = None  # what signs the certificates of boxes
    admin_url: str = "http://127.0.0.1:8090"  # where people reach the administration

    def new_id(self, prefix: str) -> str:
        return identifier(prefix, self.cell, time.time_ns() // 1_000_000, os.urandom(10))


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, for the audit trail."""

    tenant: str
    actor: str
    request_id: str | None = None
    address: str | None = None


def new_pin() -> str:
    return pin_of(secrets.randbelow(PIN_COUNT))


def open_core(settings: Settings) -> Core:
    db = Database(settings.database_url, size=settings.database_pool)
    vault = Vault(settings.vault_secrets())
    return Core(
        db,
        vault,
        settings.environment,
        settings.cell,
        settings.webhook_loopback,
        settings.authority(),
        settings.admin_url,
    )
