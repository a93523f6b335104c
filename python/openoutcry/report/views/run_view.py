"""Views of runs and boards: plain records without engine types.

Every metric arrives computed. The report derives only chart data, such as returns by calendar month and cost sums.
Drawdown and exposure come from the native scorer, so charts cannot disagree with metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from openoutcry import openoutcry_py as native
from openoutcry.report.views.analysis_view import Analysis
from openoutcry.report.views.orders_view import OrdersView
from openoutcry.report.views.statistics_view import Calibration, Rolling, Skill
from openoutcry.report.views.trace_view import Trace
from openoutcry.report.views.view_checks import Floats, require_nav, require_values

__all__ = ["BoardRow", "BoardSection", "BoardWindow", "Floats", "Provenance", "RunView"]


@dataclass(frozen=True)
class RunView:
    """One run, as the report shows it.

    Attributes:
        name: The agent.
        dataset: The dataset and its universe, as shown to the reader.
        window: First and last bar, as shown to the reader.
        dates: ISO 8601 date or time per bar, rising.
        nav: Shape `(n_bars,)`, float64, multiple of the starting NAV; `nav[0] == 1.0`. Not negative.
        symbols: Names of the columns of `weights`.
        weights: Shape `(n_bars, n_symbols)`, float64, signed fraction of NAV held at each close.
        costs: Kind to shape `(n_bars - 1,)`, float64, fraction of the starting NAV per step; negative is a gain.
        delayed_nav: Like `nav`, for the same decisions executed one bar later; `None` if not computed.
        metrics: Name to value; `None` or NaN is undefined. `metric_labels.METRICS` has the known names and units.
        reasons: Metric to why it is undefined.
        periods_per_year: Bars per year of the dataset; None if unknown.
        caveats: Metric to why its value is not informative; a Sharpe ratio with a caveat is not ranked.
        events: Event slug to counts by reason; the reason is empty if the event has none.
        ending: Early end of the account, such as `ruined on 2020-03-16`; empty for none.
        gains: Like `costs`, for income other than price changes.
        gross: Shape `(n_bars,)`, float64, sum of abs(weight) at each close.
        net: Shape `(n_bars,)`, float64, sum of signed weights at each close.
        fan: Quantile level, such as 0.05, to the NAV quantile of the null agents at each bar, shape `(n_bars,)`,
            float64. Empty for none.
        n_fan: Number of bars at which `fan` has values, as `null_fan.fan_places` chooses them; 0 for all.
        fan_label: Description of the null agents, such as `200 random agents`.
        rolling: Rolling Sharpe ratio.
        skill: Skill statistics.
        calibration: Stated confidence against outcomes.
        trace: The run bar by bar, for the inspector.
        analysis: Tables and series beyond the metrics, such as alpha, trades and drawdowns.
        orders: Day orders on the bars of a symbol; None without day orders.
    """

    name: str
    dataset: str
    window: str
    dates: Sequence[str]
    nav: Floats
    symbols: Sequence[str]
    weights: Floats
    costs: Mapping[str, Floats]
    delayed_nav: Floats | None
    metrics: Mapping[str, float | None]
    reasons: Mapping[str, str]
    periods_per_year: float | None
    caveats: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ending: str = ""
    gains: Mapping[str, Floats] = field(default_factory=dict)
    gross: Floats | None = None
    net: Floats | None = None
    fan: Mapping[float, Floats] = field(default_factory=dict)
    n_fan: int = 0
    fan_label: str = "random agents"
    rolling: Rolling | None = None
    skill: Skill | None = None
    calibration: Calibration | None = None
    trace: Trace | None = None
    analysis: Analysis | None = None
    orders: OrdersView | None = None

    def __post_init__(self) -> None:
        n_bars = len(self.dates)
        if n_bars < 2:
            raise ValueError(f"`dates` must hold at least 2 bars; received {n_bars}")
        # The dates of a market rise.
        for before, after in () if isinstance(self.dates, native.Dates) else pairwise(self.dates):
            if after <= before:
                raise ValueError(f"`dates` must rise; received {after} after {before}")
        require_values("nav", self.nav, (n_bars,))
        require_values("weights", self.weights, (n_bars, len(self.symbols)))
        for name, flows in (("costs", self.costs), ("gains", self.gains)):
            for kind, amounts in flows.items():
                require_values(f"{name}[{kind!r}]", amounts, (n_bars - 1,))
        require_nav("nav", self.nav)
        if self.delayed_nav is not None:
            require_values("delayed_nav", self.delayed_nav, (n_bars,))
            require_nav("delayed_nav", self.delayed_nav)
        self._check_evidence(n_bars)

    def _check_evidence(self, n_bars: int) -> None:
        for name, exposure in (("gross", self.gross), ("net", self.net)):
            if exposure is not None:
                require_values(name, exposure, (n_bars,))
        for level, nav in self.fan.items():
            if not 0.0 < level < 1.0:
                raise ValueError(f"a quantile of `fan` must lie between 0 and 1; received {level}")
            require_values(f"fan[{level}]", nav, (self.n_fan or n_bars,))
            require_nav(f"fan[{level}]", nav)
        if self.rolling is not None:
            require_values("rolling.sharpe", self.rolling.sharpe, (n_bars,), gaps=True)
            require_values("rolling.error", self.rolling.error, (n_bars,), gaps=True)
        if self.trace is not None:
            self.trace.check(n_bars, self.symbols)

    @property
    def notes(self) -> Mapping[str, str]:
        """Metric to why it is undefined, or to its caveat."""
        return {**self.reasons, **self.caveats}


@dataclass(frozen=True)
class Provenance:
    """Conditions and versions of a page, as pairs of label and value.

    Attributes:
        entries: Such as `("dataset fingerprint", "sha256:...")` or `("command", "openoutcry run ...")`.
        groups: Heading to entries, such as one group per dataset; shown before `entries`.
        verify: Command that recomputes the content of the page; empty for none.
        digest: Digest that the command must print; empty for none.
        verified: Description of what the command recomputes.
    """

    entries: Sequence[tuple[str, str]]
    groups: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    verify: str = ""
    digest: str = ""
    verified: str = "the run from its decisions"


@dataclass(frozen=True)
class BoardWindow:
    """One window of a board row.

    Attributes:
        label: Column heading, such as `"1999 .. 2005"`.
        nav: Shape `(n_bars,)`, float64, `nav[0] == 1.0`; `None` if the agent has no run there.
    """

    label: str
    nav: Floats | None


@dataclass(frozen=True)
class BoardRow:
    """One agent of a ranked table.

    Attributes:
        agent: Name of the agent, the same as the `RunView.name` of its run.
        metrics: As in `RunView`.
        reasons: As in `RunView`.
        windows: The windows of the board, the same labels in every row.
        caveats: As in `RunView`.
    """

    agent: str
    metrics: Mapping[str, float | None]
    reasons: Mapping[str, str] = field(default_factory=dict)
    windows: Sequence[BoardWindow] = ()
    caveats: Mapping[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> Mapping[str, str]:
        """As in `RunView`."""
        return {**self.reasons, **self.caveats}


@dataclass(frozen=True)
class BoardSection:
    """One dataset of a board.

    Attributes:
        title: The dataset, as shown.
        rows: Best first; the report does not sort.
        runs: Full runs to chart; the first one is expanded. A run may end early.
        benchmark: Drawn in grey behind every run; `None` for none.
        notices: Caveats of the dataset.
        basis: Period of the table's metrics, such as `"the full period"`.
    """

    title: str
    rows: Sequence[BoardRow]
    runs: Sequence[RunView]
    benchmark: RunView | None
    notices: Sequence[str] = ()
    basis: str = ""

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError("`rows` must hold at least 1 agent; received 0")
        labels = [window.label for window in self.rows[0].windows]
        for index, row in enumerate(self.rows):
            received = [window.label for window in row.windows]
            if received != labels:
                raise ValueError(f"rows[{index}] must have the windows {labels}; received {received}")
