"""The only writer of an arena: group commit of queued entries.

Entries queued during a commit share the next transaction. An entry's result is returned after its transaction is
durable on disk. Under light load each entry has its own transaction; under heavy load many share one.
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
from openoutcry.arena.protocol import UNPROCESSABLE, ArenaError
from openoutcry.arena.store.cached_state import State
from openoutcry.arena.store.database import Database
from openoutcry.arena.store.tables import meta, submissions, tiles
from openoutcry.arena.store.tile_store import CHECKPOINT, full_tiles, read_log, stored_checkpoint
from openoutcry.arena.store.write_batch import Batch, WriterCache
from openoutcry.errors import refusal

_LOGGER = logging.getLogger("openoutcry.arena")

MAX_ENTRIES = 512
"""Maximum number of entries in a transaction."""
_LAST = "SELECT coalesce(max(seq), -1) FROM records"
_NEWEST_ID = select(func.max(submissions.c.submission_id))


class Entry(Protocol):
    """An entry for the writer.

    Attributes:
        is_alone: Whether it takes a transaction of its own.
    """

    has_own_transaction: bool

    def plan(self, batch: Batch) -> Any:
        """Add records and rows to the batch.

        Raises:
            ArenaError: the entry is refused; the batch is unchanged.
        """

    def result(self, planned: Any, log: LogWriter, sealed: LogBatch, batch: Batch) -> Any:
        """Return the result to report after the commit; rows may still be added."""


class _QueuedEntry:
    """A queued entry with the future that waits for its result."""

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
    """Writes entries in queue order on a thread of its own.

    Other processes may write too, such as an operator's command. Before each transaction the writer reloads the log and
    the state if they have changed.

    Args:
        database: A migrated database.
        key: The key that signs checkpoints.
        state: The cached state that commits update.
    """

    def __init__(self, database: Database, key: SignerKey, state: State) -> None:
        self._database, self._key, self._state = database, key, state
        self._queue: queue.SimpleQueue[_QueuedEntry | None] = queue.SimpleQueue()
        self._cache = WriterCache()
        self._connection: Connection | None = None
        with database.reading.connect() as connection:
            self._read(connection)
        self.checkpoint = self.log.extend(()).checkpoint
        self._thread = threading.Thread(target=self._run, name="arena-writer", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> Any:
        """Write an entry, wait until it is durable, and return its result.

        Raises:
            ArenaError: the entry is refused.
        """
        future: Future[Any] = Future()
        self._queue.put(_QueuedEntry(entry, future, None))
        return future.result()

    async def write_async(self, entry: Entry) -> Any:
        """Like `write`, without blocking the event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._queue.put(_QueuedEntry(entry, future, loop))
        return await future

    def close(self) -> None:
        """Commit the queued entries and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_over = False
        while not is_over:
            entries, is_over = self._next_entries()
            for group in _transactions(entries):
                self._commit(group)
                _resolve(group)
        if self._connection is not None:
            self._connection.close()

    def _next_entries(self) -> tuple[list[_QueuedEntry], bool]:
        entries = []
        item = self._queue.get()
        while item is not None:
            entries.append(item)
            if len(entries) == MAX_ENTRIES:
                return entries, False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return entries, False
        return entries, True

    def _commit(self, entries: list[_QueuedEntry]) -> None:
        """Commit entries in one transaction; if it fails, retry each entry alone."""
        sealed: LogBatch | None = None
        try:
            connection = self.connection()
            with connection.begin():
                cursor = connection.connection.cursor()
                cursor.execute(_LAST)
                if cursor.fetchone() != (self.log.end.seq - 1,):
                    self._read(connection)
                batch = Batch(connection, self._state, self.log, self._cache)
                planned = [self._planned(each, batch) for each in entries]
                sealed = self.log.extend(batch.sealed)
                for each, plan in zip(entries, planned, strict=True):
                    if each.error is None:
                        each.result = each.entry.result(plan, self.log, sealed, batch)
                if sealed.records:
                    batch.add(meta, CHECKPOINT, sealed.checkpoint)
                for level, place in full_tiles(sealed.start.seq, self.log.end.seq):
                    batch.add(tiles, level, place, self.log.tree.tile(level, place))
                batch.flush()
        except (OperationalError, self._database.operational) as error:
            self._undo(sealed)
            detail = "a working database is required; received a write failure, and nothing was accepted"
            _refuse(entries, ArenaError("unavailable", detail, retry_after=5), error)
            return
        except Exception as error:  # noqa: BLE001 the waiting callers need a result
            self._undo(sealed)
            if len(entries) == 1:
                _refuse(entries, ArenaError("internal_error", UNPROCESSABLE), error)
            # Retried one by one, so that only the failing entry is refused.
            for each in entries if len(entries) > 1 else ():
                each.error = None
                self._commit([each])
            return
        batch.committed()
        self.checkpoint = sealed.checkpoint

    def _read(self, connection: Connection) -> None:
        """Load the log and the state from the database."""
        log = LogWriter(self._key, *read_log(connection))
        if stored_checkpoint(connection) not in (None, log.extend(()).checkpoint):
            raise refusal("value_invalid", "the records of the last checkpoint are required; received others")
        self.log = log
        self._cache.accepted.forget()
        # The clock may have been set back since the last run.
        self._cache.ids.follow(connection.execute(_NEWEST_ID).scalar() or "")
        self._state.read(connection)

    def connection(self) -> Connection:
        """Return the writer's connection; tests inspect it while nothing is written."""
        if self._connection is None:
            self._connection = self._database.writing.connect()
        return self._connection

    def _planned(self, queued: _QueuedEntry, batch: Batch) -> Any:
        try:
            return queued.entry.plan(batch)
        except ArenaError as error:
            queued.error = error
            return None

    def _undo(self, sealed: LogBatch | None) -> None:
        if sealed is not None:
            self.log.undo(sealed)
        self._cache.accepted.forget()
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _transactions(entries: list[_QueuedEntry]) -> Iterator[list[_QueuedEntry]]:
    """Yield the entries of each transaction, in queue order."""
    group: list[_QueuedEntry] = []
    for each in entries:
        if each.entry.has_own_transaction:
            yield from ([group] if group else [])
            yield [each]
            group = []
        else:
            group.append(each)
    yield from ([group] if group else [])


def _refuse(entries: list[_QueuedEntry], refusal: ArenaError, error: Exception) -> None:
    _LOGGER.error("none of %d entries was written", len(entries), exc_info=error)
    for each in entries:
        each.error = refusal


def _resolve(entries: list[_QueuedEntry]) -> None:
    """Resolve the futures of entries, in one call per event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_QueuedEntry]] = {}
    for each in entries:
        if each.loop is None:
            each.resolve()
        else:
            loops.setdefault(each.loop, []).append(each)
    for loop, waiting in loops.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve_all, waiting)


def _resolve_all(entries: list[_QueuedEntry]) -> None:
    for each in entries:
        each.resolve()
