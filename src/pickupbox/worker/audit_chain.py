"""Seals the audit trail in batches."""

from pickupbox.usecases.audit_chain import seal
from pickupbox.usecases.core import Core

BATCH = 1000
REST = 1.0


async def run(core: Core) -> float:
    return 0 if await seal(core, BATCH) == BATCH else REST
