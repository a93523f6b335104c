"""An arena in a folder: its database, log key and writer, opened together."""

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
from openoutcry.arena.store.initialization import SetScoringRules, StartLog
from openoutcry.arena.store.tables import records
from openoutcry.arena.store.write_queue import Writer
from openoutcry.arena.timestamps import now
from openoutcry.errors import refusal
from openoutcry.records.file_lock import lock_file

KEY, FILE, COSIGNATURES, SERVED = "log.key", "arena.sqlite", "cosignatures", "served"
NO_RATES = b"[]"
"""An empty table of base rates."""
SCORING_VERSION = "1"


class Arena:
    """An arena in a folder, which contains its signing key and its database.

    Args:
        folder: Created if it is missing.
        url: SQLAlchemy URL of the database; None for a SQLite file in the folder.
        origin: Name of a new log; an existing log keeps its name.
        clock: Returns the start time of a new log.
        base_rates: JSON table of base rates of a new log.
    """

    def __init__(
        self,
        folder: Path,
        url: str | None = None,
        origin: str = "openoutcry.arena/local",
        clock: Callable[[], int] = now,
        base_rates: bytes = NO_RATES,
    ) -> None:
        # Only the owner may read the folder: the database contains decisions that are secret until their cutoff.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self._database = Database.in_file(folder / FILE) if url is None else Database(url)
        self._database.migrate()
        self.reading = self._database.reading
        has_log = self._has_records()
        self.key = _signer(folder / KEY, origin, has_log=has_log)
        self.state = State()
        self.writer = Writer(self._database, self.key, self.state)
        if not has_log:
            at = clock()
            rules = SetScoringRules(SCORING_VERSION, Parameters().to_record(), base_rates, at)
            self.writer.write(StartLog(origin, str(self.key.verifier), rules, at))
        if not (folder / KEY).exists():
            _pending_key(folder / KEY).replace(folder / KEY)

    def _has_records(self) -> bool:
        with self.reading.connect() as connection:
            return connection.execute(select(records.c.seq).limit(1)).first() is not None

    def close(self) -> None:
        """Commit the queued entries and close the database."""
        self.writer.close()
        self._database.close()

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def serving_lock(folder: Path) -> Iterator[None]:
    """Lock a folder so that only one process serves its arena.

    The operating system releases the lock when the process ends. The lock file stays and has no meaning.

    Raises:
        OpenOutcryError: `argument_invalid`: another process holds the lock.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_file(folder / SERVED, "a folder that no other process serves is required", seconds=0.0):
        yield


def _signer(path: Path, origin: str, *, has_log: bool) -> SignerKey:
    """Return the signing key of a log; create it if the log has no records."""
    if path.exists() and not has_log:
        # The key would sign a second history, for example if `--database` is missing on the command line.
        wanted = f"the database of the log signed by '{path}' is required"
        raise refusal("argument_invalid", f"{wanted}; received one without records")
    pending = _pending_key(path)
    if has_log and not path.exists() and not pending.exists():
        wanted = f"`{KEY}`, the key of the existing log, is required in '{path.parent}'"
        raise refusal("argument_invalid", f"{wanted}; received none")
    if not has_log:
        signer = SignerKey(origin, secrets.token_bytes(32))
        with os.fdopen(os.open(pending, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(signer.private_text() + "\n")
            file.flush()
            os.fsync(file.fileno())
    return SignerKey.parse((path if path.exists() else pending).read_text(encoding="utf-8").strip())


def _pending_key(path: Path) -> Path:
    """Return the path of a key until the first records of its log are committed."""
    return path.with_suffix(".tmp")
