"""Markets of which nobody can gain: as drawn, or with actions that are no gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

Table = npt.NDArray[np.float64]

KINDS = ("drawn", "wide", "closes", "actions")
WARM_UP = 250
"""Bars before the first decision: the longest that a rule looks back."""
N_SYMBOLS, N_WIDE = 4, 12
"""Of up to eight the engine steps several accounts at a time."""
TICKS = (0.01, 0.25)
"""Of markets by turns; a price of 50 at the coarse one moves by two to six of them a day."""


@dataclass(frozen=True)
class Market:
    """A market, and what it was made of.

    Attributes:
        dataset: What is traded.
        closes: As drawn, shape `(n_bars, n_symbols)`: what rules decide on.
        opens: Of the dataset's share basis, also where the dataset has none: a bar's two halves part there.
    """

    dataset: Dataset
    closes: Table
    opens: Table


def market_of(seed: int, *, split: str, n_bars: int, kind: str = "drawn") -> Market:
    """Return the market of a seed: `n_bars` to trade after the warm-up.

    `wide` has more symbols. `closes` has no opens, so that orders fill at the close they were decided on. `actions` has
    halts, splits, dividends that the price falls by, and symbols that are settled at their last close: none of them is
    a gain.
    """
    tick = TICKS[seed % len(TICKS)]
    n_symbols = N_WIDE if kind == "wide" else N_SYMBOLS
    spec = ScenarioSpec("martingale", n_symbols=n_symbols, n_days=WARM_UP + n_bars + 1, tick=tick)
    drawn = Scenario(spec, seed, split=split).dataset()
    closes, opens = drawn.close, drawn.open
    assert opens is not None, "a martingale is drawn with opens"
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
    """Return dividends of drawn prices, splits, and settlements but of the first."""
    shape = (n_bars, n_symbols)
    dividends = np.where(rng.random(shape) < 0.01, 0.05, 0.0)
    # The cheapest price of all is 0.5: what is paid out in all must be less.
    dividends[np.cumsum(dividends, axis=0) > 0.4] = 0.0
    splits = np.where(rng.random(shape) < 0.004, rng.choice([0.5, 2.0, 3.0], shape), 1.0)
    dividends[0], splits[0] = 0.0, 1.0
    delistings = np.full(shape, np.nan)
    for symbol in range(1, n_symbols):
        bar = int(rng.integers(WARM_UP, 2 * n_bars - WARM_UP))
        if bar < n_bars:
            delistings[bar, symbol], dividends[bar, symbol] = 0.0, 0.0
    return dividends, splits, delistings
