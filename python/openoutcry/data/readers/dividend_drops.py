"""Checks that prices fall by their dividends, or hold them already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.data.readers.questions import Question, unstated

Table = npt.NDArray[np.float64]

# Dividends of all symbols from which on they are judged, and standard errors of their share.
_FEWEST, _DECISIVE = 4, 6.0
# Prices fall by a larger share of their dividends, taxes included; prices that hold them fall by a smaller one.
_PAID, _HELD = 0.6, 0.4
# Ratio of the standard deviation to the median of the absolute value, of a normal distribution, and the least one.
_DEVIATION, _LEAST = 1.4826, 1e-3
# A larger dividend is no part of a price.
_MOST = 0.5


def check_drops(
    close: Table, dividends: Table, splits: Table | None, labels: tuple[Sequence[str], Sequence[str]], *, is_held: bool
) -> None:
    """Check that closes fall by their dividends, unless they are adjusted for them.

    Dividends of all symbols count together, by the noise of the returns of each. A few, or small ones, show nothing.

    Args:
        close: Closes. Shape `(n_bars, n_symbols)`.
        dividends: Cash per share. Shape `(n_bars, n_symbols)`.
        splits: New shares per old share; None or NaN for none.
        labels: Dates of the bars, and names of the symbols.
        is_held: Whether the closes are adjusted for dividends.

    Raises:
        OpenOutcryError: `value_invalid`: the closes show the contrary.
    """
    found = [_moves(close[:, column], dividends[:, column], splits, column) for column in _payers(dividends)]
    expected, moves, bars = (
        (np.concatenate(parts) for parts in zip(*found, strict=True)) if found else (np.empty(0),) * 3
    )
    weight = float((expected**2).sum())
    if len(expected) < _FEWEST or not weight:
        return
    share, error = float((expected * moves).sum()) / weight, weight**-0.5
    dates, symbols = labels
    column = next(payer for payer, part in zip(_payers(dividends), found, strict=True) if len(part[0]))
    first = f"such as {dividends[int(bars[0]), column]:g} of {symbols[column]} on {dates[int(bars[0])]}"
    received = f"{len(expected)} dividends, {first}, and closes that fall by {max(share, 0.0):.0%} of them"
    if not is_held and share + _DECISIVE * error < _PAID:
        required, keyword = "closes must fall by their dividends", 'adjusted="total" if they hold them'
        rest = ", or write each dividend on its ex-date, and prices of bonds with their accrued interest"
        raise unstated(Question("value_invalid", required, received, keyword, "--adjusted total", rest))
    if is_held and share - _DECISIVE * error > _HELD:
        required = "prices that are adjusted for dividends must not fall by them"
        keyword = 'adjusted="split", or "none" if they are as traded'
        raise unstated(Question("value_invalid", required, received, keyword, "--adjusted split"))


def _payers(dividends: Table) -> list[int]:
    with np.errstate(invalid="ignore"):
        columns: list[int] = np.flatnonzero((dividends > 0.0).any(axis=0)).tolist()
    return columns


def _moves(
    close: Table, dividend: Table, splits: Table | None, column: int
) -> tuple[Table, Table, npt.NDArray[np.intp]]:
    """Return falls by dividends, returns, and their bars.

    Both are logarithms in standard deviations of the returns of the symbol.
    """
    bars = np.flatnonzero(np.isfinite(close))
    ratio = np.ones(len(close)) if splits is None else splits[:, column]
    shares = np.cumprod(np.where(np.isfinite(ratio) & (ratio > 0.0), ratio, 1.0))
    returns = np.diff(np.log(close[bars] * shares[bars]))
    paid = np.nan_to_num(dividend[bars[1:]]) / close[bars[:-1]]
    pays = (paid > 0.0) & (paid < _MOST)
    others = returns[paid == 0.0]
    # Without enough other bars, the drift of the prices is not known.
    if len(others) < max(int(pays.sum()), _FEWEST):
        return np.empty(0), np.empty(0), np.empty(0, np.intp)
    noise = _DEVIATION * float(np.median(np.abs(others)))
    # A fund of a constant value pays what it earns.
    if noise == 0.0:
        return np.empty(0), np.empty(0), np.empty(0, np.intp)
    noise = max(noise, _LEAST)
    drift = float(others.mean())
    return np.log(1.0 - paid[pays]) / noise, (returns[pays] - drift) / noise, bars[1:][pays]
