"""Moves that look like a split, of prices that are stated as adjusted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]

# New shares per old share of common splits, or old per new.
_RATIOS = np.log([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 100.0])
# Standard deviations of returns that a split exceeds, and within which the move is one; at most this distance.
_DECISIVE, _NEAR, _FAR = 8.0, 3.0, 0.1
# Closes from which on returns show their noise, and its least value.
_FEWEST, _LEAST = 20, 1e-3
_DEVIATION = 1.4826
_MOST_NAMES = 3


def notices(close: Table, dates: Sequence[str], symbols: Sequence[str]) -> list[str]:
    """Return a notice of moves by the ratio of a split.

    Args:
        close: Closes. Shape `(n_bars, n_symbols)`.
        dates: Dates of the bars.
        symbols: Names of the symbols.
    """
    found: list[str] = []
    for column, symbol in enumerate(symbols):
        bars = np.flatnonzero(np.isfinite(close[:, column]))
        if len(bars) < _FEWEST:
            continue
        moves = np.diff(np.log(close[bars, column]))
        noise = max(_DEVIATION * float(np.median(np.abs(moves))), _LEAST)
        large = np.flatnonzero(np.abs(moves) > max(_DECISIVE * noise, 0.9 * _RATIOS[0]))
        distances = np.abs(np.abs(moves[large])[:, None] - _RATIOS).min(axis=1)
        near = large[distances < min(_NEAR * noise, _FAR)].tolist()
        found += [f"{symbol} on {dates[bars[place + 1]]} by a factor of {np.exp(moves[place]):.3g}" for place in near]
    if not found:
        return []
    rest = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    text = f"prices that are stated as adjusted move as by a split: {', '.join(found[:_MOST_NAMES])}{rest}"
    return [f'{text}; hint: adjusted="none" and a column `split` if they are as traded']
