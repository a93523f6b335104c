"""A transaction of the writer; several entries share it."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from secrets import randbits
from typing import Any

from sqlalchemy import Connection, Table

from openoutcry.arena.log.log_records import Record, seal, seal_submission
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.store.cached_state import State
from openoutcry.arena.store.tables import decisions, meta, records
from openoutcry.arena.timestamps import format_timestamp

MAX_CACHED = 500_000
"""Cached agent-market pairs at most; above it the cache is cleared."""
_RANDOM = 80
"""Random bits of a ULID, below the millisecond."""
_PAIRS = ["".join(pair) for pair in product("0123456789ABCDEFGHJKMNPQRSTVWXYZ", repeat=2)]
_KEYS = {decisions: "agent, market", meta: "key"}
"""Tables whose rows are replaced by newer ones, with their key columns."""


class AcceptedDecisions:
    """Cache of the newest snapshot on which an agent decided each market."""

    def __init__(self) -> None:
        self._known: dict[int, dict[int, int]] = {}
        self._n = 0

    def of(self, connection: Connection, agent: int) -> dict[int, int]:
        """Return the snapshot time by market of an agent."""
        taken = self._known.get(agent)
        if taken is None:
            # Loads all markets of an agent at once: the query costs more than its rows.
            cursor = connection.connection.cursor()
            cursor.execute(f"SELECT market, as_of FROM decisions WHERE agent = {int(agent)}")
            taken = self._known[agent] = dict(cursor.fetchall())
            self._n += len(taken) + 1
        return taken

    def add(self, taken: dict[int, int], markets: Sequence[int], as_of: int) -> None:
        """Add decisions on a newer snapshot to the mapping that `of` returned."""
        before = len(taken)
        taken.update(dict.fromkeys(markets, as_of))
        self._n += len(taken) - before

    def trim(self) -> None:
        """Clear the cache if it is too large; only between transactions."""
        if self._n > MAX_CACHED:
            self.forget()

    def forget(self) -> None:
        """Clear the cache, as after a failed transaction."""
        self._known.clear()
        self._n = 0


class UlidGenerator:
    """Generates strictly increasing ULIDs."""

    def __init__(self) -> None:
        self._last = 0

    def follow(self, last: str) -> None:
        """Continue after a ULID of another process or of a previous run."""
        pairs = [_PAIRS.index(last[place : place + 2]) for place in range(0, len(last), 2)]
        self._last = max(self._last, sum(pair << 120 - 10 * place for place, pair in enumerate(pairs)))

    def next(self, timestamp: int) -> str:
        """Return the next ULID, for a time or for the last ULID's time if that is later."""
        drawn = (timestamp // 1000 << _RANDOM) + randbits(_RANDOM)
        # Within one millisecond, increment by one.
        self._last = drawn if drawn >> _RANDOM > self._last >> _RANDOM else self._last + 1
        return "".join([_PAIRS[self._last >> shift & 1023] for shift in range(120, -1, -10)])


class WriterCache:
    """What the writer caches between transactions."""

    def __init__(self) -> None:
        self.accepted, self.ids = AcceptedDecisions(), UlidGenerator()


class Batch:
    """Rows and records of a transaction before its commit.

    Args:
        connection: A connection in a transaction.
        state: The cached state; it changes after the commit.
        log: The log that the records extend.
        cache: What the writer caches between transactions.
    """

    def __init__(self, connection: Connection, state: State, log: LogWriter, cache: WriterCache) -> None:
        self.connection, self.state, self.accepted = connection, state, cache.accepted
        self.accepted.trim()
        self.sealed: list[Record] = []
        # Entries of this transaction by idempotency key, and their responses.
        self.pending: dict[tuple[int, str], Any] = {}
        self.replies: dict[Any, bytes] = {}
        self._log, self._end, self._ids = log, log.end, cache.ids
        self._rows: dict[Table, list[tuple[Any, ...]]] = defaultdict(list)
        self._after: list[Callable[[State], None]] = []
        self._is_changed, self._newest = False, state.newest

    def log_time(self, at: int) -> int:
        """Return a time, but none before the log's newest: log times never decrease."""
        return max(at, self._newest)

    def record(self, entry: Mapping[str, Any], at: int) -> Record:
        """Append an entry to the log and return its record."""
        self._is_changed = True
        time = {"created_at" if entry["type"] == "log" else "at": format_timestamp(at)}
        return self._append(seal({**entry, **time}, self._end), str(entry["type"]), at)

    def submission(
        self, members: Sequence[str], decided: Sequence[tuple[str, str, str | None, str | None]], received_at: int
    ) -> tuple[Record, str]:
        """Append a submission to the log.

        Return its record and the decisions with their salts as JSON.
        """
        record, opened = seal_submission(members, decided, self._end)
        return self._append(record, "submission", received_at), opened

    def _append(self, record: Record, type_: str, at: int) -> Record:
        self._newest = at
        self._end = record.link
        self.sealed.append(record)
        self.add(records, record.seq, type_, record.text)
        return record

    def head(self) -> dict[str, Any]:
        """Return size, root and last hash of the log before this transaction."""
        assert not self.sealed, "the root covers committed records only"
        root = b64encode(self._log.tree.root()).decode()
        return {"tree_size": self._end.seq, "root": root, "head_sha256": self._end.sha256}

    def new_id(self, timestamp: int) -> str:
        """Return a ULID greater than all earlier ones, even if the clock runs backwards."""
        return self._ids.next(timestamp)

    def add(self, table: Table, *row: Any) -> None:
        """Queue a row, one value per column in table order.

        It is written before the commit.
        """
        self._rows[table].append(row)

    def flush(self) -> None:
        """Write the queued rows."""
        rows, self._rows = self._rows, defaultdict(list)
        # Bypasses SQLAlchemy, whose cost per row exceeds the cost of the insert.
        cursor = self.connection.connection.cursor()
        for table, values in rows.items():
            cursor.executemany(_insertion(table, self.connection.dialect.paramstyle), values)
        cursor.close()

    def after(self, change: Callable[[State], None]) -> None:
        """Register a change of the cached state that is applied after the commit."""
        self._after.append(change)

    def committed(self) -> None:
        """Apply the registered changes to the cached state."""
        for change in self._after:
            change(self.state)
        self.state.newest = self._newest
        # Last: a cache keyed by this number then never contains an older state.
        self.state.changes += self._is_changed


@lru_cache(maxsize=64)
def _insertion(table: Table, paramstyle: str) -> str:
    """Return the SQL that inserts a row or replaces the row of the same key."""
    names = table.c.keys()
    marks = ", ".join(["?" if paramstyle == "qmark" else "%s"] * len(names))
    text = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})"
    if table not in _KEYS:
        return text
    changes = ", ".join(f"{name} = excluded.{name}" for name in names)
    return f"{text} ON CONFLICT ({_KEYS[table]}) DO UPDATE SET {changes}"
