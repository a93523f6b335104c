"""What snapshots say of markets, by market and moment (R-10, R-11, R-49, R-50)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from openoutcry.arena.scoring.exact_arithmetic import Millionths, Whole, whole
from openoutcry.arena.scoring.score_inputs import Quote
from openoutcry.arena.timestamps import DAY, HOUR, parse_timestamp
from openoutcry.errors import refusal

PRICES = ("mid", "bid", "ask")
Name = TypeVar("Name", str, tuple[str, ...])
_CUTOFF_BEFORE_CLOSE_US = 2 * HOUR
_CUTOFF_WITHOUT_CLOSE_US = 14 * DAY


def quote_of(item: Mapping[str, Any], snapshot_us: int) -> Quote:
    """Return the quote of a `market_state` item of a snapshot.

    Its numbers must be exact: read the snapshot with `json.loads(text, parse_float=str)`.
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
    """Quotes as columns, by market and then by snapshot.

    A market, a snapshot and a set of theaters are their places among the sorted ones.
    """

    markets: dict[str, int]
    snapshots: Whole
    market: Whole
    snapshot: Whole
    cutoff: Whole
    theaters: Whole
    prices: dict[str, Whole]
    theater_sets: tuple[tuple[str, ...], ...]

    def key(self, market: Whole, snapshot: Whole) -> Whole:
        """Return what quotes are sorted by."""
        return market * (len(self.snapshots) + 1) + snapshot

    def at(self, market: Whole, moments: Whole) -> tuple[Whole, Whole]:
        """Return the last quote of markets, and whether the last snapshot holds it.

        A quote is a place; it is -1 where there is none yet.
        """
        snapshot = np.searchsorted(self.snapshots, moments, side="right") - 1
        place = np.searchsorted(self.key(self.market, self.snapshot), self.key(market, snapshot), side="right") - 1
        found = (place >= 0) & (self.market[place] == market) & (snapshot >= 0)
        return np.where(found, place, -1), found & (self.snapshot[place] == snapshot)


def columns(quotes: Sequence[Quote], snapshots_us: Sequence[int]) -> Quotes:
    """Return the quotes of published snapshots as columns."""
    n, snapshots = len(quotes), np.unique(np.array(snapshots_us, dtype=np.int64))
    ids, moments, cutoffs, theaters, *prices = zip(*quotes, strict=True) if quotes else [()] * len(Quote._fields)
    markets, sets = places(ids), places(theaters)
    of_snapshot = whole(moments, n)
    snapshot = np.searchsorted(snapshots, of_snapshot)
    if np.any(snapshot == len(snapshots)) or np.any(snapshots[snapshot] != of_snapshot):
        raise refusal("value_invalid", "a quote must be of a published snapshot; received another")
    market = whole(map(markets.__getitem__, ids), n)
    order = np.lexsort((snapshot, market))
    read = Millionths()
    found = Quotes(
        markets=markets,
        snapshots=snapshots,
        market=market[order],
        snapshot=snapshot[order],
        cutoff=whole(cutoffs, n)[order],
        theaters=whole(map(sets.__getitem__, theaters), n)[order],
        prices={name: read.column(texts)[order] for name, texts in zip(PRICES, prices, strict=True)},
        theater_sets=tuple(sets),
    )
    if np.any(np.diff(found.key(found.market, found.snapshot)) == 0):
        raise refusal("value_invalid", "a snapshot must have one quote of a market; received two")
    return found


def places(names: Iterable[Name]) -> dict[Name, int]:
    """Return the place of each name among the sorted ones."""
    return {name: place for place, name in enumerate(sorted(set(names)))}
