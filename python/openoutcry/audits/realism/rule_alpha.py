"""Alpha of trading rules over buy-and-hold, and a driftless market as reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.audits.realism.trading_rules import RULES, Rule, total_return_index, trading_days
from openoutcry.backtest.run import Run
from openoutcry.backtest.sweep import run_sweep
from openoutcry.data.columns import known_periods
from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel

Series = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Alphas:
    """Annual Sharpe ratios of the alpha of each rule on one market.

    Attributes:
        net: After costs, shape `(n_rules,)`, float64; NaN where a rule never traded or its alpha is constant.
        gross: Before costs, same shape.
    """

    net: Series
    gross: Series


def alphas_of(
    dataset: Dataset, rules: Sequence[Rule] = RULES, costs: CostModel | None = None, jobs: int | None = None
) -> Alphas:
    """Backtest rules on a market and return the Sharpe ratios of their alphas.

    Alpha is the return of a rule less beta times the return of buy-and-hold; beta is the regression slope over all
    bars.
    """
    closes, days = total_return_index(dataset), trading_days(dataset)
    bars = known_periods(dataset, "alpha")
    tables = [buy_and_hold_weights(closes), *(rule(closes, days, bars) for rule in rules)]
    sweep = run_sweep(dataset, tables, window=(0, dataset.n_bars), costs=costs, jobs=jobs, progress=False)
    market, *runs = sweep.runs
    benchmark = returns_before_costs(market)
    net = [alpha_sharpe(run.returns, benchmark, bars) for run in runs]
    gross = [alpha_sharpe(returns_before_costs(run), benchmark, bars) for run in runs]
    return Alphas(np.array(net), np.array(gross))


def buy_and_hold_weights(closes: Series) -> Series:
    """Return the weights of buy-and-hold with equal amounts of the listed symbols.

    The account rebalances at the start and whenever a symbol is listed or delisted. NaN rows keep the position.
    """
    listed = np.isfinite(closes)
    changed = np.ones(len(closes), dtype=bool)
    changed[1:] = (listed[1:] != listed[:-1]).any(axis=1)
    weights = listed / np.maximum(listed.sum(axis=1, keepdims=True), 1)
    return np.where(changed[:, None], weights, np.nan)


def returns_before_costs(run: Run) -> Series:
    """Return the returns of a run with the costs added back."""
    paid: Series = np.sum(list(run.costs.values()), axis=0)
    return run.returns + paid / run.nav[:-1]


def alpha_sharpe(returns: Series, benchmark: Series, bars: float) -> float:
    """Return the annual Sharpe ratio of the residual of returns on a benchmark.

    Returns NaN if the residual is constant.
    """
    centred = benchmark - benchmark.mean()
    spread = float(centred @ centred)
    beta = float(centred @ returns) / spread if spread > 0.0 else 0.0
    rest = returns - beta * benchmark
    deviation = float(rest.std(ddof=1))
    return float(rest.mean() / deviation * np.sqrt(bars)) if deviation > 1e-12 else float("nan")


def martingale(like: Dataset, volatility: float, correlation: float, seed: int) -> Dataset:
    """Draw a driftless market of i.i.d. Gaussian returns with one common factor.

    Args:
        like: Dataset that supplies dates, symbols and bars per year.
        volatility: Annual volatility of each symbol, a fraction.
        correlation: Correlation of each pair, 0 to 1.
        seed: Seed of the market.
    """
    rng = np.random.default_rng([seed, 0x6D61])
    shape = (like.n_bars - 1, like.n_symbols)
    common = np.sqrt(correlation) * rng.standard_normal((shape[0], 1))
    shocks = common + np.sqrt(1.0 - correlation) * rng.standard_normal(shape)
    growth = 1.0 + np.clip(volatility / np.sqrt(known_periods(like, "annual volatility")) * shocks, -0.9, 0.9)
    close = 100.0 * np.vstack([np.ones((1, shape[1])), np.cumprod(growth, axis=0)])
    opens = None if not like.has_opens else np.vstack([close[:1], close[:-1]])
    name = f"martingale-{seed}"
    return Dataset.from_arrays(
        like.dates, like.symbols, close, opens, periods_per_year=like.periods_per_year, name=name
    )
