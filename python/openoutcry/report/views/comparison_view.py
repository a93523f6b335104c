"""Views of a comparison of runs on common dates, as plain records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from openoutcry.report.views.run_view import Provenance
from openoutcry.report.views.view_checks import Floats, require_nav, require_values

__all__ = ["ComparedRun", "ComparisonView", "Estimate", "PairRow"]


@dataclass(frozen=True)
class ComparedRun:
    """One run of a comparison.

    Attributes:
        name: Unique name.
        origin: Where its returns come from.
        n_returns: Its returns on all of its dates.
        n_lost: Those that are not on a common date.
        nav: NAV on the common dates, 1 at the start. Shape `(n_dates + 1,)`, float64.
        rolling: Rolling Sharpe ratio, same shape, NaN where undefined; None if no window is possible.
        metrics: Metrics over the common dates; None if undefined.
        reasons: Why a metric is undefined.
    """

    name: str
    origin: str
    n_returns: int
    n_lost: int
    nav: Floats
    rolling: Floats | None
    metrics: Mapping[str, float | None]
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class Estimate:
    """A difference with its interval.

    Attributes:
        value: The estimate; None if undefined.
        low: Lower end of its interval.
        high: Upper end.
        p_value: Two-sided p-value of the pair alone.
        adjusted: p-value adjusted for all pairs.
        reason: Why it is undefined.
    """

    value: float | None
    low: float = 0.0
    high: float = 0.0
    p_value: float = 1.0
    adjusted: float = 1.0
    reason: str = ""


@dataclass(frozen=True)
class PairRow:
    """Differences of two runs, the first less the second.

    Attributes:
        first: Index of the first run.
        second: Index of the second run.
        sharpe: Difference of the annual Sharpe ratios.
        mean: Difference of the mean returns: per year, or per bar if the bars per year are unknown.
    """

    first: int
    second: int
    sharpe: Estimate
    mean: Estimate


@dataclass(frozen=True)
class ComparisonView:
    """A comparison of runs.

    Attributes:
        runs: The runs, in the given order.
        dates: The date before the first common return, then the common dates.
        n_window: Returns of a window of the rolling Sharpe ratios.
        pairs: Every pair of runs.
        correlation: Correlation of returns, NaN if undefined. Shape `(n_runs, n_runs)`, float64.
        method: How intervals and p-values were computed, with the seed.
        mean_unit: `per year` or `per bar`.
        notices: Caveats, one sentence each.
        provenance: Origin of each run, versions and command.
    """

    runs: Sequence[ComparedRun]
    dates: Sequence[str]
    n_window: int
    pairs: Sequence[PairRow]
    correlation: npt.NDArray[np.float64]
    method: str
    mean_unit: str
    notices: Sequence[str]
    provenance: Provenance

    def __post_init__(self) -> None:
        for run in self.runs:
            require_values("nav", run.nav, (len(self.dates),))
            require_nav("nav", run.nav)
            if run.rolling is not None:
                require_values("rolling", run.rolling, (len(self.dates),), gaps=True)
        require_values("correlation", self.correlation, (len(self.runs), len(self.runs)), gaps=True)
