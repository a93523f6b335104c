"""Warnings about values of a market that are valid but suspicious.

The readers of files and frames add them to the notices, so that every command and report shows the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data.fill_bars import ColumnOf, FillMasks, causes_of, fill_warnings, seldom_filled
from openoutcry.untrusted.counted_nouns import counted

Table = npt.NDArray[np.float64]

# What to type if the symbols of a market have different dates.
_AXIS_HINT = '`axis="intersection"` (`--axis intersection`) keeps the dates on which all symbols close'
# A larger move from one close to the next is more often a missing split than a price.
_LARGEST_MOVE = 2.0
_MOST_MOVES, _MOST_NAMES = 5, 3
# Bars that are compared at once.
_BLOCK = 512
_OURS = re.compile(
    "is a split missing[?]|can never fill:|before the other bars are lost| other moves by a factor above "
    "| never closes?$|a settlement: positions cannot be sold|have a high below their low"
)


def warnings_of(market: native.Dataset, *, is_file: bool = False) -> tuple[str, ...]:
    """Return the warnings about a market.

    Args:
        market: The market.
        is_file: Whether it is read from a file, which has an axis to choose.
    """
    return _warnings(market.dates, market.symbols, market.column, is_file=is_file)


def _warnings(dates: Sequence[str], symbols: Sequence[str], column_of: ColumnOf, *, is_file: bool) -> tuple[str, ...]:
    close = column_of("close")
    closed, moves = np.isfinite(close), _moves(close, column_of("splits"), dates, symbols)
    # A column of the native market is a copy: at most one is in memory.
    del close
    masks = FillMasks(dates, symbols, closed, causes_of(column_of, closed))
    fills = fill_warnings(seldom_filled(masks), hint=_AXIS_HINT if is_file else "")
    ends = _ends(masks, column_of("delistings"), is_file=is_file)
    return (*fills, *moves, *ends, *([] if is_file else _crossed(column_of)))


def is_warning(notice: str) -> bool:
    """Return whether a notice is one of these warnings."""
    return _OURS.search(notice) is not None


def renewed(notices: Iterable[str], values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the notices of a market, with warnings about its present bars.

    Args:
        notices: Notices, with warnings about the bars that it had.
        values: Arguments of `Dataset.from_arrays`.
    """
    listed = tuple(notices)
    kept = tuple(notice for notice in listed if not is_warning(notice))
    if len(kept) == len(listed):
        return listed
    return (*kept, *_warnings(values["dates"], values["symbols"], values.get, is_file=True))


def _moves(close: Table, splits: Table | None, dates: Sequence[str], symbols: Sequence[str]) -> list[str]:
    found, n_others = list[str](), 0
    for column in _moving(close):
        basis = close[:, column] if splits is None else close[:, column] * np.cumprod(splits[:, column])
        bars = np.flatnonzero(np.isfinite(basis))
        ratios = basis[bars[1:]] / basis[bars[:-1]]
        for k in np.flatnonzero((ratios > _LARGEST_MOVE) | (ratios < 1.0 / _LARGEST_MOVE)).tolist():
            if len(found) == _MOST_MOVES:
                n_others += 1
                continue
            between = f"{dates[int(bars[k])]} to {dates[int(bars[k + 1])]}"
            factor = max(ratios[k], 1.0 / ratios[k])
            found.append(f"{symbols[column]} moves by a factor of {factor:.3g} from {between}: is a split missing?")
    return [*found, *([f"{counted(n_others, 'other move')} by a factor above {_LARGEST_MOVE:g}"] if n_others else [])]


def _moving(close: Table) -> list[int]:
    """Return the columns with a large move, or with a gap that may hide one."""
    is_moving = np.zeros(close.shape[1], bool)
    for row in range(0, len(close) - 1, _BLOCK):
        part = close[row : row + _BLOCK + 1]
        ratios = part[1:] / part[:-1]
        # A comparison with NaN is false.
        is_moving |= ~((ratios <= _LARGEST_MOVE) & (ratios >= 1.0 / _LARGEST_MOVE)).all(axis=0)
    found: list[int] = np.flatnonzero(is_moving).tolist()
    return found


def _ends(masks: FillMasks, delistings: Table | None, *, is_file: bool) -> list[str]:
    """Return warnings of symbols that never close, or stop without a settlement."""
    # The readers of files say themselves which symbols never close.
    n_bars, symbols = len(masks.dates), masks.symbols
    is_listed = np.asarray(masks.closed.any(axis=0))
    is_settled = np.zeros_like(is_listed)
    if delistings is not None:
        is_settled |= np.isfinite(delistings).any(axis=0)
    never = [symbol for symbol, closes in zip(symbols, is_listed, strict=True) if not (closes or is_file)]
    found = [f"{_listed(never)} never close{'s' * (len(never) == 1)}"] if never else []
    last = n_bars - 1 - masks.closed[::-1].argmax(axis=0)
    stopped = np.flatnonzero(is_listed & (last < n_bars - 1) & ~is_settled).tolist()
    if not stopped:
        return found
    names, first = _listed([symbols[column] for column in stopped]), masks.dates[int(last[stopped].min())]
    said = f"stops closing after {first}" if len(stopped) == 1 else f"stop closing, the first after {first},"
    return [*found, f"{names} {said} without a settlement: positions cannot be sold"]


def _crossed(column_of: ColumnOf) -> list[str]:
    high, low = column_of("high"), column_of("low")
    crossed = 0 if high is None or low is None else int((high < low).sum())
    return [f"{counted(crossed, 'bar has', 'bars have')} a high below the low"] if crossed else []


def _listed(names: Sequence[str]) -> str:
    n_others = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {counted(n_others, 'other symbol')}" if n_others > 0 else "")
