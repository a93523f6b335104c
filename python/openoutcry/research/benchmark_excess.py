"""Returns of a strategy in excess of its benchmarks, ways to hold the market."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from openoutcry.backtest.run import Run
from openoutcry.research.trial_scores import Series, excess_of


@dataclass(frozen=True)
class Benchmark:
    """Returns of a benchmark over the tests of all folds, restarted in each fold.

    Attributes:
        returns: Excess returns in sequence. Shape `(n_returns,)`, float64.
        nav: NAV. Shape `(n_returns + 1,)`, float64, starts at 1.
    """

    returns: Series
    nav: Series

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Benchmark:
        """Return the benchmark of its runs over the tests of all folds, in order."""
        raw = np.concatenate([run.returns for run in runs])
        return cls(np.concatenate([excess_of(run) for run in runs]), np.concatenate([[1.0], np.cumprod(1.0 + raw)]))

    def residual(self, excess: Series) -> Series:
        """Return excess returns minus beta times the benchmark's, which leaves no beta.

        Args:
            excess: Excess returns of the same bars. Shape `(n_returns,)`, float64.
        """
        # Exactly rounded sums, so that a replay on another processor gives the same result.
        centred = self.returns - fsum(self.returns) / len(self.returns)
        spread = fsum(centred * centred)
        beta = fsum(centred * excess) / spread if spread > 0.0 else 0.0
        left: Series = excess - beta * self.returns
        # The residual of the benchmark itself is rounding noise, which would have a Sharpe ratio.
        scale = float(np.abs(excess).max(initial=0.0))
        return np.zeros_like(left) if float(np.abs(left).max(initial=0.0)) <= 1e-9 * scale else left
