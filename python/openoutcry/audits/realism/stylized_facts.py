"""Stylized facts of daily returns, volume and high-low ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.audits.realism.market_panel import MIN_RETURNS, Panel

Series = npt.NDArray[np.float64]

HILL_SHARE = 0.05
LEVERAGE_LAGS = 10
LONG_DAYS = 20
VOLUME_TREND = 250


@dataclass(frozen=True)
class Fact:
    """A stylized fact of a panel: its value, or None and the reason."""

    value: float | None
    reason: str = ""


_NOT_ANNUAL = Fact(None, "needs the bars per year of the market")


def annual_volatility(returns: Series, bars: float) -> float:
    """Return the standard deviation of returns times the square root of bars per year."""
    return float(np.std(returns, ddof=1) * np.sqrt(bars))


def skew(returns: Series) -> float:
    """Return the third standardized moment."""
    return _moment(returns, 3)


def excess_kurtosis(returns: Series) -> float:
    """Return the fourth standardized moment less 3."""
    return _moment(returns, 4) - 3.0


def quantile_kurtosis(returns: Series) -> float:
    """Return the 2.5 to 97.5 % quantile range divided by the interquartile range.

    It is 2.91 for a normal distribution and defined for any tail. Source: Crow and Siddiqui (1967).
    """
    low, first, third, high = np.quantile(returns, [0.025, 0.25, 0.75, 0.975])
    return float((high - low) / (third - first))


def hill(returns: Series) -> float:
    """Return the Hill tail index of the largest 5 % of absolute returns.

    A smaller index is a fatter tail. Source: Hill (1975).
    """
    count = int(HILL_SHARE * returns.size)
    largest = np.partition(np.abs(returns), returns.size - count - 1)[-count - 1 :]
    return float(count / np.log(largest / largest.min()).sum())


def autocorrelation(values: Series, lag: int) -> float:
    """Return the autocorrelation at a lag, normalized by the full series variance."""
    centred = values - values.mean()
    return float(centred[lag:] @ centred[:-lag] / (centred @ centred))


def leverage(returns: Series) -> float:
    """Return the mean correlation of a return with the next ten absolute returns.

    Negative where falls raise volatility. Source: Bouchaud, Matacz and Potters (2001), expressed as a correlation.
    """
    size = np.abs(returns)
    lags = range(1, LEVERAGE_LAGS + 1)
    return float(np.mean([_correlation(returns[:-lag], size[lag:]) for lag in lags]))


def long_kurtosis(returns: Series) -> float:
    """Return the excess kurtosis of non-overlapping returns over 20 bars."""
    count = returns.size // LONG_DAYS
    return excess_kurtosis(returns[returns.size - count * LONG_DAYS :].reshape(count, LONG_DAYS).sum(axis=1))


def _moment(values: Series, power: int) -> float:
    centred = values - values.mean()
    return float(np.mean(centred**power) / np.mean(centred**2) ** (power / 2))


def _correlation(left: Series, right: Series) -> float:
    left, right = left - left.mean(), right - right.mean()
    return float(left @ right / np.sqrt((left @ left) * (right @ right)))


def _pairwise(panel: Panel) -> Fact:
    """Return the mean correlation of all pairs on their shared bars."""
    table = panel.returns[:, panel.counted]
    if table.shape[1] < 2:
        return Fact(None, f"needs two symbols with {MIN_RETURNS} returns")
    found = []
    for i in range(table.shape[1]):
        for j in range(i):
            both = np.isfinite(table[:, i]) & np.isfinite(table[:, j])
            if both.sum() >= MIN_RETURNS:
                found.append(_correlation(table[both, i], table[both, j]))
    return _mean(found, "no two symbols share enough bars", np.mean)


def _volume_volatility(panel: Panel) -> Fact:
    """Correlate |return| with log volume less its trailing one-year mean."""
    if panel.volume is None:
        return Fact(None, "no volume")
    found = []
    for i in panel.counted:
        known = np.isfinite(panel.returns[:, i]) & (panel.volume[:, i] > 0.0)
        if known.sum() < MIN_RETURNS + VOLUME_TREND:
            continue
        volume = np.log(panel.volume[known, i])
        sums = np.concatenate([[0.0], np.cumsum(volume)])
        usual = (sums[VOLUME_TREND:-1] - sums[: -VOLUME_TREND - 1]) / VOLUME_TREND
        found.append(_correlation(volume[VOLUME_TREND:] - usual, np.abs(panel.returns[known, i])[VOLUME_TREND:]))
    return _mean(found, f"needs a symbol with {MIN_RETURNS + VOLUME_TREND} returns and volumes")


def _sharpe(panel: Panel) -> Fact:
    """Return the Sharpe ratio of a buy-and-hold portfolio with equal initial amounts."""
    if panel.periods_per_year is None:
        return _NOT_ANNUAL
    held = np.isfinite(panel.returns[0])
    if panel.n_bars < MIN_RETURNS or not held.any():
        return Fact(None, f"needs {MIN_RETURNS} bars and a symbol that is listed from the first bar")
    nav = np.exp(np.cumsum(np.nan_to_num(panel.returns[:, held]), axis=0)).mean(axis=1)
    returns = nav / np.concatenate([[1.0], nav[:-1]]) - 1.0
    return Fact(float(returns.mean() / returns.std(ddof=1) * np.sqrt(panel.periods_per_year)))


def _range_ratio(panel: Panel) -> Fact:
    """Return the volatility estimated from high-low ranges divided by that of returns.

    1 for a price observed continuously; lower where the market closes. Source: Parkinson (1980).
    """
    if panel.high is None or panel.low is None:
        return Fact(None, "no high and low")
    found = []
    for i in panel.counted:
        known = np.isfinite(panel.returns[:, i]) & np.isfinite(panel.high[:, i]) & np.isfinite(panel.low[:, i])
        if known.sum() >= MIN_RETURNS:
            spans = np.log(panel.high[known, i] / panel.low[known, i])
            range_volatility = np.sqrt(np.mean(spans**2) / (4.0 * np.log(2.0)))
            found.append(float(range_volatility / np.std(panel.returns[known, i], ddof=1)))
    return _mean(found, f"needs a symbol with {MIN_RETURNS} ranges")


def _overnight_share(panel: Panel) -> Fact:
    """Return the overnight share of overnight plus intraday variance."""
    if panel.overnight is None:
        return Fact(None, "no opens")
    found = []
    for i in panel.counted:
        known = np.isfinite(panel.returns[:, i]) & np.isfinite(panel.overnight[:, i])
        if known.sum() >= MIN_RETURNS:
            night = np.var(panel.overnight[known, i])
            day = np.var(panel.returns[known, i] - panel.overnight[known, i])
            found.append(float(night / (night + day)))
    return _mean(found, f"needs a symbol with {MIN_RETURNS} opens")


def _mean(found: list[float], reason: str, of: Callable[..., np.floating] = np.median) -> Fact:
    return Fact(float(of(found))) if found else Fact(None, reason)


OF_SYMBOL: dict[str, Callable[[Series], float]] = {
    "excess_kurtosis": excess_kurtosis,
    "quantile_kurtosis": quantile_kurtosis,
    "hill": hill,
    "acf_return_1": lambda returns: autocorrelation(returns, 1),
    "acf_abs_1": lambda returns: autocorrelation(np.abs(returns), 1),
    "acf_abs_5": lambda returns: autocorrelation(np.abs(returns), 5),
    "acf_abs_20": lambda returns: autocorrelation(np.abs(returns), 20),
    "leverage": leverage,
    "skew": skew,
    "long_kurtosis": long_kurtosis,
}
OF_PANEL: dict[str, Callable[[Panel], Fact]] = {
    "pairwise_correlation": _pairwise,
    "volume_volatility": _volume_volatility,
    "range_ratio": _range_ratio,
    "overnight_share": _overnight_share,
    "buy_and_hold_sharpe": _sharpe,
}
FACTS = ("annual_volatility", *OF_SYMBOL, *OF_PANEL)


def facts_of(panel: Panel) -> dict[str, Fact]:
    """Compute every fact of a panel by name, in the order of `FACTS`.

    A fact of single symbols is the median over the symbols with enough returns.
    """
    series = [column[np.isfinite(column)] for column in panel.returns[:, panel.counted].T]
    if not series:
        absent = Fact(None, f"needs a symbol with {MIN_RETURNS} returns that vary")
        found = dict.fromkeys(("annual_volatility", *OF_SYMBOL), absent)
    else:
        year = panel.periods_per_year
        annual = _NOT_ANNUAL if year is None else _median([annual_volatility(each, year) for each in series])
        found = {"annual_volatility": annual}
        found |= {name: _median([of(each) for each in series]) for name, of in OF_SYMBOL.items()}
    return found | {name: of(panel) for name, of in OF_PANEL.items()}


def _median(values: list[float]) -> Fact:
    return Fact(float(np.median(values)))
