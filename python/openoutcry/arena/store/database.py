"""Database connections and schema migrations."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, inspect
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from openoutcry.errors import add_note
from openoutcry.records.file_lock import holder_of, lock_seconds

MIGRATIONS = Path(__file__).with_name("migrations")
_BUSY_SECONDS = 10.0
_LOCK = "hashtext('openoutcry.arena')"
_HOLDER = """
SELECT 'process ' || pid || ' of the database for ' || coalesce(host(client_addr), 'this machine')
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND datname = current_database() AND pid <> pg_backend_pid() LIMIT 1
"""
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
    busy = round(min(_BUSY_SECONDS, lock_seconds()) * 1000.0)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={busy}", "cache_size=-65536"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: Any) -> None:
    try:
        connection.connection.driver_connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        path = Path(connection.engine.url.database)
        # In the mode of the journal, locks are in the second file.
        holder = holder_of(path, path.with_name(f"{path.name}-shm"))
        add_note(error, f"while waiting for the write lock of '{path}', which {holder} holds")
        raise


def _begin(connection: Any) -> None:
    connection.connection.driver_connection.execute("BEGIN")


def _begin_exclusive(connection: Any) -> None:
    # No other process writes, or reads the end of the log, before the commit.
    if connection.exec_driver_sql(f"SELECT pg_try_advisory_xact_lock({_LOCK})").scalar():
        return
    holder = connection.exec_driver_sql(_HOLDER).scalar()
    # A timeout of 0 is none.
    most = max(1, round(lock_seconds() * 1000.0))
    waiting = f"SELECT set_config('lock_timeout', '{most}', true), pg_advisory_xact_lock({_LOCK})"
    try:
        connection.exec_driver_sql(waiting)
    except OperationalError as error:
        add_note(error, f"while waiting for the write lock of the arena; {holder or 'another process'} held it")
        raise
