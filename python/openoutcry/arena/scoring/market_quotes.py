"""Market quotes of snapshots, as sorted columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from openoutcry.arena.scoring.exact_arithmetic import Int64Array, Millionths, int64_array
from openoutcry.arena.scoring.score_inputs import Quote
from openoutcry.arena.timestamps import DAY, HOUR, format_timestamp, parse_timestamp
from openoutcry.errors import refusal

PRICES = ("mid", "bid", "ask")
Name = TypeVar("Name", str, tuple[str, ...])
_CUTOFF_BEFORE_CLOSE_US = 2 * HOUR
_CUTOFF_WITHOUT_CLOSE_US = 14 * DAY


def parse_quote(item: Mapping[str, Any], snapshot_us: int) -> Quote:
    """Return the quote of a `market_state` item of a snapshot.

    Prices must be exact decimals: read the snapshot with `json.loads(text, parse_float=str)`.
    """
    close = item.get("close_time")
    cutoff_us = (
        snapshot_us + _CUTOFF_WITHOUT_CLOSE_US
        if close is None
        else parse_timestamp("close_time", close) - _CUTOFF_BEFORE_CLOSE_US
    )
    prices = (item.get(name) for name in ("yes_mid_price", "yes_bid", "yes_ask"))
    texts = (None if price is None else str(price) for price in prices)
    return Quote(item["market_id"], snapshot_us, cutoff_us, tuple(item.get("theaters") or ()), *texts)


@dataclass(frozen=True, slots=True)
class Quotes:
    """Quotes as columns, sorted by market and then by snapshot.

    `market`, `snapshot` and `theaters` are indices into `markets`, `snapshots` and `theater_sets`. `cutoff` is in
    microseconds, prices in millionths.
    """

    markets: dict[str, int]
    snapshots: Int64Array
    market: Int64Array
    snapshot: Int64Array
    cutoff: Int64Array
    theaters: Int64Array
    prices: dict[str, Int64Array]
    theater_sets: tuple[tuple[str, ...], ...]

    def key(self, market: Int64Array, snapshot: Int64Array) -> Int64Array:
        """Return the sort key of quotes."""
        return market * (len(self.snapshots) + 1) + snapshot

    def at(self, market: Int64Array, moments: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the latest quote of markets at given times.

        Returns:
            Index of the quote, -1 if no earlier snapshot lists the market. Shape of `market`, int64.
            Whether the latest snapshot at that time lists the market. Shape of `market`, bool.
        """
        snapshot = np.searchsorted(self.snapshots, moments, side="right") - 1
        place = np.searchsorted(self.key(self.market, self.snapshot), self.key(market, snapshot), side="right") - 1
        found = (place >= 0) & (self.market[place] == market) & (snapshot >= 0)
        return np.where(found, place, -1), found & (self.snapshot[place] == snapshot)


def quote_columns(quotes: Sequence[Quote], snapshots_us: Sequence[int]) -> Quotes:
    """Return the quotes of published snapshots as columns."""
    n, snapshots = len(quotes), np.unique(np.array(snapshots_us, dtype=np.int64))
    ids, moments, cutoffs, theaters, *prices = zip(*quotes, strict=True) if quotes else [()] * len(Quote._fields)
    markets, sets = sorted_positions(ids), sorted_positions(theaters)
    of_snapshot = int64_array(moments, n)
    snapshot = np.searchsorted(snapshots, of_snapshot)
    unknown = of_snapshot[~np.isin(of_snapshot, snapshots)]
    if len(unknown):
        message = f"a quote must be of a published snapshot; received one of {format_timestamp(int(unknown[0]))}"
        raise refusal("value_invalid", message)
    market = int64_array(map(markets.__getitem__, ids), n)
    order = np.lexsort((snapshot, market))
    read = Millionths()
    found = Quotes(
        markets=markets,
        snapshots=snapshots,
        market=market[order],
        snapshot=snapshot[order],
        cutoff=int64_array(cutoffs, n)[order],
        theaters=int64_array(map(sets.__getitem__, theaters), n)[order],
        prices={name: read.column(texts)[order] for name, texts in zip(PRICES, prices, strict=True)},
        theater_sets=tuple(sets),
    )
    if np.any(np.diff(found.key(found.market, found.snapshot)) == 0):
        raise refusal("value_invalid", "a snapshot must have one quote per market; received two")
    return found


def sorted_positions(names: Iterable[Name]) -> dict[Name, int]:
    """Return the index of each distinct name in sorted order."""
    return {name: place for place, name in enumerate(sorted(set(names)))}
