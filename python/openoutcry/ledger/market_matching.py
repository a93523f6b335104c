"""Search of the index for the markets that share prices with a market."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from openoutcry.ledger.index_schema import select_in
from openoutcry.ledger.market_families import Market, Shared, Size, is_family, is_kin
from openoutcry.ledger.market_fingerprints import KINDS_FROM
from openoutcry.ledger.market_shapes import AVERAGES, DAY_BITS, Hit, Line, by_path, common, found_in, sizes_of


class Related(NamedTuple):
    """IDs of markets that share prices with a market, by dates.

    Attributes:
        family: Markets with the prices at the same dates.
        kin: The same at any dates.
    """

    family: frozenset[int]
    kin: frozenset[int]


def related(base: sqlite3.Connection, market: Market) -> Related:
    """Return the markets of the index with the same, or changed, prices."""
    counted = _shared_hashes(base, market)
    sizes = select_in(base, "SELECT id, n_anchors, n_marks FROM markets WHERE id IN (?)", counted)
    family = {other for other, *size in sizes if is_family(counted[other], market.size, Size(*size))}
    kin = {other for other, found in counted.items() if is_kin(found)}
    own_lines = market.numbered_lines()
    own_sizes, hits = sizes_of(own_lines), _shared_paths(base, own_lines)
    others = _line_sizes(base, hits)
    for other, found in hits.items():
        lines = common(found, own_sizes, others[other])
        if lines.at_dates:
            family.add(other)
        if lines.at_any:
            kin.add(other)
    return Related(frozenset(family), frozenset(family | kin))


def add_hashes(base: sqlite3.Connection, market: Market, own: int) -> None:
    """Add the hashes of a market with an ID."""
    base.executemany("INSERT OR IGNORE INTO anchors VALUES (?, ?)", [(each, own) for each in market.hashes()])
    numbered = market.numbered_lines().items()
    rows = [(shape >> DAY_BITS, own, line, shape) for line, shapes in numbered for shape in shapes]
    base.executemany("INSERT OR IGNORE INTO shapes VALUES (?, ?, ?, ?)", rows)
    lines = [(own, line, len(shapes)) for line, shapes in numbered]
    base.executemany("INSERT OR REPLACE INTO lines VALUES (?, ?, ?)", lines)


def n_recorded(base: sqlite3.Connection, markets: Iterable[Market]) -> dict[str, int]:
    """Return the number of recorded marks and shapes of each market.

    Logs of an earlier version have none, or no shapes.
    """
    # A market without a name is known only from a run.
    query = "SELECT fingerprint, n_marks + n_shapes FROM markets WHERE name IS NOT NULL AND fingerprint IN (?)"
    return dict(select_in(base, query, sorted({market.fingerprint for market in markets})))


def market_of(base: sqlite3.Connection, fingerprint: str) -> Market:
    """Return a market of the index by its fingerprint."""
    query = "SELECT name, symbols, periods_per_year, id FROM markets WHERE fingerprint = ?"
    name, symbols, year, own = base.execute(query, (fingerprint,)).fetchone()
    found = base.execute("SELECT anchor FROM anchors WHERE market = ? ORDER BY anchor", (own,))
    hashes = tuple(each for (each,) in found)
    n_anchors = sum(not each >> KINDS_FROM for each in hashes)
    known = (name or "unnamed", tuple(json.loads(symbols or "[]")), year)
    return Market(fingerprint, *known, hashes[:n_anchors], hashes[n_anchors:], *_lines_in(base, own))


def _lines_in(base: sqlite3.Connection, own: int) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Return the lines and the averages of the market with an ID."""
    found: dict[int, list[int]] = {}
    for line, shape in base.execute("SELECT line, shape FROM shapes WHERE market = ? ORDER BY line, shape", (own,)):
        found.setdefault(line, []).append(shape)
    numbered = [(line, tuple(shapes)) for line, shapes in sorted(found.items())]
    lines = tuple(shapes for line, shapes in numbered if line < AVERAGES)
    return lines, tuple(shapes for line, shapes in numbered if line >= AVERAGES)


def _shared_hashes(base: sqlite3.Connection, market: Market) -> dict[int, Shared]:
    """Return the number of shared anchors and marks of each kind, by market ID."""
    counted: dict[int, Counter[int]] = {}
    query = f"SELECT market, anchor >> {KINDS_FROM} AS kind, COUNT(*) FROM anchors WHERE anchor IN (?) GROUP BY 1, 2"
    for other, kind, n in select_in(base, query, market.hashes()):
        counted.setdefault(other, Counter())[kind] += n
    return dict(counted)


def _shared_paths(base: sqlite3.Connection, lines: Mapping[int, Line]) -> dict[int, list[Hit]]:
    """Return the shared paths by market ID."""
    own = by_path(lines)
    hits: dict[int, list[Hit]] = {}
    for other, at, shape in select_in(base, "SELECT market, line, shape FROM shapes WHERE path IN (?)", own):
        hits.setdefault(other, []).extend(
            Hit(line, at, shape >> DAY_BITS, is_dated) for line, is_dated in found_in(own, shape)
        )
    return hits


def _line_sizes(base: sqlite3.Connection, markets: Mapping[int, Sequence[Hit]]) -> dict[int, dict[int, int]]:
    sizes: dict[int, dict[int, int]] = {}
    for market, line, n in select_in(base, "SELECT market, line, n_shapes FROM lines WHERE market IN (?)", markets):
        sizes.setdefault(market, {})[line] = n
    return sizes
