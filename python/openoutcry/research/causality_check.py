"""Whether a strategy knows what comes later.

What is decided at the close of bar t may depend on nothing after it. So the market is cut after t, and row t of the
table must be the same to the bit. Shifting prices by some bars, as is often done instead, finds none of the usual
leaks: a shift by -1, the mean of all bars, a centred average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openoutcry.arguments import seed_of, whole
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.research.code_loader import CodeStrategy


@dataclass(frozen=True)
class Probe:
    """What became of the cuts.

    Attributes:
        n_cuts: Cuts that were made.
        n_changed: Cuts after which the decision on their last bar was another one.
        first: Bar of the first of those; None where there is none.
        bars: Bars that the market was cut after, in order.
    """

    n_cuts: int
    n_changed: int
    first: int | None
    bars: tuple[int, ...]

    @property
    def is_clean(self) -> bool:
        """Whether no decision changed."""
        return self.n_changed == 0


def causality_probe(strategy: Strategy, dataset: Dataset, n_cuts: int = 25, seed: int = 0) -> Probe:
    """Cut a market after random bars, and compare the decisions there.

    They must be those on the whole market, to the bit. Of a strategy that is asked in a worker, which has never seen
    more, it shows whether its decisions depend on anything but their window: on those before them, or on chance.

    Args:
        strategy: What decides.
        dataset: The market.
        n_cuts: Cuts; fewer where there are not so many bars past the warm-up.
        seed: Seed of the bars that are cut after.

    Raises:
        OpenOutcryError: `argument_invalid`: no bar past the warm-up has one after it.
    """
    n_cuts = whole("n_cuts", n_cuts, 1, 10**6)
    least = max(strategy.lookback - 1, 1)
    bars = np.arange(least, dataset.n_bars - 1)
    if len(bars) == 0:
        wanted = f"a market must have more than the {strategy.lookback} bars that a decision needs"
        raise refusal("argument_invalid", f"{wanted}; received {dataset.n_bars}")
    rng = np.random.default_rng(seed_of(seed))
    cuts = np.sort(rng.choice(bars, min(n_cuts, len(bars)), replace=False)).tolist()
    expected = strategy.table(dataset)
    # Not in order, so that what depends on the decisions before shows.
    order = [cuts[place] for place in rng.permutation(len(cuts))]
    rows = dict(zip(order, _rows(strategy, [(dataset.head(bar + 1), bar) for bar in order]), strict=True))
    changed = [bar for bar in cuts if _bits(rows[bar]) != _bits(expected[bar])]
    return Probe(len(cuts), len(changed), changed[0] if changed else None, tuple(cuts))


def _rows(strategy: Strategy, cuts: list[tuple[Dataset, int]]) -> list[Array]:
    if isinstance(strategy, CodeStrategy):
        return strategy.last_rows(cuts)
    return [strategy.table(dataset, bar, bar + 1)[bar] for dataset, bar in cuts]


def _bits(row: Array) -> bytes:
    # One of the many that are no number.
    return np.where(np.isnan(row), np.nan, row).tobytes()
