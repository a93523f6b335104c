"""View of the analysis of a run: tables by name, and the series of its charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openoutcry.report.views.table_view import Table
from openoutcry.report.views.view_checks import Floats

__all__ = ["Analysis", "BandsView"]


@dataclass(frozen=True)
class BandsView:
    """Quantiles of resampled paths of NAV.

    Attributes:
        dates: Dates of the quantiles, some bars of the run.
        nav: Quantile level to NAV, shape `(n_dates,)`, float64.
        sentence: Method, seed and main numbers, for the caption.
    """

    dates: Sequence[str]
    nav: Mapping[float, Floats]
    sentence: str


@dataclass(frozen=True)
class Analysis:
    """Tables and series beyond the metrics of a run.

    Attributes:
        tables: Table by name, in the order of their files.
        notes: Section of the page to sentences on its method, or on why it is missing.
        alpha: Annual alpha and its HAC standard error; None if undefined.
        n_window: Returns of the rolling series; None if there are none.
        rolling_beta: Shape `(n_bars,)`, float64; NaN where undefined. None for no benchmark.
        rolling_volatility: Annual, same shape; None if undefined.
        rolling_sortino: Annual, same shape; None if undefined.
        groups: Group of symbols to net weight at each close, shape `(n_bars,)`, float64.
        years: Year to returns of the run and of the benchmark; None without one.
        months: Compounded return of each month, in order.
        bands: Monte Carlo bands; None if undefined.
    """

    tables: Mapping[str, Table]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    alpha: tuple[float, float] | None = None
    n_window: int | None = None
    rolling_beta: Floats | None = None
    rolling_volatility: Floats | None = None
    rolling_sortino: Floats | None = None
    groups: Mapping[str, Floats] = field(default_factory=dict)
    years: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)
    months: Sequence[float] = ()
    bands: BandsView | None = None
