"""Alembic environment: run migrations on the connection of `Database.migrate`."""

from __future__ import annotations

from alembic import context

from openoutcry.arena.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
