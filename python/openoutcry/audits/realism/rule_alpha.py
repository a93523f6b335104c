"""What rules earn beyond the market they trade in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.audits.realism.trading_rules import RULES, Rule, days_of, index_of
from openoutcry.backtest.run import Run
from openoutcry.backtest.sweep import run_sweep
from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel

Series = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Alphas:
    """Annual Sharpe ratios of what each rule earned beyond beta on one market.

    Attributes:
        net: After costs, shape `(n_rules,)`; NaN where a rule never traded or its alpha does not vary.
        gross: Before costs, as `net`.
    """

    net: Series
    gross: Series


def alphas_of(
    dataset: Dataset, rules: Sequence[Rule] = RULES, costs: CostModel | None = None, jobs: int | None = None
) -> Alphas:
    """Run rules on a market and return the Sharpe ratios of their alphas.

    Alpha is the return of a rule less beta times that of buy-and-hold, beta being the slope over all bars.
    """
    closes, days = index_of(dataset), days_of(dataset)
    tables = [held_equally(closes), *(rule(closes, days) for rule in rules)]
    sweep = run_sweep(dataset, tables, window=(0, dataset.n_bars), costs=costs, jobs=jobs, progress=False)
    market, *runs = sweep.runs
    benchmark = before_costs(market)
    bars = dataset.periods_per_year
    net = [alpha_sharpe(run.returns, benchmark, bars) for run in runs]
    gross = [alpha_sharpe(before_costs(run), benchmark, bars) for run in runs]
    return Alphas(np.array(net), np.array(gross))


def held_equally(closes: Series) -> Series:
    """Return the weights of buy-and-hold.

    Equal amounts of what is listed, bought at the start and whenever a symbol is listed or settled, held else.
    """
    listed = np.isfinite(closes)
    changed = np.ones(len(closes), dtype=bool)
    changed[1:] = (listed[1:] != listed[:-1]).any(axis=1)
    weights = listed / np.maximum(listed.sum(axis=1, keepdims=True), 1)
    return np.where(changed[:, None], weights, np.nan)


def before_costs(run: Run) -> Series:
    """Return the returns of a run with what trading cost added back."""
    paid: Series = np.sum(list(run.costs.values()), axis=0)
    return run.returns + paid / run.nav[:-1]


def alpha_sharpe(returns: Series, benchmark: Series, bars: float) -> float:
    """Return the annual Sharpe ratio of returns less beta times the benchmark's.

    NaN where the rest does not vary.
    """
    centred = benchmark - benchmark.mean()
    spread = float(centred @ centred)
    beta = float(centred @ returns) / spread if spread > 0.0 else 0.0
    rest = returns - beta * benchmark
    deviation = float(rest.std(ddof=1))
    return float(rest.mean() / deviation * np.sqrt(bars)) if deviation > 1e-12 else float("nan")


def martingale(like: Dataset, volatility: float, correlation: float, seed: int) -> Dataset:
    """Return a driftless market: i.i.d. Gaussian returns with one common factor.

    Args:
        like: Its dates, number of symbols and bars a year are taken.
        volatility: Annual volatility of each symbol.
        correlation: Correlation of each pair, 0 to 1.
        seed: The market's.
    """
    rng = np.random.default_rng([seed, 0x6D61])
    shape = (like.n_bars - 1, like.n_symbols)
    common = np.sqrt(correlation) * rng.standard_normal((shape[0], 1))
    shocks = common + np.sqrt(1.0 - correlation) * rng.standard_normal(shape)
    growth = 1.0 + np.clip(volatility / np.sqrt(like.periods_per_year) * shocks, -0.9, 0.9)
    close = 100.0 * np.vstack([np.ones((1, shape[1])), np.cumprod(growth, axis=0)])
    opens = None if not like.has_opens else np.vstack([close[:1], close[:-1]])
    name = f"martingale-{seed}"
    return Dataset.from_arrays(
        like.dates, like.symbols, close, opens, periods_per_year=like.periods_per_year, name=name
    )
