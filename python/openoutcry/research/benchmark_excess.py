"""What a strategy earned beyond holding the market that it traded in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from openoutcry.backtest.run import Run
from openoutcry.research.trial_scores import Series, excess_of


@dataclass(frozen=True)
class Holding:
    """A way to hold the market over the tests of all folds, begun anew in each.

    Attributes:
        returns: Excess returns one after another, shape `(n_returns,)`.
        nav: NAV, shape `(n_returns + 1,)`, 1 at first.
    """

    returns: Series
    nav: Series

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Holding:
        """Return the holding that runs of the tests of all folds are, in order."""
        raw = np.concatenate([run.returns for run in runs])
        return cls(np.concatenate([excess_of(run) for run in runs]), np.concatenate([[1.0], np.cumprod(1.0 + raw)]))

    def taken_from(self, excess: Series) -> Series:
        """Return excess returns less beta times these, so that what is left has no beta.

        Args:
            excess: Excess returns of the same bars, shape `(n_returns,)`.
        """
        # Sums that round once: a replay on another processor must come out the same.
        centred = self.returns - fsum(self.returns) / len(self.returns)
        spread = fsum(centred * centred)
        beta = fsum(centred * excess) / spread if spread > 0.0 else 0.0
        left: Series = excess - beta * self.returns
        # Of what was holding itself, rounding is left, which has a ratio of its own.
        scale = float(np.abs(excess).max(initial=0.0))
        return np.zeros_like(left) if float(np.abs(left).max(initial=0.0)) <= 1e-9 * scale else left
