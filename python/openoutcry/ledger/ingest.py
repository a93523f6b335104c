"""The index, filled from records of the log.

What is made depends on the records and their order alone, not on how many are taken at a time: an index that was caught
up is the one that is made anew.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

from openoutcry.ledger.index_rows import COLUMNS, UNREADABLE, RunRow, strategy_row
from openoutcry.ledger.index_schema import chosen
from openoutcry.ledger.log_segments import Place
from openoutcry.ledger.market_families import Market, Shared, Size, is_family, is_kin
from openoutcry.ledger.market_fingerprints import KINDS_FROM
from openoutcry.ledger.strategy_rankings import Standings, join
from openoutcry.ledger.trial_counts import count

BLOCK = 20_000
# Trials are counted of many runs at a time, for the tables of them are read in order then and not here and there.
MOST_UNCOUNTED = 500_000
_MOST_STRATEGIES = 200_000


def sharing(base: sqlite3.Connection, market: Market) -> dict[int, Shared]:
    """Return the ids of markets with hashes of a market, and how many of each kind."""
    counted: dict[int, Counter[int]] = {}
    query = f"SELECT market, anchor >> {KINDS_FROM} AS kind, COUNT(*) FROM anchors WHERE anchor IN (?) GROUP BY 1, 2"
    for other, kind, n in chosen(base, query, market.hashes()):
        counted.setdefault(other, Counter())[kind] += n
    return dict(counted)


def families_among(base: sqlite3.Connection, market: Market, counted: Mapping[int, Shared]) -> set[int]:
    """Return which of the markets that share hashes with a market are of its family."""
    sizes = chosen(base, "SELECT id, n_anchors, n_marks FROM markets WHERE id IN (?)", counted)
    return {other for other, *size in sizes if is_family(counted[other], market.size, Size(*size))}


class Filling:
    """Takes records in the order of the log and writes what they say to the tables.

    `finish` writes what is held back. What cannot be read is counted.

    Args:
        base: The tables.
        is_by_id: Whether runs are looked up by their ids, of which the first one stands; or else each has its own.
    """

    def __init__(self, base: sqlite3.Connection, *, is_by_id: bool = True) -> None:
        self._base = base
        self.is_by_id = is_by_id
        self._next = self._uncounted = base.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM runs").fetchone()[0]
        self._held: list[RunRow] = []
        self.standings = Standings(base)
        self.strategies: dict[str, int] = {}
        self.n_unread = 0

    def take(self, item: RunRow | tuple[dict[str, Any], Place]) -> None:
        """Take a run, or another record with its place.

        An event that is not the ledger's is left.
        """
        if isinstance(item, RunRow):
            self._held.append(item)
            if len(self._held) >= BLOCK:
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

    def finish(self) -> None:
        """Write what is held back."""
        self._write()
        self._count()
        self.standings.write()

    def _write(self) -> None:
        if self._held:
            held, self._held = self._held, []
            self._next += _Block(self, self._base, held).write(self._next)
            if self._next - self._uncounted >= MOST_UNCOUNTED:
                self._count()

    def _count(self) -> None:
        if self._next > self._uncounted:
            count(self._base, self._uncounted, self._next - 1)
            self._uncounted = self._next

    # Markets

    def _market(self, market: Market) -> None:
        """Take note of a market; families that it joins are one from now on, as are kin."""
        self.finish()
        base = self._base
        own = self.market_ids([market.fingerprint])[market.fingerprint]
        counted = sharing(base, market)
        told = (market.name, json.dumps(market.symbols), market.periods_per_year, len(market.anchors))
        columns = "name=?, symbols=?, periods_per_year=?, n_anchors=?, n_marks=?"
        base.execute(f"UPDATE markets SET {columns} WHERE id=?", (*told, len(market.marks), own))
        base.executemany("INSERT OR IGNORE INTO anchors VALUES (?, ?)", [(each, own) for each in market.hashes()])
        same = {own} | families_among(base, market, counted)
        families = sorted({row[0] for row in chosen(base, "SELECT family FROM markets WHERE id IN (?)", sorted(same))})
        for family in families[1:]:
            join(base, families[0], family)
        same |= {other for other, found in counted.items() if is_kin(found)}
        kins = sorted({row[0] for row in chosen(base, "SELECT kin FROM markets WHERE id IN (?)", sorted(same))})
        base.executemany("UPDATE markets SET kin = ? WHERE kin = ?", [(kins[0], kin) for kin in kins[1:]])

    def market_ids(self, fingerprints: Sequence[str]) -> dict[str, int]:
        """Return the ids of markets; one that is not there is made, its anchors unknown."""
        query = "SELECT fingerprint, id FROM markets WHERE fingerprint IN (?)"
        known = dict(chosen(self._base, query, fingerprints))
        for fingerprint in fingerprints:
            if fingerprint not in known:
                at = self._base.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM markets").fetchone()[0]
                self._base.execute(
                    "INSERT INTO markets (id, fingerprint, family, kin) VALUES (?, ?, ?, ?)", (at, fingerprint, at, at)
                )
                known[fingerprint] = at
        return known

    def session_ids(self, names: Sequence[str]) -> dict[str, int]:
        """Return the ids of sessions; one that is not there is made."""
        self._base.executemany("INSERT OR IGNORE INTO sessions (name) VALUES (?)", [(name,) for name in names])
        return dict(chosen(self._base, "SELECT name, id FROM sessions WHERE name IN (?)", names))

    # Holdouts

    def _anchored(self, record: Mapping[str, Any]) -> None:
        event, digest = record["payload"]["event"], record["payload"]["hash"]
        if not isinstance(event, str) or not isinstance(digest, str):
            raise TypeError("an anchor must have an event and a hash")
        session = self.session_ids([record["session_id"]])[record["session_id"]]
        self._base.execute("INSERT OR IGNORE INTO heads VALUES (?, ?, ?)", (session, event, digest))

    def _opened(self, record: Mapping[str, Any]) -> None:
        self.finish()
        told = record["payload"]
        first, last, seal, n_before = told["first"], told["last"], told["seal"], told["n_before"]
        if not all(isinstance(each, str) for each in (first, last, seal)) or type(n_before) is not int:
            raise TypeError("a holdout must have dates, a seal and a count")
        market = self.market_ids([str(told["market"])])[str(told["market"])]
        session = self.session_ids([record["session_id"]])[record["session_id"]]
        row = (market, first, last, n_before, session, seal, record["ts"])
        self._base.execute("INSERT OR IGNORE INTO holdout_opens VALUES (?, ?, ?, ?, ?, ?, ?)", row)


class _Block:
    """Some runs in a row, and what of the tables they change."""

    def __init__(self, filling: Filling, base: sqlite3.Connection, rows: list[RunRow]) -> None:
        self._filling, self._base, self._rows = filling, base, rows

    def write(self, begin: int) -> int:
        """Write them with ids from a first one on, and return how many were new."""
        strategies = self._strategies()
        rows = self._new([row for row in self._rows if row.strategy_sha in strategies])
        self._filling.n_unread += sum(row.strategy_sha not in strategies for row in self._rows)
        markets = self._filling.market_ids(list(dict.fromkeys(row.fingerprint for row in rows)))
        families = dict(chosen(self._base, "SELECT id, family FROM markets WHERE id IN (?)", markets.values()))
        sessions = self._filling.session_ids(list(dict.fromkeys(row.session for row in rows)))
        named = [(strategies[row.strategy_sha], markets[row.fingerprint], row) for row in rows]
        alike: dict[bytes, list[tuple[Any, ...]]] = {}
        for place, (strategy, market, row) in enumerate(named, begin):
            alike.setdefault(row.there, []).append((place, strategy, market, sessions[row.session]) + row.told)  # noqa: RUF005 half the time
        self._insert(alike)
        returns = ((place, *row.returns) for place, row in enumerate(rows, begin) if row.returns is not None)
        self._base.executemany("INSERT INTO run_returns VALUES (?, ?, ?)", returns)
        standings = self._filling.standings
        standings.load({strategy: None for strategy, _, _ in named})
        for place, (strategy, market, row) in enumerate(named, begin):
            standings.add(row, place, strategy, (market, families[market]))
        return len(rows)

    def _insert(self, alike: dict[bytes, list[tuple[Any, ...]]]) -> None:
        """Insert runs, grouped by the columns that they have.

        To bind a None takes the time of ten numbers.
        """
        for there, runs in alike.items():
            names = [*COLUMNS[:4], *compress(COLUMNS[4:], there)]
            self._base.executemany(f"INSERT INTO runs ({', '.join(names)}) VALUES (?{', ?' * (len(names) - 1)})", runs)

    def _new(self, rows: list[RunRow]) -> list[RunRow]:
        """Return the runs whose id is not there: the first one stands."""
        firsts = {row.columns[0]: row for row in reversed(rows)}
        if self._filling.is_by_id:
            for (run_id,) in chosen(self._base, "SELECT run_id FROM runs WHERE run_id IN (?)", firsts):
                del firsts[run_id]
        return [row for row in rows if firsts.get(row.columns[0]) is row]

    def _strategies(self) -> dict[str, int]:
        """Return the ids of strategies, made where they are missing; others are left out."""
        known = self._filling.strategies
        if len(known) > _MOST_STRATEGIES:
            known.clear()
        new = {row.strategy_sha: None for row in self._rows if row.strategy_sha not in known}
        known.update(chosen(self._base, "SELECT sha256, id FROM strategies WHERE sha256 IN (?)", new))
        at = self._base.execute("SELECT COALESCE(MAX(id), 0) FROM strategies").fetchone()[0]
        made = []
        for row in self._rows:
            if row.strategy_sha not in known:
                try:
                    told = strategy_row(row)
                except UNREADABLE:
                    continue
                at += 1
                known[row.strategy_sha] = at
                made.append((at, *told))
        self._base.executemany("INSERT INTO strategies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", made)
        return known
