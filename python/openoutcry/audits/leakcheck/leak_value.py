"""What a leak buys: its column traded as a signal, and again one bar later."""

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
class Worth:
    """Sharpe ratios a year of one way to trade a column, without costs.

    Attributes:
        signal: `sign` of the values, sign of their `change` from the bar before, or their `zscore` against all values
            up to each bar, cut at 3.
        sharpe: Decided at each close, paid by the return to the next.
        late: The same positions one bar later.
    """

    signal: str
    sharpe: float
    late: float

    @property
    def bought(self) -> float:
        """What the Sharpe ratio loses with one bar of delay."""
        return self.sharpe - self.late


def worth_of(
    column: str, trace: Trace, source: Source, periods_per_year: float
) -> tuple[tuple[Worth, ...], str | None]:
    """Return what each way to trade a column earns, or why that is unknown.

    The direction is the one that earns without delay. Positions of several symbols are equal parts.
    """
    if column not in trace.numbers:
        return (), "the column does not hold a number in each row"
    priced = prices_of(source)
    if priced is None:
        return (), "the data has no column of closes"
    closes, symbols = priced
    values = _by_bar(column, trace, source, closes, symbols)
    with np.errstate(all="ignore"):
        returns = closes[1:] / closes[:-1] - 1.0
    found = []
    moves = np.diff(values, axis=0, prepend=np.nan)
    for signal, positions in (("sign", np.sign(values)), ("change", np.sign(moves)), ("zscore", _zscores(values))):
        held = np.nan_to_num(positions, nan=0.0)[:-1]
        now, late = (_sharpe(weights, returns[1:], periods_per_year) for weights in (held[1:], held[:-1]))
        if now is not None and late is not None:
            turn = -1.0 if now < 0.0 else 1.0
            found.append(Worth(signal, turn * now, turn * late))
    return tuple(found), None if found else "positions that vary are required, and returns that do"


def prices_of(source: Source) -> tuple[Table, list[str]] | None:
    """Return closes, shape `(n_bars, n_symbols)`, and the symbols.

    None where the data has no column of closes.
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
    """Return a column as a signal for each bar and symbol."""
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
    """Return each value against the mean and deviation of those up to it, in [-1, 1]."""
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    n = np.cumsum(known, axis=0)
    with np.errstate(all="ignore"):
        mean = np.cumsum(filled, axis=0) / n
        # About the first known value, lest squares of large levels swallow their spread.
        start = np.take_along_axis(filled, known.argmax(axis=0)[None, :], axis=0)
        moved = np.where(known, values - start, 0.0)
        spread = np.cumsum(moved**2, axis=0) / n - (np.cumsum(moved, axis=0) / n) ** 2
        scores = (values - mean) / np.sqrt(np.where(spread > 0.0, spread, np.nan))
    return np.asarray(np.clip(scores, -_DEEPEST, _DEEPEST) / _DEEPEST)


def _sharpe(positions: Table, returns: Table, periods_per_year: float) -> float | None:
    gains = np.nan_to_num(positions * returns, nan=0.0, posinf=0.0, neginf=0.0).mean(axis=1)
    return native.summarize(np.ascontiguousarray(gains), periods_per_year=periods_per_year)[0]["sharpe"]
