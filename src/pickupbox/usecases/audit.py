"""Note in the audit trail who did what to what."""

from pickupbox.database import audit
from pickupbox.database.connection import Connection
from pickupbox.usecases.core import Caller, Core


async def note(core: Core, connection: Connection, caller: Caller, action: str, obj: str) -> None:
    await audit.append(
        connection,
        caller.tenant,
        core.new_id("aud"),
        actor=caller.actor,
        action=action,
        obj=obj,
        request_id=caller.request_id,
        address=caller.address,
    )
