"""The one writer: what is queued while a transaction commits joins the next.

An entry is answered after its transaction is on the disk, and not before. Under light load that is one entry a
transaction, at once; under heavy load one transaction for many.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, Protocol

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import OperationalError

from openoutcry.arena.log.log_writer import Batch as LogBatch
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.log.signed_notes import SignerKey
from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.store.cached_state import State
from openoutcry.arena.store.database import Database
from openoutcry.arena.store.tables import meta, submissions, tiles
from openoutcry.arena.store.tile_store import CHECKPOINT, full_tiles, kept_checkpoint, read_log
from openoutcry.arena.store.write_batch import Batch, Known
from openoutcry.errors import refusal

_LOGGER = logging.getLogger("openoutcry.arena")

MOST = 512
"""Entries of a transaction at most."""
_LAST = "SELECT coalesce(max(seq), -1) FROM records"
_NEWEST_ID = select(func.max(submissions.c.submission_id))


class Entry(Protocol):
    """Something to write.

    Attributes:
        is_alone: Whether it takes a transaction of its own.
    """

    is_alone: bool

    def plan(self, batch: Batch) -> Any:
        """Add what is to be written, or refuse before anything is.

        Raises:
            ArenaError: it is refused, and the batch is as it was.
        """

    def answer(self, planned: Any, log: LogWriter, sealed: LogBatch, batch: Batch) -> Any:
        """Return what is told after the commit; rows may still be added."""


class _Asked:
    """An entry with who waits for it."""

    def __init__(self, entry: Entry, future: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        self.entry, self.future, self.loop = entry, future, loop
        self.result: Any = None
        self.error: BaseException | None = None

    def resolve(self) -> None:
        if self.future.cancelled():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer:
    """Writes entries in the order in which they come, on a thread of its own.

    Other processes may write too, such as an operator's command: what they wrote is read before anything is added.

    Args:
        database: Migrated.
        key: What signs checkpoints.
        state: What the server knows.
    """

    def __init__(self, database: Database, key: SignerKey, state: State) -> None:
        self._database, self._key, self._state = database, key, state
        self._queue: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._known = Known()
        self._connection: Connection | None = None
        with database.reading.connect() as connection:
            self._read(connection)
        self.checkpoint = self.log.extend(()).checkpoint
        self._thread = threading.Thread(target=self._run, name="arena-writer", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> Any:
        """Write an entry, wait until the disk has it, and return its answer.

        Raises:
            ArenaError: it is refused.
        """
        future: Future[Any] = Future()
        self._queue.put(_Asked(entry, future, None))
        return future.result()

    async def written(self, entry: Entry) -> Any:
        """Do the same without blocking the loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._queue.put(_Asked(entry, future, loop))
        return await future

    def close(self) -> None:
        """Write what is queued, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_over = False
        while not is_over:
            asked, is_over = self._taken()
            for some in _parted(asked):
                self._commit(some)
                _tell(some)
        if self._connection is not None:
            self._connection.close()

    def _taken(self) -> tuple[list[_Asked], bool]:
        asked = []
        item = self._queue.get()
        while item is not None:
            asked.append(item)
            if len(asked) == MOST:
                return asked, False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return asked, False
        return asked, True

    def _commit(self, asked: list[_Asked]) -> None:
        """Write entries in one transaction, or none; those at fault, alone."""
        sealed: LogBatch | None = None
        try:
            connection = self.connection()
            with connection.begin():
                cursor = connection.connection.cursor()
                cursor.execute(_LAST)
                if cursor.fetchone() != (self.log.end.seq - 1,):
                    self._read(connection)
                batch = Batch(connection, self._state, self.log, self._known)
                planned = [self._planned(each, batch) for each in asked]
                sealed = self.log.extend(batch.sealed)
                for each, plan in zip(asked, planned, strict=True):
                    if each.error is None:
                        each.result = each.entry.answer(plan, self.log, sealed, batch)
                if sealed.records:
                    batch.add(meta, CHECKPOINT, sealed.checkpoint)
                for level, place in full_tiles(sealed.begin.seq, self.log.end.seq):
                    batch.add(tiles, level, place, self.log.tree.tile(level, place))
                batch.flush()
        except (OperationalError, self._database.operational) as error:
            self._undo(sealed)
            told = "a disk that keeps what is written is required; received a failure, and nothing was accepted"
            _refuse(asked, ArenaError("unavailable", told, retry_after=5), error)
            return
        except Exception as error:  # noqa: BLE001 nobody has foreseen it, and whoever waits must be told
            self._undo(sealed)
            if len(asked) == 1:
                _refuse(asked, ArenaError("internal_error", "a request that this server can answer is required"), error)
            # What is at fault is found out one by one, and the others are written.
            for each in asked if len(asked) > 1 else ():
                each.error = None
                self._commit([each])
            return
        batch.committed()
        self.checkpoint = sealed.checkpoint

    def _read(self, connection: Connection) -> None:
        """Take over log and state as the database has them."""
        log = LogWriter(self._key, *read_log(connection))
        if kept_checkpoint(connection) not in (None, log.extend(()).checkpoint):
            raise refusal("value_invalid", "the records that the last checkpoint is of are required; received others")
        self.log = log
        self._known.accepted.forget()
        # The clock may have been set back since.
        self._known.ids.follow(connection.execute(_NEWEST_ID).scalar() or "")
        self._state.read(connection)

    def connection(self) -> Connection:
        """Return what the writer writes on; for a look at it, while nothing is written."""
        if self._connection is None:
            self._connection = self._database.writing.connect()
        return self._connection

    def _planned(self, asked: _Asked, batch: Batch) -> Any:
        try:
            return asked.entry.plan(batch)
        except ArenaError as error:
            asked.error = error
            return None

    def _undo(self, sealed: LogBatch | None) -> None:
        if sealed is not None:
            self.log.undo(sealed)
        self._known.accepted.forget()
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _parted(asked: list[_Asked]) -> Iterator[list[_Asked]]:
    """Yield entries in order, by themselves where they take a transaction alone."""
    held: list[_Asked] = []
    for each in asked:
        if each.entry.is_alone:
            yield from ([held] if held else [])
            yield [each]
            held = []
        else:
            held.append(each)
    yield from ([held] if held else [])


def _refuse(asked: list[_Asked], refusal: ArenaError, error: Exception) -> None:
    _LOGGER.error("nothing was written of %d entries", len(asked), exc_info=error)
    for each in asked:
        each.error = refusal


def _tell(asked: list[_Asked]) -> None:
    """Answer all that wait, those of one event loop at once."""
    loops: dict[asyncio.AbstractEventLoop, list[_Asked]] = {}
    for each in asked:
        if each.loop is None:
            each.resolve()
        else:
            loops.setdefault(each.loop, []).append(each)
    for loop, told in loops.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve_all, told)


def _resolve_all(asked: list[_Asked]) -> None:
    for each in asked:
        each.resolve()
