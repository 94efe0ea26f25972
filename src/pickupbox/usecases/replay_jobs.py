"""Replays since a time that take long: begun and stopped by a person, worked off page by page by the workers."""

from datetime import datetime

from pickupbox.database import endpoints, replay_jobs, replays
from pickupbox.database.replay_jobs import ReplayJob
from pickupbox.domain.errors import NotFound
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.replay import BATCH, is_past


async def begin_replay(core: Core, caller: Caller, endpoint_id: str, since: datetime) -> str | None:
    """Have the workers send again what occurred since then; None if a replay to that endpoint is under way."""
    job_id = core.new_id("rpl")
    async with core.db.transaction() as tx:
        if await endpoints.find(tx, caller.tenant, endpoint_id) is None:
            raise NotFound
        if not await replay_jobs.insert(tx, caller.tenant, job_id, endpoint_id, since, caller.actor):
            return None
        await note(core, tx, caller, f"replay.since: {since:%Y-%m-%dT%H:%M:%SZ}", endpoint_id)
    core.db.ring()
    return job_id


async def stop_replay(core: Core, caller: Caller, job_id: str) -> bool:
    """Put nothing more back; what waits already still goes. False if no such replay is under way."""
    async with core.db.transaction() as tx:
        stopped = await replay_jobs.stop(tx, caller.tenant, job_id, caller.actor)
        if stopped:
            await note(core, tx, caller, "replay.stop", job_id)
    core.db.ring()
    return stopped


async def work_on_replays(core: Core) -> bool:
    """Put one page back for the job whose turn it is; False if there is none."""
    async with core.db.transaction() as tx:
        job = await replay_jobs.take_turn(tx)
        if job is None:
            return False
        page = await replays.put_page_back(tx, job.tenant_id, job.endpoint_id, job.since, job.position, BATCH)
        if page is not None:
            await replay_jobs.go_on(tx, job, page)
        if page is None or is_past(page.latest, job.since):
            await replay_jobs.finish(tx, job.id)
    core.db.ring()
    return True


async def newest_replay(core: Core, tenant: str, endpoint_id: str) -> ReplayJob | None:
    async with core.db.connection() as connection:
        return await replay_jobs.newest_of(connection, tenant, endpoint_id)
