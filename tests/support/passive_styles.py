"""Fields of markets with independent days, and styles of investing that use no information on returns.

Every array has a leading axis of fields, so that a loop over days serves all fields.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from builders import DATE_0, Array

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.backtest.settings import settings_of
from openoutcry.openoutcry_py import CostModel, Limits

YEAR = 252
WARM = 252
"""Days before the first window, which show the risk of each symbol."""


@dataclass(frozen=True)
class Kind:
    """A kind of market.

    Attributes:
        name: What it resembles.
        n: Number of symbols.
        vol: Mean daily volatility.
        ratio: Annual Sharpe ratio of a symbol of mean volatility.
        pays: What the mean return is proportional to: `none`, `equal` means, the `risk` of a symbol, or its `beta`.
        spread: Standard deviation of log volatilities.
        common: Share of the variance in one common factor.
        uneven: Standard deviation of the loads on the factor.
        fee_bps: Cost of turnover.
    """

    name: str
    n: int
    vol: float
    ratio: float
    pays: str
    spread: float = 0.0
    common: float = 0.0
    uneven: float = 0.0
    fee_bps: float = 0.0

    def draw(self, random: np.random.Generator, n_fields: int, n_days: int) -> Array:
        """Return daily returns, shape `(n_fields, n_days, n)`."""
        each = (n_fields, 1, self.n)
        # At most twice the mean: the drag of more volatility takes prices out of the range of a market.
        vol = self.vol * np.minimum(np.exp(self.spread * random.standard_normal(each) - self.spread**2 / 2.0), 2.0)
        load = np.clip(np.sqrt(self.common) + self.uneven * random.standard_normal(each), 0.0, 0.95)
        factor = random.standard_normal((n_fields, n_days, 1))
        days = load * factor + np.sqrt(1.0 - load**2) * random.standard_normal((n_fields, n_days, self.n))
        paid = {"none": 0.0, "equal": self.vol, "risk": vol, "beta": vol * load / max(load.mean(), 1e-9)}[self.pays]
        moves: Array = np.clip(self.ratio / np.sqrt(YEAR) * paid + vol * days, -0.9, None)
        return moves


def kept(moves: Array, parts: Array, every: int = 1, band: float | None = None, fee_bps: float = 0.0) -> Array:
    """Return the returns of weights kept by rebalancing.

    Weights are reset every so many days, or where one is off by more than `band`. A window of a year begins in cash.
    """
    parts = np.broadcast_to(parts, moves.shape)
    out, now = np.empty(moves.shape[:2]), np.zeros_like(moves[:, 0])
    for day in range(moves.shape[1]):
        if is_new := day % YEAR == 0:
            now = np.zeros_like(now)
        before = now
        if band is not None:
            is_far = (np.abs(now - parts[:, day]) > band).any(axis=1, keepdims=True)
            now = np.where(is_far | is_new, parts[:, day], now)
        elif is_new or day % every == 0:
            now = parts[:, day]
        out[:, day] = (now * moves[:, day]).sum(axis=1) - 1e-4 * fee_bps * np.abs(now - before).sum(axis=1)
        now = now * (1.0 + moves[:, day]) / (1.0 + out[:, day, None])
    return out


def held(moves: Array, length: int) -> Array:
    """Return the returns of equal parts bought at the start of each window and held."""
    shape = (len(moves), -1, length, moves.shape[2])
    nav = np.cumprod(1.0 + moves.reshape(shape), axis=2).mean(axis=3)
    before = np.concatenate([np.ones_like(nav[:, :, :1]), nav[:, :, :-1]], axis=2)
    flat: Array = (nav / before - 1.0).reshape(len(moves), -1)
    return flat


def trailing_vol(moves: Array, n: int, first: int) -> Array:
    """Return the volatility of the last `n` days before each day from `first` on."""
    sums = np.cumsum(np.concatenate([np.zeros_like(moves[:, :1]), moves], axis=1), axis=1)
    squares = np.cumsum(np.concatenate([np.zeros_like(moves[:, :1]), moves**2], axis=1), axis=1)
    days = np.arange(first, moves.shape[1])
    since = np.maximum(days - n, 0)
    many = (days - since)[None, :, None]
    mean = (sums[:, days] - sums[:, since]) / many
    vol: Array = np.sqrt(np.maximum((squares[:, days] - squares[:, since]) / many - mean**2, 1e-14))
    return vol


def shares(parts: Array) -> Array:
    """Return parts as shares of their sum."""
    normal: Array = parts / parts.sum(axis=-1, keepdims=True)
    return normal


def minimum_variance(covariance: Array) -> Array:
    """Return the parts with the least variance, without shorts."""
    return np.clip(np.linalg.solve(covariance, np.ones(len(covariance))), 0.0, None)


def equal_risk(covariance: Array) -> Array:
    """Return the parts that contribute the same variance each: risk parity."""
    parts = 1.0 / np.sqrt(np.diag(covariance))
    for _ in range(12):
        parts = np.sqrt(parts / np.maximum(covariance @ parts, 1e-12))
    return parts


def most_diverse(covariance: Array) -> Array:
    """Return the parts of maximum diversification, without shorts."""
    return np.clip(np.linalg.solve(covariance, np.sqrt(np.diag(covariance))), 0.0, None)


def monthly(moves: Array, of: Sequence[Callable[[Array], Array]]) -> list[Array]:
    """Return the parts that each function of a covariance has each month, from the year before."""
    n_days = moves.shape[1] - WARM
    parts = np.zeros((len(of), len(moves), n_days, moves.shape[2]))
    for place, field in enumerate(moves):
        for day in range(0, n_days, 21):
            seen = field[day : day + WARM] - field[day : day + WARM].mean(axis=0)
            covariance = seen.T @ seen / (2.0 * (WARM - 1))
            covariance[np.diag_indices_from(covariance)] *= 2.0
            for rule, own in zip(of, parts, strict=True):
                found = rule(covariance)
                own[place, day : day + 21] = found / found.sum()
    return list(parts)


RECOVERIES: dict[str, Callable[[Array, Array, Array, Array], Array]] = {
    "0.2, 1.9 below the start": lambda own, market, peak, losses: np.where(own < -1e-12, 1.9, 0.2),
    "0.5, 1.9 below the start": lambda own, market, peak, losses: np.where(own < -1e-12, 1.9, 0.5),
    "0.7, 1.4 below the start": lambda own, market, peak, losses: np.where(own < -1e-12, 1.4, 0.7),
    "0.5, 1.9 if the market is below": lambda own, market, peak, losses: np.where(market < -1e-12, 1.9, 0.5),
    "1, 1.5 if the market is below": lambda own, market, peak, losses: np.where(market < -1e-12, 1.5, 1.0),
    "more the further below": lambda own, market, peak, losses: np.clip(0.4 - 4.0 * own, 0.2, 1.9),
    "more at a drawdown": lambda own, market, peak, losses: np.clip(0.4 - 4.0 * (own - peak), 0.2, 1.9),
    "doubling after losses": lambda own, market, peak, losses: np.minimum(0.2 * 2.0**losses, 1.9),
    "less when ahead": lambda own, market, peak, losses: np.where(own > 0.05, 0.1, 1.0),
}
"""Exposure to equal parts by log NAV, log market and peak NAV since the start of the window, and losses in a row."""


def recoveries(daily: Array) -> dict[str, Array]:
    """Return the returns of styles with an exposure that depends on past results, from those of equal parts."""
    found = {}
    for name, exposure in RECOVERIES.items():
        out = np.empty_like(daily)
        for day in range(daily.shape[1]):
            if day % YEAR == 0:
                own, market, peak, losses = np.zeros((4, len(daily)))
            out[:, day] = exposure(own, market, peak, losses) * daily[:, day]
            own, market = (a + np.log1p(np.maximum(b[:, day], -0.99)) for a, b in ((own, out), (market, daily)))
            peak, losses = np.maximum(peak, own), np.where(out[:, day] < 0.0, losses + 1.0, 0.0)
        found[name] = out
    return found


def styles(moves: Array, random: np.random.Generator, fee_bps: float = 0.0) -> dict[str, Array]:
    """Return the returns of each style after the warm-up, shape `(n_fields, n_days)`."""
    n_fields, _, n = moves.shape
    days, equal = moves[:, WARM:], np.full((1, 1, n), 1.0 / n)
    quarter, year = 1.0 / trailing_vol(moves, 60, WARM), 1.0 / trailing_vol(moves, 252, WARM)
    least, parity, diverse = monthly(moves, (minimum_variance, equal_risk, most_diverse))
    own = partial(kept, days, fee_bps=fee_bps)
    found = {
        "equal, daily": own(equal),
        "equal, weekly": own(equal, 5),
        "equal, monthly": own(equal, 21),
        "equal, in a band": own(equal, band=0.25 / n),
        "30 % equal, 70 % cash": own(0.3 * equal, 21),
        "70 % equal, 30 % cash": own(0.7 * equal, 5),
        "150 % equal": own(1.5 * equal, 5),
        "random constant parts": own(shares(random.gamma(1.0, size=(n_fields, 1, n))), 21),
        "one symbol": days[:, :, 0].copy(),
        "inverse volatility, weekly": own(shares(quarter), 5),
        "inverse volatility, monthly": own(shares(year), 21),
        "inverse volatility, fixed": own(shares(year[:, :1]), 21),
        "inverse variance": own(shares(quarter**2), 21),
        "minimum variance": own(least, 21),
        "risk parity": own(parity, 21),
        "maximum diversification": own(diverse, 21),
    }
    daily = found["equal, daily"]
    found["half held, half equal"] = 0.5 * held(days, YEAR) + 0.5 * daily
    risk = daily.std(axis=1, keepdims=True)
    seen = trailing_vol(daily[:, :, None], 40, 2)[:, :, 0]
    seen = np.concatenate([seen[:, :1], seen[:, :1], seen], axis=1)[:, : daily.shape[1]]
    found["volatility target"] = np.clip(0.7 * risk / seen, 0.0, 2.0) * daily
    nav = np.cumprod(1.0 + daily, axis=1)
    fall = nav / np.maximum.accumulate(nav, axis=1) - 1.0
    is_low = np.concatenate([np.zeros_like(risk), fall[:, :-1]], axis=1) < -0.5 * risk * np.sqrt(YEAR)
    found["stop at a drawdown"] = np.where(is_low, 0.2, 1.0) * daily
    found["double at a drawdown"] = np.where(is_low, 1.4, 0.7) * daily
    return found | recoveries(daily)


def benchmarks(moves: Array, fee_bps: float = 0.0) -> tuple[Array, Array]:
    """Return buy-and-hold and the passive portfolios of one field, from the engine.

    Shapes `(n_days,)` and `(n_portfolios, n_days)`, windows of a year after the warm-up.
    """
    close = 100.0 * np.cumprod(np.vstack([np.ones(moves.shape[1]), 1.0 + moves]), axis=0)
    dates = np.datetime_as_string(DATE_0 + np.arange(len(close))).tolist()
    market = oo.Dataset.from_arrays(dates, [f"S{i}" for i in range(moves.shape[1])], close, periods_per_year=252.0)
    own, others = [], []
    costs = CostModel(fee_bps=fee_bps, slippage_bps=0.0, financing_bps=0.0, borrow_bps=0.0)
    for start in range(WARM, len(moves), YEAR):
        settings = settings_of(market, (start, start + YEAR + 1), (costs, Limits()), 0, 20)
        own.append(np.asarray(native.run_agent(market._core, native.Baseline("buy-and-hold"), settings).returns))
        others.append(np.array(native.passive_returns(market._core, settings)))
    return np.concatenate(own), np.concatenate(others, axis=1)
