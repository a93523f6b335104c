"""Twins of a path: its own bars in another order, under its names and dates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset

Bars = npt.NDArray[np.int64]

_IN_MONEY = ("close", "open", "high", "low", "dividends")
_AS_THEY_ARE = ("splits", "tradable")


def reordered(rng: np.random.Generator, first: int, end: int, block_bars: float) -> Bars:
    """Return the bars `[first, end)` in blocks that are shuffled.

    A block ends after each bar with probability `1 / block_bars`. Every bar is drawn once: where blocks may be
    exchanged for each other, the true order is as likely as any twin's, given what all of them hold.

    Source: Politis and Romano (1994), drawn without replacement as in Davison, Hinkley and Schechtman (1986).
    """
    bars = np.arange(first, end)
    cuts = np.flatnonzero(rng.random(len(bars) - 1) < 1.0 / block_bars) + 1
    blocks = np.split(bars, cuts)
    return np.concatenate([blocks[place] for place in rng.permutation(len(blocks))])


def twin(market: Dataset, start: int, sources: Bars) -> Dataset:
    """Return the market whose bar `start + 1 + k` moves as bar `sources[k]` does.

    Up to bar `start`, and in names and dates, it is the market itself. All symbols move together as they did. Opens,
    highs, lows and dividends keep their ratio to the close before, volumes what they were worth.

    Args:
        market: Every symbol closes in every bar from `start` on.
        start: Last bar that stays.
        sources: Bars after it, one for each bar of the twin. Shape `(n_bars - start - 1,)`.
    """
    rows = slice(start + 1, start + 1 + len(sources))
    columns: dict[str, Any] = market._columns()
    close = market.close
    before = np.concatenate([[close[start]], np.zeros((len(sources) - 1, market.n_symbols))])
    ratios = close[sources] / close[sources - 1]
    before[1:] = close[start] * np.cumprod(ratios[:-1], axis=0)
    scale = before / close[sources - 1]
    for name in _IN_MONEY:
        columns[name] = _with(columns[name], rows, sources, scale)
    columns["volume"] = _with(columns["volume"], rows, sources, 1.0 / scale)
    for name in _AS_THEY_ARE:
        columns[name] = _with(columns[name], rows, sources, None)
    return Dataset.from_arrays(**columns, name=market.name, notices=market.notices)


def _with(table: Any, rows: slice, sources: Bars, scale: npt.NDArray[np.float64] | None) -> Any:
    if table is None:
        return None
    changed = table.copy()
    changed[rows] = table[sources] if scale is None else table[sources] * scale
    return changed
