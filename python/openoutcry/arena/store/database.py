"""Database connections and schema migrations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, inspect
from sqlalchemy.pool import NullPool

MIGRATIONS = Path(__file__).with_name("migrations")
NEWEST = "0001"
"""The newest schema version in `migrations/versions`."""


class Database:
    """An arena's database: SQLite in a file, or any SQLAlchemy URL.

    Args:
        url: Such as `sqlite:////srv/arena/arena.sqlite` or `postgresql+psycopg://arena@host/arena`.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        # One connection writes, and a commit is durable; readers see committed data only.
        self.writing = self._engine(is_writer=True)
        self.reading = self._engine(is_writer=False)
        # Raised by the driver directly, past SQLAlchemy, if the disk or the database server fails.
        self.operational: type[Exception] = self.writing.dialect.loaded_dbapi.OperationalError

    @classmethod
    def in_file(cls, path: Path) -> Database:
        """Return the database of a SQLite file; create the file if it is missing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite gives its journals the permissions of the file.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        return cls(f"sqlite:///{path}")

    def migrate(self) -> None:
        """Migrate the schema to the newest version."""
        if self._version() == NEWEST:
            # Importing Alembic takes a tenth of the start time, and is not needed here.
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
            version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        return None if version is None else str(version)

    def close(self) -> None:
        """Close all connections."""
        self.writing.dispose()
        self.reading.dispose()

    def _engine(self, *, is_writer: bool) -> Engine:
        # Errors are logged, and the parameters of a statement may be decisions that are still secret.
        options: dict[str, Any] = {"hide_parameters": True}
        if not self.is_sqlite:
            options["pool_pre_ping"] = True
            if is_writer:
                engine = create_engine(self.url, pool_size=1, **options)
                event.listen(engine, "begin", _begin_exclusive)
                return engine
            # A transaction reads one consistent snapshot, as in SQLite.
            return create_engine(self.url, pool_size=8, isolation_level="REPEATABLE READ", **options)
        options["connect_args"] = {"check_same_thread": False}
        if is_writer:
            options["poolclass"] = NullPool
        engine = create_engine(self.url, **options)
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin_immediate if is_writer else _begin)
        return engine


def _prepare(connection: Any, _: Any) -> None:
    # Otherwise the driver opens transactions itself, and too late.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000", "cache_size=-65536"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: Any) -> None:
    connection.connection.driver_connection.execute("BEGIN IMMEDIATE")


def _begin(connection: Any) -> None:
    connection.connection.driver_connection.execute("BEGIN")


def _begin_exclusive(connection: Any) -> None:
    # No other process writes, or reads the end of the log, before the commit.
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('openoutcry.arena'))")
