"""Causality check: detect look-ahead in a strategy.

A decision at the close of bar t must not depend on any later bar. The check cuts the market after t and compares row t
of the weight table bit for bit. Shifting prices by some bars, a common alternative, misses the usual leaks: a shift by
-1, the mean of all bars, a centred average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openoutcry.arguments import checked_integer, seed_of
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.research.code_loader import CodeStrategy
from openoutcry.untrusted.counted_nouns import counted


@dataclass(frozen=True)
class ProbeResult:
    """Result of a causality probe.

    Attributes:
        n_cuts: Number of cuts.
        n_changed: Cuts that changed the decision on their last bar.
        first: First bar with a changed decision; None without one.
        bars: Bars after which the market was cut, in order.
    """

    n_cuts: int
    n_changed: int
    first: int | None
    bars: tuple[int, ...]

    @property
    def is_clean(self) -> bool:
        """Whether no decision changed."""
        return self.n_changed == 0


def causality_probe(strategy: Strategy, dataset: Dataset, n_cuts: int = 25, seed: int = 0) -> ProbeResult:
    """Cut a market after random bars, and compare the decisions at these bars.

    They must equal those on the complete market, bit for bit. A sandboxed strategy never sees later bars; for it, the
    probe detects decisions that depend on more than their window: on earlier calls, or on randomness.

    Args:
        strategy: The strategy.
        dataset: The market.
        n_cuts: Number of cuts; fewer if the market has fewer bars after the warm-up.
        seed: Seed of the cut bars.

    Raises:
        OpenOutcryError: `argument_invalid`: no bar after the warm-up has a successor.
    """
    n_cuts = checked_integer("n_cuts", n_cuts, 1, 10**6)
    least = max(strategy.lookback - 1, 1)
    bars = np.arange(least, dataset.n_bars - 1)
    if len(bars) == 0:
        wanted = f"a market must have more than the {counted(strategy.lookback, 'bar')} that a decision needs"
        raise refusal("argument_invalid", f"{wanted}; received {dataset.n_bars}")
    rng = np.random.default_rng(seed_of(seed))
    cuts = np.sort(rng.choice(bars, min(n_cuts, len(bars)), replace=False)).tolist()
    expected = strategy.table(dataset)
    # Shuffled, so that a dependence on earlier calls shows.
    order = [cuts[place] for place in rng.permutation(len(cuts))]
    rows = dict(zip(order, _rows(strategy, [(dataset.head(bar + 1), bar) for bar in order]), strict=True))
    changed = [bar for bar in cuts if _bits(rows[bar]) != _bits(expected[bar])]
    return ProbeResult(len(cuts), len(changed), changed[0] if changed else None, tuple(cuts))


def _rows(strategy: Strategy, cuts: list[tuple[Dataset, int]]) -> list[Array]:
    if isinstance(strategy, CodeStrategy):
        return strategy.last_rows(cuts)
    return [strategy.table(dataset, bar, bar + 1)[bar] for dataset, bar in cuts]


def _bits(row: Array) -> bytes:
    # NaN has many bit patterns; use one.
    return np.where(np.isnan(row), np.nan, row).tobytes()
