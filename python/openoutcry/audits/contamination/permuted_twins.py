"""Permuted twins: the bars of a window in another order, with its names and dates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.charges import CHARGES
from openoutcry.data.dataset import Dataset

Bars = npt.NDArray[np.int64]

_PRICE_COLUMNS = ("close", "open", "high", "low", "dividends")
_UNSCALED_COLUMNS = ("splits", "tradable", *CHARGES)


def permuted_bars(rng: np.random.Generator, first: int, end: int, block_bars: float) -> Bars:
    """Shuffle the bars `[first, end)` in blocks.

    A block ends after each bar with probability `1 / block_bars`. Every bar occurs once: if blocks are exchangeable,
    the true order is as likely as that of any twin.

    Source: Politis and Romano (1994), drawn without replacement as in Davison, Hinkley and Schechtman (1986).
    """
    bars = np.arange(first, end)
    cuts = np.flatnonzero(rng.random(len(bars) - 1) < 1.0 / block_bars) + 1
    blocks = np.split(bars, cuts)
    return np.concatenate([blocks[place] for place in rng.permutation(len(blocks))])


def twin(market: Dataset, start: int, sources: Bars) -> Dataset:
    """Build the market whose bar `start + 1 + k` has the return of bar `sources[k]`.

    Bars up to `start`, names and dates are unchanged. All symbols of a bar move together. Opens, highs, lows and
    dividends keep their ratio to the previous close, and volumes their notional value.

    Args:
        market: Market in which every symbol has a close in every bar from `start` on.
        start: Last unchanged bar.
        sources: Source bar of each later bar, shape `(n_bars - start - 1,)`, int64.
    """
    rows = slice(start + 1, start + 1 + len(sources))
    columns: dict[str, Any] = market._columns()
    close = market.close
    before = np.concatenate([[close[start]], np.zeros((len(sources) - 1, market.n_symbols))])
    ratios = close[sources] / close[sources - 1]
    before[1:] = close[start] * np.cumprod(ratios[:-1], axis=0)
    scale = before / close[sources - 1]
    for name in _PRICE_COLUMNS:
        columns[name] = _replaced_rows(columns[name], rows, sources, scale)
    columns["volume"] = _replaced_rows(columns["volume"], rows, sources, 1.0 / scale)
    for name in _UNSCALED_COLUMNS:
        columns[name] = _replaced_rows(columns[name], rows, sources, None)
    return Dataset.from_arrays(**columns, name=market.name, notices=market.notices)


def _replaced_rows(table: Any, rows: slice, sources: Bars, scale: npt.NDArray[np.float64] | None) -> Any:
    if table is None:
        return None
    changed = table.copy()
    changed[rows] = table[sources] if scale is None else table[sources] * scale
    return changed
