"""Ingestion of log records into the index.

The result depends only on the records and their order, not on block sizes: an incrementally updated index equals a
rebuilt one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

from openoutcry.ledger.index_rows import AT, COLUMNS, N_KEYS, UNREADABLE, RunRow, aliased, in_currency, strategy_row
from openoutcry.ledger.index_schema import select_in
from openoutcry.ledger.log_segments import LogPosition
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.market_matching import add_hashes, related
from openoutcry.ledger.market_versions import precedence_of, set_origin
from openoutcry.ledger.run_settings import SettingIds
from openoutcry.ledger.strategy_rankings import StrategyTotals, merge_families
from openoutcry.ledger.trial_counts import count_trials

BLOCK = 20_000
# Trials are counted for many runs at once, so that their tables are read sequentially.
MAX_UNCOUNTED = 500_000
_MAX_STRATEGIES = 200_000
_RULES = (AT["cost_sha"], AT["segment"], AT["offset"])


class Ingest:
    """Writes log records to the tables, in the order of the log.

    `flush` writes buffered rows, and `totals.update` then ranks the strategies of the new runs. Unreadable records are
    counted.

    Args:
        base: Connection to the index.
        payload: Reads a record of the log by its segment and offset.
        checks_ids: Whether to look up run IDs and keep the first of duplicates; False if IDs are unique.
    """

    def __init__(
        self,
        base: sqlite3.Connection,
        payload: Callable[[int, int], Mapping[str, Any]],
        *,
        checks_ids: bool = True,
    ) -> None:
        self._base = base
        self.checks_ids = checks_ids
        self._next = self._uncounted = base.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM runs").fetchone()[0]
        self._buffer: list[RunRow] = []
        self.totals = StrategyTotals(base)
        self.settings = SettingIds(base, payload)
        self.strategies: dict[str, int] = {}
        self.n_unread = 0

    def add(self, item: RunRow | tuple[dict[str, Any], LogPosition]) -> None:
        """Add a run, or another record with its position; unknown events are ignored."""
        if isinstance(item, RunRow):
            self._buffer.append(in_currency(item))
            if len(self._buffer) >= BLOCK:
                self._write()
            return
        record, _ = item
        try:
            if record["event"] == "market":
                self._market(Market.from_json(record["payload"]))
            elif record["event"] == "holdout_opened":
                self._opened(record)
            elif record["event"] == "anchor":
                self._anchored(record)
        except UNREADABLE:
            self.n_unread += 1

    def flush(self) -> None:
        """Write all buffered rows."""
        self._write()
        self._count()

    def _write(self) -> None:
        if self._buffer:
            rows, self._buffer = self._buffer, []
            self._next += _Block(self, self._base, rows).write(self._next)
            if self._next - self._uncounted >= MAX_UNCOUNTED:
                self._count()

    def _count(self) -> None:
        if self._next > self._uncounted:
            count_trials(self._base, self._uncounted, self._next - 1)
            self._uncounted = self._next

    # Markets

    def _market(self, market: Market) -> None:
        """Add a market, and merge the families and the kin that it connects."""
        self.flush()
        base = self._base
        own = self.market_ids([market.fingerprint])[market.fingerprint]
        found = related(base, market)
        family, name = base.execute("SELECT family, name FROM markets WHERE id = ?", (own,)).fetchone()
        # A market that only runs name, or a later line with more hashes, has an origin already.
        if name is None:
            self.totals.regroup({family} | set_origin(base, own, found.kin))
        values = (market.name, json.dumps(market.symbols), len(market.symbols), market.periods_per_year)
        sizes = (len(market.anchors), len(market.marks), market.n_shapes)
        columns = "name=?, symbols=?, n_symbols=?, periods_per_year=?, n_anchors=?, n_marks=?, n_shapes=?"
        base.execute(f"UPDATE markets SET {columns} WHERE id=?", (*values, *sizes, own))
        add_hashes(base, market, own)
        same = {own} | found.family
        families = sorted(
            {row[0] for row in select_in(base, "SELECT family FROM markets WHERE id IN (?)", sorted(same))}
        )
        for family in families[1:]:
            merge_families(base, families[0], family)
        self.totals.regroup(families[1:])
        same |= found.kin
        kins = sorted({row[0] for row in select_in(base, "SELECT kin FROM markets WHERE id IN (?)", sorted(same))})
        base.executemany("UPDATE markets SET kin = ? WHERE kin = ?", [(kins[0], kin) for kin in kins[1:]])

    def market_ids(self, fingerprints: Sequence[str]) -> dict[str, int]:
        """Return the IDs of markets, and insert missing ones without anchors."""
        query = "SELECT fingerprint, id FROM markets WHERE fingerprint IN (?)"
        known = dict(select_in(self._base, query, fingerprints))
        for fingerprint in fingerprints:
            if fingerprint not in known:
                at = self._base.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM markets").fetchone()[0]
                self._base.execute(
                    "INSERT INTO markets (id, fingerprint, family, kin, origin, precedence) VALUES (?, ?, ?, ?, ?, ?)",
                    (at, fingerprint, at, at, at, precedence_of(at, fingerprint)),
                )
                known[fingerprint] = at
        return known

    def session_ids(self, names: Sequence[str]) -> dict[str, int]:
        """Return the IDs of sessions, and insert missing ones."""
        self._base.executemany("INSERT OR IGNORE INTO sessions (name) VALUES (?)", [(name,) for name in names])
        return dict(select_in(self._base, "SELECT name, id FROM sessions WHERE name IN (?)", names))

    # Holdouts

    def _anchored(self, record: Mapping[str, Any]) -> None:
        event, digest = record["payload"]["event"], record["payload"]["hash"]
        if not isinstance(event, str) or not isinstance(digest, str):
            raise TypeError("an anchor must have an event and a hash")
        session = self.session_ids([record["session_id"]])[record["session_id"]]
        self._base.execute("INSERT OR IGNORE INTO heads VALUES (?, ?, ?)", (session, event, digest))

    def _opened(self, record: Mapping[str, Any]) -> None:
        self.flush()
        payload = record["payload"]
        first, last, seal, n_before = payload["first"], payload["last"], payload["seal"], payload["n_before"]
        if not all(isinstance(each, str) for each in (first, last, seal)) or type(n_before) is not int:
            raise TypeError("a holdout must have dates, a seal and a count")
        market = self.market_ids([str(payload["market"])])[str(payload["market"])]
        session = self.session_ids([record["session_id"]])[record["session_id"]]
        row = (market, first, last, n_before, session, seal, record["ts"])
        self._base.execute("INSERT OR IGNORE INTO holdout_opens VALUES (?, ?, ?, ?, ?, ?, ?)", row)


class _Block:
    """A block of consecutive runs, and the tables that it changes."""

    def __init__(self, ingest: Ingest, base: sqlite3.Connection, rows: list[RunRow]) -> None:
        self._ingest, self._base, self._rows = ingest, base, [aliased(row) for row in rows]

    def write(self, begin: int) -> int:
        """Insert runs with consecutive IDs from `begin`; return the number of new runs."""
        strategies = self._strategies()
        rows = self._new([row for row in self._rows if row.strategy_sha in strategies])
        self._ingest.n_unread += sum(row.strategy_sha not in strategies for row in self._rows)
        markets = self._ingest.market_ids(list(dict.fromkeys(row.fingerprint for row in rows)))
        sessions = self._ingest.session_ids(list(dict.fromkeys(row.session for row in rows)))
        named = [(strategies[row.strategy_sha], markets[row.fingerprint], row) for row in rows]
        by_columns: dict[bytes, list[tuple[Any, ...]]] = {}
        for place, (strategy, market, row) in enumerate(named, begin):
            setting = self._ingest.settings.id_of(*(row.columns[at] for at in _RULES))
            keys = (place, strategy, market, sessions[row.session], setting)
            by_columns.setdefault(row.present, []).append(keys + row.values)
        self._insert(by_columns)
        returns = ((place, *row.returns) for place, row in enumerate(rows, begin) if row.returns is not None)
        self._base.executemany("INSERT INTO run_returns VALUES (?, ?, ?)", returns)
        self._ingest.totals.changed.update(strategy for strategy, _, _ in named)
        return len(rows)

    def _insert(self, by_columns: dict[bytes, list[tuple[Any, ...]]]) -> None:
        """Insert runs grouped by their non-NULL columns.

        Binding a None takes as long as binding ten numbers.
        """
        for present, runs in by_columns.items():
            names = [*COLUMNS[:N_KEYS], *compress(COLUMNS[N_KEYS:], present)]
            self._base.executemany(f"INSERT INTO runs ({', '.join(names)}) VALUES (?{', ?' * (len(names) - 1)})", runs)

    def _new(self, rows: list[RunRow]) -> list[RunRow]:
        """Return the runs with a new ID; the first of duplicates wins."""
        firsts = {row.columns[0]: row for row in reversed(rows)}
        if self._ingest.checks_ids:
            for (run_id,) in select_in(self._base, "SELECT run_id FROM runs WHERE run_id IN (?)", firsts):
                del firsts[run_id]
        return [row for row in rows if firsts.get(row.columns[0]) is row]

    def _strategies(self) -> dict[str, int]:
        """Return the IDs of strategies, and insert missing ones; invalid ones are omitted."""
        known = self._ingest.strategies
        if len(known) > _MAX_STRATEGIES:
            known.clear()
        new = {row.strategy_sha: None for row in self._rows if row.strategy_sha not in known}
        known.update(select_in(self._base, "SELECT sha256, id FROM strategies WHERE sha256 IN (?)", new))
        at = self._base.execute("SELECT COALESCE(MAX(id), 0) FROM strategies").fetchone()[0]
        inserted = []
        for row in self._rows:
            if row.strategy_sha not in known:
                try:
                    columns = strategy_row(row)
                except UNREADABLE:
                    continue
                at += 1
                known[row.strategy_sha] = at
                inserted.append((at, *columns))
        self._base.executemany("INSERT INTO strategies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", inserted)
        return known
