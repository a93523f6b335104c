"""Value of a leak: Sharpe ratio of its column as a signal, with and without delay.

The delay is one bar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.audits.leakcheck.frame_columns import Source
from openoutcry.audits.leakcheck.target_trace import Trace

Table = npt.NDArray[np.float64]

_DEEPEST = 3.0


@dataclass(frozen=True)
class SignalSharpe:
    """Annual Sharpe ratios of a signal built from a column, without costs.

    Attributes:
        signal: `sign` of the values, sign of their `change` from the previous bar, or their expanding `zscore`
            clipped at 3.
        sharpe: Positions are decided at a close and earn the return to the next close.
        delayed: The same positions one bar later.
    """

    signal: str
    sharpe: float
    delayed: float

    @property
    def drop(self) -> float:
        """Loss of Sharpe ratio by one bar of delay."""
        return self.sharpe - self.delayed


def signal_sharpes(
    column: str, trace: Trace, source: Source, periods_per_year: float | None
) -> tuple[tuple[SignalSharpe, ...], str | None]:
    """Return the Sharpe ratios of a column as a signal, or why they are undefined.

    The sign of each signal is the one that earns without delay. Symbols have equal weights.
    """
    if column not in trace.numbers:
        return (), "the column does not have a number in each row"
    priced = prices_of(source)
    if priced is None:
        return (), "the data has no column of closes"
    if periods_per_year is None:
        return (), "the dates do not show the number of bars per year; hint: state `periods_per_year`"
    closes, symbols = priced
    values = _by_bar(column, trace, source, closes, symbols)
    with np.errstate(all="ignore"):
        returns = closes[1:] / closes[:-1] - 1.0
    found = []
    moves = np.diff(values, axis=0, prepend=np.nan)
    for signal, positions in (("sign", np.sign(values)), ("change", np.sign(moves)), ("zscore", _zscores(values))):
        held = np.nan_to_num(positions, nan=0.0)[:-1]
        now, delayed = (_sharpe(weights, returns[1:], periods_per_year) for weights in (held[1:], held[:-1]))
        if now is not None and delayed is not None:
            turn = -1.0 if now < 0.0 else 1.0
            found.append(SignalSharpe(signal, turn * now, turn * delayed))
    return tuple(found), None if found else "its positions or the returns are constant"


def prices_of(source: Source) -> tuple[Table, list[str]] | None:
    """Return closes, shape `(n_bars, n_symbols)`, float64, and the symbols.

    Returns None for data without a close column.
    """
    name = source.column("close", "adj close", "adj_close", "price")
    if name is None or source.columns[name].dtype.kind not in "fiu":
        return None
    symbols = np.zeros(len(source.bars), int) if source.name is None else source.columns[source.name]
    names, places = np.unique(symbols.astype(str), return_inverse=True)
    closes = np.full((source.n_bars, len(names)), np.nan)
    closes[source.bars, places] = source.columns[name]
    return closes, names.tolist()


def _by_bar(column: str, trace: Trace, source: Source, closes: Table, symbols: list[str]) -> Table:
    """Arrange a column as a signal by bar and symbol."""
    values = trace.shown(column)
    table = np.full(closes.shape, np.nan)
    if len(values) == len(source.bars) and source.name is not None:
        places = np.searchsorted(symbols, source.columns[source.name].astype(str))
        table[source.bars, places] = values
        return table
    of_symbol = [place for place, symbol in enumerate(symbols) if column == symbol or column.endswith(f"[{symbol}]")]
    for place in of_symbol or range(len(symbols)):
        table[trace.bars, place] = values
    return table


def _zscores(values: Table) -> Table:
    """Return expanding z-scores, clipped at 3 and scaled to [-1, 1]."""
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    n = np.cumsum(known, axis=0)
    with np.errstate(all="ignore"):
        mean = np.cumsum(filled, axis=0) / n
        # Relative to the first known value, because squares of large levels lose the variance to rounding.
        start = np.take_along_axis(filled, known.argmax(axis=0)[None, :], axis=0)
        moved = np.where(known, values - start, 0.0)
        spread = np.cumsum(moved**2, axis=0) / n - (np.cumsum(moved, axis=0) / n) ** 2
        scores = (values - mean) / np.sqrt(np.where(spread > 0.0, spread, np.nan))
    return np.asarray(np.clip(scores, -_DEEPEST, _DEEPEST) / _DEEPEST)


def _sharpe(positions: Table, returns: Table, periods_per_year: float) -> float | None:
    gains = np.nan_to_num(positions * returns, nan=0.0, posinf=0.0, neginf=0.0).mean(axis=1)
    return native.summarize(np.ascontiguousarray(gains), periods_per_year=periods_per_year)[0]["sharpe"]
