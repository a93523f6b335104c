"""Symbols with predictable returns: lagged, smoothed and bouncing prices.

Such a price was not tradable when it was stated. Sources: Lo and MacKinlay (1990) for prices that are not simultaneous,
Getmansky, Lo and Makarov (2004) for smoothed ones, Roll (1984) for the bounce between bid and ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["LONGEST_LAG", "Lagged", "lag_warnings", "lagged_symbols"]

Table = npt.NDArray[np.float64]

LONGEST_LAG = 5
"""Most bars between two returns."""
MOST_SYMBOLS = 500
"""A market of more symbols is not checked: the pairs grow with the square."""
# Of 20 x 20 pairs at 5 lags over 250 bars without any relation, the largest correlation is about 0.25.
_LEAST = 0.3
_LEAST_ERRORS = 6.0
_LEAST_BARS = 60
# One symbol of a basket predicts little of it, all together most. There are fewer baskets than pairs.
_LEAST_BASKET = 0.2
# Standard errors below which a symbol is left out of a basket, so that the noise of many does not hide the few.
_IN_BASKET = 2.5
# Bars that are compared; more would not change a correlation of this size.
_MOST_BARS = 2_520
# One shared jump is no relation.
_LARGEST = 4.0
_MOST_NAMED = 3
# Returns that the spread is estimated from.
_SAMPLED = 504
# Bars of the recent mean, before and after.
_HALF = 31


@dataclass(frozen=True)
class Lagged:
    """A symbol with returns that those of an earlier bar predict.

    Attributes:
        leader: Symbol of the earlier returns; empty for a basket of the other symbols.
        follower: Symbol of the later ones; the same symbol for autocorrelation.
        lag: Bars between them; for a basket the most.
        correlation: Correlation of the returns, outliers clipped.
        n_returns: Number of pairs of returns.
    """

    leader: str
    follower: str
    lag: int
    correlation: float
    n_returns: int

    def __str__(self) -> str:
        bars = f"{self.lag} bar{'s' * (self.lag != 1)}"
        size = f"correlation {self.correlation:.2f} over {self.n_returns:,} returns"
        if not self.leader:
            basket = f"the returns of {self.follower} follow a basket of the other symbols by 1 to {bars}"
            return f"{basket} ({size}): are its prices smoothed or stale?"
        if self.leader != self.follower:
            pair = f"the returns of {self.follower} follow those of {self.leader} by {bars}"
            return f"{pair} ({size}): are its prices stale?"
        kind = "smoothed" if self.correlation > 0.0 else "bouncing between bid and ask"
        return f"the returns of {self.follower} predict themselves {bars} later ({size}): are its prices {kind}?"


def lagged_symbols(dataset: Dataset) -> list[Lagged]:
    """Return the symbols with predictable returns, the strongest first.

    A symbol is listed once, with its strongest relation: a correlation of at least 0.3 in absolute value and of 6
    standard errors, over at least 60 returns. A symbol without one may follow a basket of the others: equal weights,
    or those that half of the returns show for the other half, predict it with a correlation of at least 0.2. The last
    2,520 bars are compared.
    """
    if dataset.n_symbols > MOST_SYMBOLS:
        return []
    scaled, is_known = _scaled(_returns(dataset))
    best: list[Lagged | None] = [None] * dataset.n_symbols
    for lag in range(1, min(LONGEST_LAG, len(scaled) - 1) + 1):
        n_both = _pairs(is_known, lag)
        correlation = scaled[:-lag].T @ scaled[lag:] / np.maximum(n_both, 1.0)
        least = np.maximum(_LEAST, _LEAST_ERRORS / np.sqrt(np.maximum(n_both, 1.0)))
        for leader, follower in np.argwhere((n_both >= _LEAST_BARS) & (np.abs(correlation) >= least)).tolist():
            size, known = float(correlation[leader, follower]), best[follower]
            if known is None or abs(size) > abs(known.correlation):
                names = dataset.symbols[leader], dataset.symbols[follower]
                best[follower] = Lagged(*names, lag, size, int(n_both[leader, follower]))
    for follower, basket in enumerate(_baskets(dataset.symbols, scaled, is_known)):
        best[follower] = best[follower] or basket
    return sorted((each for each in best if each is not None), key=lambda each: -abs(each.correlation))


def lag_warnings(dataset: Dataset) -> tuple[str, ...]:
    """Return a warning for each of the first three symbols, and count the others."""
    found = lagged_symbols(dataset)
    n_others = len(found) - _MOST_NAMED
    others = (
        [f"{counted(n_others, 'other symbol has', 'other symbols have')} predictable returns"] if n_others > 0 else []
    )
    return (*map(str, found[:_MOST_NAMED]), *others)


def _baskets(
    symbols: Sequence[str], scaled: npt.NDArray[np.float32], is_known: npt.NDArray[np.bool_]
) -> list[Lagged | None]:
    """Return the basket that each symbol follows, if any.

    Its weights are equal, or those of one half of the returns, which predict the other half.
    """
    half = len(scaled) // 2
    if half < _LEAST_BARS:
        return [None] * len(symbols)
    equal, fitted = np.zeros_like(scaled), np.zeros_like(scaled)
    for lag in range(1, LONGEST_LAG + 1):
        # A symbol that predicts itself is another relation.
        equal[lag:] += scaled[:-lag].sum(axis=1, keepdims=True) - scaled[:-lag]
        for shown, other in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
            fitted[other][lag:] += scaled[other][:-lag] @ _weights(scaled[shown], is_known[shown], lag)
    n_returns = is_known.sum(axis=0)
    sizes = np.maximum(*(_correlations(np.where(is_known, each, 0.0), scaled) for each in (equal, fitted)))
    least = np.maximum(_LEAST_BASKET, _LEAST_ERRORS / np.sqrt(np.maximum(n_returns, 1)))
    return [
        Lagged("", name, LONGEST_LAG, size, n) if size >= bound and n >= _LEAST_BARS else None
        for name, size, bound, n in zip(symbols, sizes.tolist(), least, n_returns.tolist(), strict=True)
    ]


def _weights(scaled: npt.NDArray[np.float32], is_known: npt.NDArray[np.bool_], lag: int) -> npt.NDArray[np.float32]:
    """Return the correlations with later returns of others; 0 for small ones."""
    n_both = np.maximum(_pairs(is_known, lag), 1.0)
    weights: npt.NDArray[np.float32] = (scaled[:-lag].T @ scaled[lag:] / n_both).astype(np.float32)
    weights[np.abs(weights) < _IN_BASKET / np.sqrt(n_both)] = 0.0
    np.fill_diagonal(weights, 0.0)
    return weights


def _correlations(predicted: Table, scaled: npt.NDArray[np.float32]) -> Table:
    """Return the correlation of each column with its prediction; 0 without one."""
    power = np.sqrt((predicted**2).sum(axis=0) * (scaled**2).sum(axis=0))
    found: Table = (predicted * scaled).sum(axis=0) / np.where(power > 0.0, power, 1.0)
    return found


def _returns(dataset: Dataset) -> Table:
    """Return logarithmic returns, adjusted for splits; NaN without a close."""
    close = np.asarray(dataset.close, dtype=np.float64)
    if dataset.splits is not None:
        close = close * np.cumprod(np.nan_to_num(dataset.splits, nan=1.0), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        returns: Table = np.diff(np.log(close[-_MOST_BARS - 1 :]), axis=0)
    return returns


def _pairs(is_known: npt.NDArray[np.bool_], lag: int) -> Table:
    """Return the number of bars on which both returns of a pair are known."""
    if is_known.all():
        return np.full((is_known.shape[1],) * 2, float(len(is_known) - lag))
    known = is_known.astype(np.float32)
    return np.asarray(known[:-lag].T @ known[lag:], dtype=np.float64)


def _scaled(returns: Table) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Return standardized returns over their recent mean, and which are known.

    Outliers are clipped; an unknown return is 0.
    """
    is_known = np.isfinite(returns)
    # Constant returns have no correlation.
    middle, spread = _middle(returns, is_known)
    is_known &= spread > 1e-12
    n = np.maximum(is_known.sum(axis=0), 1)
    clipped = np.clip((returns - middle) / np.where(spread > 1e-12, spread, 1.0), -_LARGEST, _LARGEST)
    clipped = np.where(is_known, clipped, 0.0)
    # Interest is paid on every bar, and its slow changes are no prediction of prices.
    sums, counts = (_moving_sums(each) for each in (clipped, is_known.astype(np.float64)))
    moved = np.where(is_known, clipped - sums / np.maximum(counts, 1.0), 0.0)
    power = np.sqrt((moved**2).sum(axis=0) / n)
    return (moved / np.where(power > 0.0, power, 1.0)).astype(np.float32), is_known


def _middle(returns: Table, is_known: npt.NDArray[np.bool_]) -> tuple[Table, Table]:
    """Return the median of each column, and its spread without outliers."""
    known = np.where(is_known | ~is_known.any(axis=0), np.nan_to_num(returns), np.nan)
    if is_known.any(axis=0).all() and len(known) > _SAMPLED:
        # A median of many columns is slow; a symbol with no return in the sample has all of them compared.
        sampled = known[:: -(-len(known) // _SAMPLED)]
        known = sampled if np.isfinite(sampled).any(axis=0).all() else known
    middle: Table = np.nanmedian(known, axis=0)
    absolute = 1.4826 * np.nanmedian(np.abs(known - middle), axis=0)
    # More than half of the returns of a symbol that seldom trades are 0.
    return middle, np.where(absolute > 1e-12, absolute, np.nanstd(known, axis=0))


def _moving_sums(values: Table) -> Table:
    """Return sums over centered blocks of bars, shorter at both ends."""
    total = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0)])
    rows = np.arange(len(values))
    sums: Table = total[np.minimum(rows + _HALF + 1, len(values))] - total[np.maximum(rows - _HALF, 0)]
    return sums
