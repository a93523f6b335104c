"""One transaction of the writer, which several entries share."""

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
from openoutcry.arena.timestamps import text_of

HELD = 500_000
"""Markets of agents that are remembered, before they are asked for anew."""
_RANDOM = 80
"""Bits of a ULID below its millisecond."""
_PAIRS = ["".join(pair) for pair in product("0123456789ABCDEFGHJKMNPQRSTVWXYZ", repeat=2)]
_KEYS = {decisions: "agent, market", meta: "key"}
"""Tables whose newer rows replace the older."""


class Accepted:
    """The newest snapshot that an agent has decided each market on, remembered."""

    def __init__(self) -> None:
        self._known: dict[int, dict[int, int]] = {}
        self._n = 0

    def of(self, connection: Connection, agent: int) -> dict[int, int]:
        """Return its moment by market."""
        found = self._known.get(agent)
        if found is None:
            # All of an agent at once: a query costs more than what it finds.
            cursor = connection.connection.cursor()
            cursor.execute(f"SELECT market, as_of FROM decisions WHERE agent = {int(agent)}")
            found = self._known[agent] = dict(cursor.fetchall())
            self._n += len(found) + 1
        return found

    def add(self, taken: dict[int, int], markets: Sequence[int], as_of: int) -> None:
        """Take note of decisions on a newer snapshot, in what `of` returned."""
        before = len(taken)
        taken.update(dict.fromkeys(markets, as_of))
        self._n += len(taken) - before

    def trim(self) -> None:
        """Forget all where it is too much; not within a transaction."""
        if self._n > HELD:
            self.forget()

    def forget(self) -> None:
        """Ask for all anew: a transaction has failed."""
        self._known.clear()
        self._n = 0


class Ids:
    """Makes ULIDs, each greater than the one before."""

    def __init__(self) -> None:
        self._last = 0

    def follow(self, last: str) -> None:
        """Go on after one that was made by somebody else, or before a restart."""
        pairs = [_PAIRS.index(last[place : place + 2]) for place in range(0, len(last), 2)]
        self._last = max(self._last, sum(pair << 120 - 10 * place for place, pair in enumerate(pairs)))

    def next(self, moment: int) -> str:
        """Return the next one, of a moment or of the latest before, where that is later."""
        drawn = (moment // 1000 << _RANDOM) + randbits(_RANDOM)
        # Of one millisecond, the next number.
        self._last = drawn if drawn >> _RANDOM > self._last >> _RANDOM else self._last + 1
        return "".join([_PAIRS[self._last >> shift & 1023] for shift in range(120, -1, -10)])


class Known:
    """What the writer remembers between transactions."""

    def __init__(self) -> None:
        self.accepted, self.ids = Accepted(), Ids()


class Batch:
    """What a transaction holds before it is committed.

    Args:
        connection: In a transaction.
        state: What the server knows; changed after the commit.
        log: The log, which the records go on with.
        known: What is remembered between transactions.
    """

    def __init__(self, connection: Connection, state: State, log: LogWriter, known: Known) -> None:
        self.connection, self.state, self.accepted = connection, state, known.accepted
        self.accepted.trim()
        self.sealed: list[Record] = []
        # Entries with a key of idempotence that this transaction has, and what they are told.
        self.pending: dict[tuple[int, str], Any] = {}
        self.answered: dict[Any, bytes] = {}
        self._log, self._end, self._ids = log, log.end, known.ids
        self._rows: dict[Table, list[tuple[Any, ...]]] = defaultdict(list)
        self._after: list[Callable[[State], None]] = []
        self._is_changed, self._newest = False, state.newest

    def moment(self, at: int) -> int:
        """Return a moment, or the log's newest where that is later: its times rise."""
        return max(at, self._newest)

    def record(self, entry: Mapping[str, Any], at: int) -> Record:
        """Make a record of an entry for the log, of a moment, and return it in its place."""
        self._is_changed = True
        told = {"created_at" if entry["type"] == "log" else "at": text_of(at)}
        return self._recorded(seal({**entry, **told}, self._end), str(entry["type"]), at)

    def submission(
        self, members: Sequence[str], decided: Sequence[tuple[str, str, str | None, str | None]], received_at: int
    ) -> tuple[Record, str]:
        """Make a record of a submission, and return it with the bodies that open it."""
        record, opened = seal_submission(members, decided, self._end)
        return self._recorded(record, "submission", received_at), opened

    def _recorded(self, record: Record, type_: str, at: int) -> Record:
        self._newest = at
        self._end = record.link
        self.sealed.append(record)
        self.add(records, record.seq, type_, record.text)
        return record

    def head(self) -> dict[str, Any]:
        """Return size, root and last hash of the log before this transaction."""
        assert not self.sealed, "the root is of what was committed"
        root = b64encode(self._log.tree.root()).decode()
        return {"tree_size": self._end.seq, "root": root, "head_sha256": self._end.sha256}

    def new_id(self, moment: int) -> str:
        """Return a ULID that is greater than all before, whatever the clock does."""
        return self._ids.next(moment)

    def add(self, table: Table, *row: Any) -> None:
        """Add a row, a value a column in their order, which is written before the commit."""
        self._rows[table].append(row)

    def flush(self) -> None:
        """Write the rows so far."""
        rows, self._rows = self._rows, defaultdict(list)
        # Past SQLAlchemy, whose work for a row is more than the row's.
        cursor = self.connection.connection.cursor()
        for table, told in rows.items():
            cursor.executemany(_insertion(table, self.connection.dialect.paramstyle), told)
        cursor.close()

    def after(self, change: Callable[[State], None]) -> None:
        """Change the state once the transaction is committed."""
        self._after.append(change)

    def committed(self) -> None:
        """Let the server know."""
        for change in self._after:
            change(self.state)
        self.state.newest = self._newest
        # After them: what is made of a state by its number is then never of an older one.
        self.state.changes += self._is_changed


@lru_cache(maxsize=64)
def _insertion(table: Table, paramstyle: str) -> str:
    """Return what inserts a row, or replaces the older one."""
    names = table.c.keys()
    marks = ", ".join(["?" if paramstyle == "qmark" else "%s"] * len(names))
    text = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})"
    if table not in _KEYS:
        return text
    changes = ", ".join(f"{name} = excluded.{name}" for name in names)
    return f"{text} ON CONFLICT ({_KEYS[table]}) DO UPDATE SET {changes}"
