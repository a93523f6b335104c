"""What a report is given beyond a run, computed with numpy alone, and an agent that says why and how sure it is.

Nothing here is the scorer: these are the arrays that a page draws, worked out as plainly as they can be.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil, e, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import openoutcry as oo
from openoutcry.picture import view_of
from openoutcry.report.evidence import Bin, Calibration, Rolling, Skill
from openoutcry.report.view import RunView
from openoutcry.trace import trace_of

Array = NDArray[np.float64]
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
NORMAL = NormalDist()


class Outspoken:
    """Holds what has risen over its lookback, says how sure it is, and why; keeps the texts of its decisions."""

    def __init__(self, every: int = 1, stated: bool = True) -> None:
        self.every, self.stated = every, stated
        self.texts: list[str] = []

    def __call__(self, observation: dict[str, Any]) -> str:
        """Return a decision: every `every` bars, one order per symbol."""
        orders = [] if len(self.texts) % self.every else [self.order(view) for view in observation["symbols"]]
        words = f"{sum(order['action'] == 'buy' for order in orders)} of {len(orders)} rose." if orders else ""
        self.texts.append(json.dumps({"orders": orders, "reasoning": words}))
        return self.texts[-1]

    def order(self, view: dict[str, Any]) -> dict[str, Any]:
        """Return the order of one symbol."""
        closes = view["close_history"]
        rise = closes[-1] / closes[0] - 1.0
        order = {"symbol": view["symbol"], "action": "buy", "target_weight": 0.11 if rise > 0.0 else -0.05}
        order["action"] = "buy" if rise > 0.0 else "sell"
        order["rationale"] = f"{100.0 * rise:+.1f}% over {len(closes)} bars"
        if self.stated:
            order["confidence"] = round(min(0.5 + 5.0 * abs(rise), 0.95), 2)
        return order


def fan_of(run: oo.Run, n_agents: int = 200, seed: int = 0) -> dict[float, Array]:
    """Return quantiles of the NAV of portfolios drawn anew each bar, on the window of a run."""
    rng = np.random.default_rng(seed)
    start = run.dataset.dates.index(run.dates[0])
    close = run.dataset.close[start : start + len(run.dates)]
    returns = np.nan_to_num(close[1:] / close[:-1] - 1.0)
    weights = rng.normal(0.0, 0.12, (n_agents, len(returns), close.shape[1]))
    nav = np.cumprod(1.0 + np.einsum("abs,bs->ab", weights, returns), axis=1)
    drawn = np.quantile(np.concatenate([np.ones((n_agents, 1)), nav], axis=1), LEVELS, axis=0)
    return {level: np.ascontiguousarray(row) for level, row in zip(LEVELS, drawn, strict=True)}


def rolling_of(returns: Array, periods: float, n: int = 252) -> Rolling:
    """Return the Sharpe ratio of the last `n` returns at each bar, with the error of a normal."""
    sharpe, error = np.full(len(returns) + 1, np.nan), np.full(len(returns) + 1, np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(returns, n)
    deviation = windows.std(axis=1, ddof=1)
    per_bar = np.divide(windows.mean(axis=1), deviation, out=np.full(len(windows), np.nan), where=deviation > 1e-8)
    sharpe[n:] = per_bar * sqrt(periods)
    error[n:] = np.sqrt(periods * (1.0 + per_bar**2 / 2.0) / (n - 1))
    return Rolling(n, sharpe, error)


def skill_of(returns: Array, n_trials: int = 46) -> Skill:
    """Return PSR, DSR and MinTRL after Bailey and Lopez de Prado, at the least sigma."""
    n = len(returns)
    centred = returns - returns.mean()
    sharpe, variance = returns.mean() / returns.std(ddof=1), np.mean(centred**2)
    skew, kurtosis = np.mean(centred**3) / variance**1.5, np.mean(centred**4) / variance**2
    spread = sqrt(1.0 - skew * sharpe + (kurtosis - 1.0) / 4.0 * sharpe**2)
    sigma, gamma = 1.0 / sqrt(n - 1), 0.5772156649015329
    luck = sigma * ((1 - gamma) * NORMAL.inv_cdf(1 - 1 / n_trials) + gamma * NORMAL.inv_cdf(1 - 1 / (n_trials * e)))
    values = {
        "dsr": NORMAL.cdf((sharpe - luck) * sqrt(n - 1) / spread),
        "psr": NORMAL.cdf(sharpe * sqrt(n - 1) / spread),
        "sharpe_bar": sharpe,
        "sr0": luck,
        "sigma_sr": sigma,
        "n_trials": float(n_trials),
        "n_eff": 12.0,
        "n_returns": float(n),
        "skew": skew,
        "kurtosis": kurtosis,
        "min_trl": float(ceil(1 + (spread * NORMAL.inv_cdf(0.95) / sharpe) ** 2)) if sharpe > 0.0 else None,
    }
    reasons = {"min_trl": "the Sharpe ratio is not above zero: no track is long enough"}
    power = f"A track of {n:,} returns shows a true annual Sharpe ratio of {2.8 * sqrt(252 / n):.2f} with 80% power."
    return Skill({name: value if value is None else float(value) for name, value in values.items()}, reasons, power)


def calibration_of(run: oo.Run, texts: list[str], n_bins: int = 10) -> Calibration:
    """Return stated confidence against `w (close / fill - 1) > 0` at the close of the bar of the fill."""
    columns_of_fills = (run.trades[name].tolist() for name in ("bar", "symbol", "price"))
    prices = {(bar, symbol): price for bar, symbol, price in zip(*columns_of_fills, strict=True)}
    start, columns = run.dataset.dates.index(run.dates[0]), {s: i for i, s in enumerate(run.dataset.symbols)}
    stated, came, n_orders = [], [], 0
    for place, text in enumerate(texts):
        for order in json.loads(text)["orders"]:
            bar = start + place + 1
            price = prices.get((bar, order["symbol"]))
            if price is None:
                continue
            n_orders += 1
            if "confidence" in order:
                stated.append(order["confidence"])
                move = run.dataset.close[bar, columns[order["symbol"]]] / price - 1.0
                came.append(order["target_weight"] * move > 0.0)
    confidence, outcome = np.array(stated), np.array(came, dtype=float)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    places = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    bins = [bin_of(edges[i], edges[i + 1], confidence[places == i], outcome[places == i]) for i in range(n_bins)]
    brier = float(np.mean((confidence - outcome) ** 2)) if stated else None
    base = float(outcome.mean() * (1.0 - outcome.mean())) if stated else None
    return Calibration(bins, brier, len(stated), n_orders, base)


def bin_of(low: float, high: float, stated: Array, came: Array) -> Bin:
    """Return a bin with Wilson's interval of the share that came true."""
    n = len(stated)
    if not n:
        return Bin(float(low), float(high), None, None, 0)
    share, z = float(came.mean()), 1.96
    middle, half = share + z * z / (2 * n), z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    interval = (max((middle - half) / (1 + z * z / n), 0.0), min((middle + half) / (1 + z * z / n), 1.0))
    return Bin(float(low), float(high), float(stated.mean()), share, n, interval)


def full_view(run: oo.Run, texts: list[str]) -> RunView:
    """Return the view of a run with everything that a page can be given."""
    rolling = rolling_of(run.returns, run.dataset.periods_per_year) if len(run.returns) >= 252 else None
    return replace(
        view_of(run),
        fan=fan_of(run),
        fan_label="200 agents without skill",
        rolling=rolling,
        skill=skill_of(run.returns),
        calibration=calibration_of(run, texts),
        trace=trace_of(run, texts),
    )
