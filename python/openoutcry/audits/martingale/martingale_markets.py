"""Martingale markets: random prices, optionally with corporate actions.

Corporate actions leave total returns unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

Table = npt.NDArray[np.float64]

KINDS = ("drawn", "wide", "closes", "actions")
WARM_UP = 250
"""Bars before the first decision: the longest lookback of a rule."""
N_SYMBOLS, N_WIDE = 4, 12
"""The engine steps accounts of at most eight symbols in blocks, and wider ones singly; both paths are tested."""
TICKS = (0.01, 0.25)
"""Tick sizes that alternate between markets; at the coarse one, a price of 50 moves two to six ticks a day."""


@dataclass(frozen=True)
class Market:
    """A martingale market and the prices that it was drawn from.

    Attributes:
        dataset: The dataset that accounts trade.
        closes: Drawn closes, shape `(n_bars, n_symbols)`, float64; the input of the rule bots.
        opens: Opens on the share basis of the dataset, same shape, also where the dataset has no opens. They separate
            the overnight from the intraday move.
    """

    dataset: Dataset
    closes: Table
    opens: Table


def market_of(seed: int, *, split: str, n_bars: int, kind: str = "drawn") -> Market:
    """Return the market of a seed, with `n_bars` bars to trade after the warm-up.

    Kind `wide` has more symbols. `closes` has no opens, so orders fill at the close of the decision bar. `actions` has
    halts, splits, dividends that the price falls by, and delistings settled at the last close; none changes the
    expected profit.
    """
    tick = TICKS[seed % len(TICKS)]
    n_symbols = N_WIDE if kind == "wide" else N_SYMBOLS
    spec = ScenarioSpec("martingale", n_symbols=n_symbols, n_days=WARM_UP + n_bars + 1, tick=tick)
    drawn = Scenario(spec, seed, split=split).dataset()
    closes, opens = drawn.close, drawn.open
    assert opens is not None, "a martingale scenario has opens"
    if kind in ("drawn", "wide"):
        return Market(drawn, closes, opens)
    name, bars = f"{drawn.name}-{kind}", drawn.periods_per_year
    if kind == "closes":
        shown = Dataset.from_arrays(
            drawn.dates, drawn.symbols, closes, volume=drawn.volume, periods_per_year=bars, name=name
        )
        return Market(shown, closes, opens)
    rng = np.random.default_rng([seed, 0x61637473])
    dividends, splits, delistings = _actions(rng, len(closes), drawn.n_symbols)
    basis, paid = np.cumprod(splits, axis=0), np.cumsum(dividends, axis=0)
    ends, begins = (closes - paid) / basis, (opens - paid) / basis
    settled = np.cumsum(np.isfinite(delistings), axis=0) > 0
    dataset = Dataset.from_arrays(
        drawn.dates,
        drawn.symbols,
        np.where(settled, np.nan, ends),
        np.where(settled, np.nan, begins),
        volume=drawn.volume,
        # A dividend is cash per share before the split of its bar.
        dividends=dividends * splits / basis,
        splits=splits,
        tradable=rng.random(closes.shape) > 0.03,
        delistings=delistings,
        periods_per_year=bars,
        name=name,
    )
    return Market(dataset, closes, begins)


def _actions(rng: np.random.Generator, n_bars: int, n_symbols: int) -> tuple[Table, Table, Table]:
    """Draw dividends, splits and delistings; the first symbol is never delisted."""
    shape = (n_bars, n_symbols)
    dividends = np.where(rng.random(shape) < 0.01, 0.05, 0.0)
    # The lowest possible price is 0.5, and total dividends must stay below it.
    dividends[np.cumsum(dividends, axis=0) > 0.4] = 0.0
    splits = np.where(rng.random(shape) < 0.004, rng.choice([0.5, 2.0, 3.0], shape), 1.0)
    dividends[0], splits[0] = 0.0, 1.0
    delistings = np.full(shape, np.nan)
    for symbol in range(1, n_symbols):
        bar = int(rng.integers(WARM_UP, 2 * n_bars - WARM_UP))
        if bar < n_bars:
            delistings[bar, symbol], dividends[bar, symbol] = 0.0, 0.0
    return dividends, splits, delistings
