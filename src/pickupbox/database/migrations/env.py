"""Alembic's entrance: one connection, one migrator at a time, never waiting long for a lock."""

import time

from alembic import context
from sqlalchemy import create_engine, pool, text

engine = create_engine(context.config.attributes["url"], poolclass=pool.NullPool)
with engine.connect() as connection:
    # Asked again and again, not waited for: a statement that waits keeps its snapshot, and an index that is built
    # CONCURRENTLY waits for every older snapshot.
    while not connection.execute(text("SELECT pg_try_advisory_lock(hashtext('pickupbox.migrate'))")).scalar():
        connection.commit()
        time.sleep(0.1)
    connection.execute(text("SET lock_timeout = '5s'"))
    connection.commit()
    context.configure(connection=connection, target_metadata=None, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
