"""An arena: its database, its log and its writer, opened together."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from sqlalchemy import select

from openoutcry.arena.log.signed_notes import SignerKey
from openoutcry.arena.scoring import Parameters
from openoutcry.arena.store.cached_state import State
from openoutcry.arena.store.database import Database
from openoutcry.arena.store.initialization import Beginning, SettingRules
from openoutcry.arena.store.tables import records
from openoutcry.arena.store.write_queue import Writer
from openoutcry.arena.timestamps import now
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
        is_begun = self._has_records()
        self.key = _signer(folder / KEY, origin, is_begun=is_begun)
        self.state = State()
        self.writer = Writer(self._database, self.key, self.state)
        if not is_begun:
            at = clock()
            rules = SettingRules(SCORING_VERSION, Parameters().to_record(), base_rates, at)
            self.writer.write(Beginning(origin, str(self.key.verifier), rules, at))
        if not (folder / KEY).exists():
            _begun(folder / KEY).replace(folder / KEY)

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


def _signer(path: Path, origin: str, *, is_begun: bool) -> SignerKey:
    """Return the key of a log: its own, or a new one where nothing has begun."""
    if path.exists() and not is_begun:
        # It would sign a second history, such as where a database is forgotten on the command line.
        wanted = f"the database of the log that '{path}' signs is required"
        raise refusal("argument_invalid", f"{wanted}; received one without records")
    begun = _begun(path)
    if is_begun and not path.exists() and not begun.exists():
        wanted = f"`{KEY}`, which signs the log that is there, is required in '{path.parent}'"
        raise refusal("argument_invalid", f"{wanted}; received none, and another would sign another log")
    if not is_begun:
        made = SignerKey(origin, secrets.token_bytes(32))
        with os.fdopen(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(made.private_text() + "\n")
            file.flush()
            os.fsync(file.fileno())
    return SignerKey.parse((path if path.exists() else begun).read_text(encoding="utf-8").strip())


def _begun(path: Path) -> Path:
    """Return where a key is until its log has begun."""
    return path.with_suffix(".tmp")
