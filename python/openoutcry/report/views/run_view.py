"""What a report is drawn from: plain records, no engine types.

Every metric arrives computed: the report defines none. It derives only what a picture needs: returns by
calendar month, sums of the costs. Drawdown and exposure are drawn from the scorer's own functions, so no number here
can disagree with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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
        costs: Kind to shape `(n_bars - 1,)`, float64, fraction of the starting NAV per step; negative is earned.
        delayed_nav: Like `nav`, for the same decisions one bar later; `None` if that run was not made.
        metrics: Name to value; `None` or NaN is undefined. Names and units the report knows are in `metrics.py`.
        reasons: Metric to why it is undefined.
        periods_per_year: Bars per year of the dataset.
        caveats: Metric to why its value says nothing of the agent; a Sharpe ratio with one is not ranked.
        events: Slug of an event to how often it happened, by reason; the reason is empty where it has none.
        ending: How the account ended before the window did, such as `ruined on 2020-03-16`; empty if it did not.
        gains: Kind to shape `(n_bars - 1,)`, float64, what came in beside prices, as `costs` are.
        gross: Shape `(n_bars,)`, float64, sum of abs(weight) at each close.
        net: Shape `(n_bars,)`, float64, sum of signed weights at each close.
        fan: Quantile, such as 0.05, to the NAV that this share of agents without skill stays below at each bar; each
            of shape `(n_bars,)`, float64. Empty for none.
        fan_label: Who the fan is of, such as `200 agents without skill`.
        rolling: Sharpe ratio over the last bars.
        skill: Whether the result could be luck.
        calibration: Stated confidence against what came of it.
        trace: The run bar by bar, for the inspector.
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
    periods_per_year: float
    caveats: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ending: str = ""
    gains: Mapping[str, Floats] = field(default_factory=dict)
    gross: Floats | None = None
    net: Floats | None = None
    fan: Mapping[float, Floats] = field(default_factory=dict)
    fan_label: str = "agents without skill"
    rolling: Rolling | None = None
    skill: Skill | None = None
    calibration: Calibration | None = None
    trace: Trace | None = None

    def __post_init__(self) -> None:
        n_bars = len(self.dates)
        if n_bars < 2:
            raise ValueError(f"`dates` must hold at least 2 bars; received {n_bars}")
        for before, after in pairwise(self.dates):
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
            require_values(f"fan[{level}]", nav, (n_bars,))
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
    """What was run: label and value pairs, shown in order as they are.

    Attributes:
        entries: Such as `("dataset fingerprint", "sha256:...")` or `("command", "openoutcry run ...")`.
        groups: Head to entries of its own, such as one group a dataset; shown before `entries`.
        verify: The command that recomputes what the page shows; empty for none.
        digest: What that command must print; empty for none.
        verified: What that command recomputes.
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
        label: As shown at the head of its column, such as `"1999 .. 2005"`.
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
        runs: Full runs to draw; the first one is shown unfolded. A run may end early.
        benchmark: Drawn in grey behind every run; `None` if there is none.
        notices: What a reader must know about the dataset.
        basis: What the metrics of the table cover, such as `"all windows, one after the other"`.
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
