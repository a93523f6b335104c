"""Connections to the database, and its migrations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, inspect
from sqlalchemy.pool import NullPool

MIGRATIONS = Path(__file__).with_name("migrations")
NEWEST = "0001"
"""The newest version of the tables, of `migrations/versions`."""


class Database:
    """A database of an arena: SQLite in a file, or what a URL of SQLAlchemy names.

    Args:
        url: Such as `sqlite:////srv/arena/arena.sqlite` or `postgresql+psycopg://arena@host/arena`.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        # One connection writes, at the end of its transaction on the disk; readers see what was committed.
        self.writing = self._engine(is_writer=True)
        self.reading = self._engine(is_writer=False)
        # What the driver raises, past SQLAlchemy, where the disk or the server is at fault.
        self.operational: type[Exception] = self.writing.dialect.loaded_dbapi.OperationalError

    @classmethod
    def in_file(cls, path: Path) -> Database:
        """Return the database of a SQLite file, which is made where it is missing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # Its journals are readable to those to whom it is.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        return cls(f"sqlite:///{path}")

    def migrate(self) -> None:
        """Bring the tables to the newest version."""
        if self._version() == NEWEST:
            # What there is nothing to do for takes a tenth of a start to import.
            return
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        with self.writing.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def _version(self) -> str | None:
        with self.writing.connect() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return None
            told = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        return None if told is None else str(told)

    def close(self) -> None:
        """Close all connections."""
        self.writing.dispose()
        self.reading.dispose()

    def _engine(self, *, is_writer: bool) -> Engine:
        # A failure is logged, and the values of a statement are what nobody may see before a cutoff.
        options: dict[str, Any] = {"hide_parameters": True}
        if not self.is_sqlite:
            options["pool_pre_ping"] = True
            if is_writer:
                engine = create_engine(self.url, pool_size=1, **options)
                event.listen(engine, "begin", _begin_alone)
                return engine
            # All that a reader is told in one transaction is of one moment, as SQLite has it.
            return create_engine(self.url, pool_size=8, isolation_level="REPEATABLE READ", **options)
        options["connect_args"] = {"check_same_thread": False}
        if is_writer:
            options["poolclass"] = NullPool
        engine = create_engine(self.url, **options)
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin_immediate if is_writer else _begin)
        return engine


def _prepare(connection: Any, _: Any) -> None:
    # The driver would begin transactions of its own, and late.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000", "cache_size=-65536"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: Any) -> None:
    connection.connection.driver_connection.execute("BEGIN IMMEDIATE")


def _begin(connection: Any) -> None:
    connection.connection.driver_connection.execute("BEGIN")


def _begin_alone(connection: Any) -> None:
    # Until the commit no other process writes, nor sees the end of the log where it is not.
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('openoutcry.arena'))")
