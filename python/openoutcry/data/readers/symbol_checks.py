"""Checks that the columns of a wide table are symbols."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.period_text import month_of
from openoutcry.errors import OpenOutcryError, refusal

Table = npt.NDArray[np.float64]

# Prices of one bar are within this factor of each other; those of two symbols seldom are.
_SPREAD = 1.2
# In a table of up to this many columns, every pair is tested.
_MOST_COLUMNS, _LEAST_ROWS = 12, 5
# Mean move of a price within the range of its bar, from bar to bar.
_JUMP = 0.1
# Rows of a wider table that are tested, and those by which columns of one bar differ from similar symbols.
_MOST_ROWS, _MANY_ROWS = 256, 120
# Rows by which a copy may be shifted.
_MOST_SHIFT = 5
# Pairs of a wider table that are tested, a millisecond for ten.
_MOST_PAIRS = 2000
# Symbols with the names of months at most.
_MOST_MONTHS = 5
# Columns of one bar, with the volume and the adjusted close.
_FIELDS = (3, 4, 5, 6)
# Share of the symbols of a regular table that show the fields of a bar.
_MOST_SYMBOLS = 0.9
# Ratio of the squared moves of a place to its variance: 2 for unrelated places, near 0 for one that drifts.
_UNRELATED = 1.0


def check_symbols(close: Table, symbols: Sequence[str]) -> None:
    """Refuse columns of a wide table that are prices of one bar.

    Two of them bound another on every row, and its place between them jumps from row to row. The place of one index
    between two others drifts. A column that is another one some rows later, such as a target, is refused too.

    Raises:
        OpenOutcryError: `missing_column`: it is not clear which column is the close, or columns are months.
            `value_invalid`: a column is a shifted copy.
    """
    n_symbols = len(symbols)
    _check_months(symbols)
    _check_copies(close, symbols)
    if n_symbols < 3 or len(close) < _LEAST_ROWS:
        return
    if n_symbols <= _MOST_COLUMNS:
        for high, low in permutations(range(n_symbols), 2):
            others = [place for place in range(n_symbols) if place not in (high, low)]
            if len(_bounded(close, high, low, others)):
                raise _one_bar(symbols, list(range(n_symbols)), high, low)
        return
    recent = np.ascontiguousarray(close[-_MOST_ROWS:])
    _check_blocks(recent, symbols)
    if len(recent) >= _MANY_ROWS:
        _check_neighbours(recent, symbols)


def _check_months(symbols: Sequence[str]) -> None:
    """Refuse a row per year with a column per month."""
    months = {month_of(symbol.strip()) for symbol in symbols} - {0}
    if len(months) > _MOST_MONTHS:
        message = f"columns must be symbols; received {', '.join(symbols[:3])} and other months"
        raise refusal("missing_column", f"{message}; hint: write a row per month, with dates such as 2020-01")


def _check_copies(close: Table, symbols: Sequence[str]) -> None:
    """Refuse a column that holds the values of another one some rows later."""
    recent = np.ascontiguousarray(np.nan_to_num(close[-_MOST_ROWS:], nan=-1.0).T)
    varied = [place for place, values in enumerate(recent) if _is_varied(values[values > 0.0])]
    for n_rows in range(1, min(_MOST_SHIFT, len(close) - _LEAST_ROWS) + 1):
        later = {recent[place, n_rows:].tobytes(): place for place in varied}
        for place in varied:
            source = later.get(recent[place, :-n_rows].tobytes(), place)
            if source != place and np.array_equal(close[:-n_rows, place], close[n_rows:, source], equal_nan=True):
                rows = f"{n_rows} row{'s' * (n_rows > 1)} later"
                message = f"columns must be symbols; received {symbols[place]!r}, which is {symbols[source]!r} {rows}"
                hint = 'leave it out, or columns={"close": "*"}, `--column close=*` if every column is a symbol'
                raise refusal("value_invalid", f"{message}; hint: {hint}")


def _is_varied(values: Table) -> bool:
    """Return whether prices are no constant, no straight line and no short cycle."""
    if len(values) < _LEAST_ROWS or len(np.unique(values)) < min(20, len(values) / 2):
        return False
    return bool(min(np.ptp(np.diff(values)) / values.mean(), np.ptp(np.diff(np.log(values)))) > 1e-9)


def _check_blocks(close: Table, symbols: Sequence[str]) -> None:
    """Refuse a table in which every symbol has the same fields, in the same order."""
    n_symbols = len(symbols)
    for n_fields in (count for count in _FIELDS if n_symbols % count == 0):
        places = np.arange(n_symbols)
        for blocks in (places.reshape(-1, n_fields), places.reshape(n_fields, -1).T):
            for high, low in permutations(range(n_fields), 2):
                others = [place for place in range(n_fields) if place not in (high, low)]
                shown = close[:, blocks[:, high]], close[:, blocks[:, low]], close[:, blocks[:, others]]
                if _are_bounded(*shown).mean() >= _MOST_SYMBOLS:
                    raise _one_bar(symbols, blocks[0].tolist(), *blocks[0, [high, low]].tolist())


def _are_bounded(high: Table, low: Table, others: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return for each symbol whether another column jumps between two."""
    is_bar: npt.NDArray[Any] = np.ones(high.shape[1], dtype=np.bool_)
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        # The first rows decide for nearly all symbols that are none.
        is_bar &= ~(high[:_LEAST_ROWS] < low[:_LEAST_ROWS]).any(axis=0)
        if is_bar.mean() < _MOST_SYMBOLS:
            return is_bar
        places = (others - low[:, :, None]) / (high - low)[:, :, None]
        n_known = np.isfinite(places).sum(axis=0)
        inside = ((places >= 0.0) & (places <= 1.0)).sum(axis=0) > 0.99 * n_known
        jumps = np.nanmean(np.abs(np.diff(places, axis=0)), axis=0) > _JUMP
        is_bar &= (np.nanmedian(high / low, axis=0) < _SPREAD) & ((high < low).mean(axis=0) < 0.01)
        is_bar &= (inside & jumps & (n_known >= _LEAST_ROWS)).any(axis=1)
    return is_bar


