"""Markets of which nobody can gain, as drawn or with something that costs nobody anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.dataset import Dataset
from openoutcry.scenario import Scenario, ScenarioSpec

Table = npt.NDArray[np.float64]

KINDS = ("drawn", "closes", "actions")
WARM_UP = 250
"""Bars before the first decision: the longest that a rule looks back."""
N_SYMBOLS = 4
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

    `closes` has no opens, so that orders fill at the close they were decided on. `actions` has halts, splits, dividends
    that the price falls by, and symbols that are settled at their last close: none of them is a gain.
    """
    tick = TICKS[seed % len(TICKS)]
    spec = ScenarioSpec("martingale", n_symbols=N_SYMBOLS, n_days=WARM_UP + n_bars + 1, tick=tick)
    drawn = Scenario(spec, seed, split=split).dataset()
    closes, opens = drawn.close, drawn.open
    assert opens is not None, "a martingale is drawn with opens"
    if kind == "drawn":
        return Market(drawn, closes, opens)
    columns = {"volume": drawn.volume, "periods_per_year": drawn.periods_per_year, "name": f"{drawn.name}-{kind}"}
    if kind == "closes":
        return Market(Dataset.from_arrays(drawn.dates, drawn.symbols, closes, **columns), closes, opens)
    rng = np.random.default_rng([seed, 0x61637473])
    acts = _actions(rng, closes.shape)
    basis, paid = np.cumprod(acts["splits"], axis=0), np.cumsum(acts["dividends"], axis=0)
    # A dividend is cash per share before the split of its bar.
    acts["dividends"] = acts["dividends"] * acts["splits"] / basis
    shown, begun = (closes - paid) / basis, (opens - paid) / basis
    settled = np.cumsum(np.isfinite(acts["delistings"]), axis=0) > 0
    dataset = Dataset.from_arrays(
        drawn.dates,
        drawn.symbols,
        np.where(settled, np.nan, shown),
        np.where(settled, np.nan, begun),
        tradable=rng.random(closes.shape) > 0.03,
        **acts,
        **columns,
    )
    return Market(dataset, closes, begun)


def _actions(rng: np.random.Generator, shape: tuple[int, int]) -> dict[str, Table]:
    """Return dividends of drawn prices, splits, and settlements of all but the first symbol."""
    dividends = np.where(rng.random(shape) < 0.01, 0.05, 0.0)
    # The cheapest price of all is 0.5: what is paid out in all must be less.
    dividends[np.cumsum(dividends, axis=0) > 0.4] = 0.0
    splits = np.where(rng.random(shape) < 0.004, rng.choice([0.5, 2.0, 3.0], shape), 1.0)
    dividends[0], splits[0] = 0.0, 1.0
    delistings = np.full(shape, np.nan)
    for symbol in range(1, shape[1]):
        bar = int(rng.integers(WARM_UP, 2 * shape[0] - WARM_UP))
        if bar < shape[0]:
            delistings[bar, symbol], dividends[bar, symbol] = 0.0, 0.0
    return {"dividends": dividends, "splits": splits, "delistings": delistings}
