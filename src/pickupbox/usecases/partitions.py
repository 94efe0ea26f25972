"""Keep time partitions ready before they are needed, and drop those that hold only what is too old."""

from pickupbox.database import partitions
from pickupbox.database.partitions import Creation
from pickupbox.telemetry import log
from pickupbox.usecases.core import Core


async def keep_partitions(core: Core) -> int:
    """Make the partitions that are missing from now to well ahead, drop old ones; how many were made."""
    made = 0
    async with core.db.connection() as connection:
        now = await partitions.now(connection)
        for partitioned in partitions.PARTITIONED:
            there = await partitions.existing(connection, partitioned.table)
            for name in partitions.too_old(partitioned, there, now):
                if await partitions.drop(connection, name):
                    log.info("partition_dropped", partition=name)
            for number in range(partitioned.ahead + 1):
                first, end = partitions.bounds(partitioned, now, number)
                if partitions.name_of(partitioned.table, first) in there:
                    continue
                match await partitions.create(connection, partitioned.table, first, end):
                    case Creation.MADE:
                        made += 1
                    case Creation.BUSY:
                        log.info("partition_waits", table=partitioned.table, first_day=str(first))
                    case Creation.TOO_LATE:
                        log.warning(
                            "partition_came_too_late",
                            table=partitioned.table,
                            first_day=str(first),
                            cure="its rows are safe in the default partition; keep a worker running",
                        )
    return made