def _check_neighbours(close: Table, symbols: Sequence[str]) -> None:
    """Refuse neighbouring columns that are prices of one bar."""
    reach = max(_FIELDS)
    for high, low in islice(_near_pairs(close), _MOST_PAIRS):
        first, last = min(high, low), max(high, low)
        near = range(max(0, last - reach), min(len(symbols), first + reach + 1))
        others = [place for place in near if place not in (high, low)]
        inside = _bounded(close, high, low, others, least=_UNRELATED)
        if len(inside):
            raise _one_bar(symbols, sorted({high, low, *(others[place] for place in inside)}), high, low)


def _near_pairs(close: Table) -> Iterator[tuple[int, int]]:
    """Yield neighbouring columns, one a little above the other on every row."""
    for distance in range(1, max(_FIELDS)):
        ratio = close[:, distance:] / close[:, :-distance]
        n_rows = np.isfinite(ratio).sum(axis=0)
        above, below = (ratio > 1.0).sum(axis=0), (ratio < 1.0).sum(axis=0)
        far = ((ratio > _SPREAD) | (ratio < 1.0 / _SPREAD)).sum(axis=0)
        is_near = (n_rows >= _MANY_ROWS) & (np.minimum(above, below) <= 0.01 * n_rows) & (far <= 0.5 * n_rows)
        for place in np.flatnonzero(is_near & (above + below > 0.99 * n_rows)).tolist():
            yield (place + distance, place) if above[place] > below[place] else (place, place + distance)


def _bounded(close: Table, high: int, low: int, others: Sequence[int], least: float = 0.0) -> npt.NDArray[Any]:
    """Return which other columns jump between two columns that bound them."""
    rows = np.isfinite(close[:, high]) & np.isfinite(close[:, low]) & (close[:, high] > close[:, low])
    if rows.sum() < _LEAST_ROWS or np.median(close[rows, high] / close[rows, low]) > _SPREAD:
        return np.empty(0, dtype=np.intp)
    ranges = (close[rows, high] - close[rows, low])[:, None]
    # The few columns first: all columns of a wide table would be copied.
    places = (close[:, others][rows] - close[rows, low][:, None]) / ranges
    kept = np.flatnonzero(((places >= 0.0) & (places <= 1.0)).mean(axis=0) > 0.99)
    moves = np.diff(places[:, kept], axis=0)
    jumps = np.nanmean(np.abs(moves), axis=0) > _JUMP
    if least:
        jumps &= np.nanmean(moves**2, axis=0) > least * np.nanvar(places[:, kept], axis=0)
    found: npt.NDArray[Any] = kept[jumps]
    return found


def _one_bar(symbols: Sequence[str], shown: Sequence[int], high: int, low: int) -> OpenOutcryError:
    names = ", ".join(symbols[place] for place in shown)
    message = f"it must be clear which column is the `close`; received {names}, where "
    message += f"{symbols[high]} and {symbols[low]} bound another on every row"
    hint = 'columns={"close": NAME}, `--column close=NAME`, or "*" if every column is a symbol'
    return refusal("missing_column", f"{message}; hint: {hint}")
