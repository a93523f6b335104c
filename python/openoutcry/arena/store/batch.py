"""One transaction of the writer: what several entries add to the log and the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from openoutcry.arena.log.writer import LogWriter, Written
from openoutcry.arena.store.state import State
from openoutcry.arena.store.tables import decisions, records

HELD = 2_000_000
"""Snapshots of agents and markets that are remembered, before they are asked for anew."""


class Accepted:
    """Which snapshots an agent has decided a market on, remembered between transactions."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], list[int]] = {}
        self._n = 0

    def of(self, connection: Connection, agent: int, market: int) -> list[int]:
        """Return the moments of those snapshots, the newest last."""
        found = self._known.get((agent, market))
        if found is None:
            if self._n > HELD:
                self._known.clear()
                self._n = 0
            asked = select(decisions.c.as_of).where(decisions.c.agent == agent, decisions.c.market == market)
            found = self._known[agent, market] = sorted(connection.execute(asked).scalars())
            self._n += len(found) + 1
        return found

    def add(self, agent: int, market: int, as_of: int) -> None:
        """Take note of one that is accepted, which is newer than all before."""
        self._known[agent, market].append(as_of)
        self._n += 1

    def forget(self) -> None:
        """Ask for all anew: a transaction has failed."""
        self._known.clear()
        self._n = 0


class Batch:
    """What a transaction holds before it is committed.

    Args:
        connection: In a transaction.
        state: What the server knows; changed after the commit.
        log: The log, whose records are written with the rest.
        accepted: Decisions that were accepted before.
    """

    def __init__(self, connection: Connection, state: State, log: LogWriter, accepted: Accepted) -> None:
        self.connection, self.state, self.accepted = connection, state, accepted
        self._log = log
        self._rows: dict[Table, list[dict[str, Any]]] = defaultdict(list)
        self._after: list[Callable[[State], None]] = []

    def record(self, type_: str, members: Mapping[str, Any]) -> Written:
        """Append a record to the log and return it."""
        written = self._log.append(type_, members)
        self.add(records, seq=written.seq, type=type_, record=written.record)
        return written

    def add(self, table: Table, **row: Any) -> None:
        """Add a row, which is written before the commit."""
        self._rows[table].append(row)

    def head(self) -> dict[str, Any]:
        """Return size, root and last hash of the log as it is now."""
        return self._log.head()

    def new_id(self, moment: int) -> str:
        """Return a ULID that is greater than all before, whatever the clock does."""
        return self._ids.next(moment)

    def flush(self) -> None:
        """Write the rows so far."""
        rows, self._rows = self._rows, defaultdict(list)
        for table, told in rows.items():
            self.connection.execute(insert(table), told)

    def after(self, change: Callable[[State], None]) -> None:
        """Change the state once the transaction is committed."""
        self._after.append(change)

    def committed(self) -> None:
        """Let the server know."""
        for change in self._after:
            change(self.state)
