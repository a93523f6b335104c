"""An arena: its database, its log and its writer, opened together."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from sqlalchemy import select

from openoutcry.arena.log.notes import SignerKey
from openoutcry.arena.scoring import Parameters
from openoutcry.arena.store.database import Database
from openoutcry.arena.store.entries import Beginning, SettingRules
from openoutcry.arena.store.state import State
from openoutcry.arena.store.tables import records
from openoutcry.arena.store.writer import Writer
from openoutcry.arena.times import now
from openoutcry.errors import refusal

KEY, FILE, COSIGNATURES, SERVED = "log.key", "arena.sqlite", "cosignatures", "served"
NO_RATES = b"[]"
"""A table of past rates without a row."""
SCORING_VERSION = "1"


class Arena:
    """An arena in a folder, which holds its key and its database.

    Args:
        folder: Made where it is missing.
        url: A database of SQLAlchemy; None for a SQLite file in the folder.
        origin: The name of a new log; that of an old one stands.
        clock: Tells the moment at which a new log begins.
        base_rates: The table of past rates with which it begins.
    """

    def __init__(
        self,
        folder: Path,
        url: str | None = None,
        origin: str = "openoutcry.arena/local",
        clock: Callable[[], int] = now,
        base_rates: bytes = NO_RATES,
    ) -> None:
        # Nobody else may read what nobody may see before a cutoff.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self._database = Database.in_file(folder / FILE) if url is None else Database(url)
        self._database.migrate()
        self.reading = self._database.reading
        if not (folder / KEY).exists() and self._has_records():
            wanted = f"`{KEY}`, which signs the log that is there, is required in '{folder}'"
            raise refusal("argument_invalid", f"{wanted}; received none, and another would sign another log")
        self.key = _signer(folder / KEY, origin)
        self.state = State()
        self.writer = Writer(self._database, self.key, self.state)
        if self.writer.log.end.seq == 0:
            self.writer.write(Beginning(origin, str(self.key.verifier), clock()))
            rules = Parameters().to_record()
            self.writer.write(SettingRules(SCORING_VERSION, rules, base_rates, clock()))

    def _has_records(self) -> bool:
        with self.reading.connect() as connection:
            return connection.execute(select(records.c.seq).limit(1)).first() is not None

    def close(self) -> None:
        """Write what is queued, and close the database."""
        self.writer.close()
        self._database.close()

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def served_alone(folder: Path) -> Iterator[None]:
    """Hold a folder as the one process that serves its arena.

    The lock is the system's and ends with the process, however that ends: its file, which stays, says nothing.

    Raises:
        OpenOutcryError: `argument_invalid`: another process holds it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(folder / SERVED, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        try:
            import fcntl
        except ModuleNotFoundError:
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            wanted = "a folder whose arena no other process serves is required"
            raise refusal("argument_invalid", f"{wanted}; received '{folder}', which one serves") from error
        yield


def _signer(path: Path, origin: str) -> SignerKey:
    """Return the key of a log, made where there is none."""
    if not path.exists():
        made = SignerKey(origin, secrets.token_bytes(32))
        begun = path.with_suffix(".tmp")
        with os.fdopen(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(made.private_text() + "\n")
            file.flush()
            os.fsync(file.fileno())
        begun.replace(path)
    return SignerKey.parse(path.read_text(encoding="utf-8").strip())
