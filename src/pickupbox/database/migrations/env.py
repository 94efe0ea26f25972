"""Alembic's entrance: one connection, one migrator at a time, never waiting long for a lock."""

from alembic import context
from sqlalchemy import create_engine, pool, text

engine = create_engine(context.config.attributes["url"], poolclass=pool.NullPool)
with engine.connect() as connection:
    connection.execute(text("SELECT pg_advisory_lock(hashtext('pickupbox.migrate'))"))
    connection.execute(text("SET lock_timeout = '5s'"))
    connection.commit()
    context.configure(connection=connection, target_metadata=None, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()
