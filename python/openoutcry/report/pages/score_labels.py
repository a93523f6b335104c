"""Names, units and wording of what a scored board shows; none is computed here."""

from __future__ import annotations

from dataclasses import dataclass

from openoutcry.report.pages.metric_labels import Metric
from openoutcry.report.pages.skill_section import SKILL

__all__ = ["BESIDE", "FIELD", "GATES", "INPUTS", "SIDE", "VERDICTS", "GateWords"]

VERDICTS = {
    "eligible": "eligible",
    "not_eligible": "not eligible",
    "insufficient": "too little data",
    "unknown": "not known",
}
"""Slug of each verdict to its words."""

_SIDE = ("dsr", "sharpe_bar", "sr0", "sigma_sr", "n_trials", "n_eff", "n_returns", "skew", "kurtosis", "psr")

INPUTS = _SIDE[1:-1]
"""Inputs of the deflated ratio."""

SIDE: dict[str, Metric] = {
    "z": Metric(
        "z",
        "ratio",
        "standard errors of the Sharpe ratio above SR0; what ranks, of the side where it is less, and of sealed "
        "windows alone where there are others beside them",
    ),
    **{name: SKILL[name] for name in _SIDE},
    "sharpe": Metric("Sharpe a year", "ratio", "of active returns, of the seed that is typical"),
    "standard_error": Metric(
        "Its standard error", "ratio", "of the annual ratio, where returns do not follow each other"
    ),
    "hac_se": SKILL["hac_se"],
    "mean": Metric("Active return a year", "gain", "mean return over the benchmark, of the mean of all seeds"),
    "min_trl": SKILL["min_trl"],
    "p_value": Metric(
        "p, by itself", "probability", "chance of such a mean if the true one were 0 and nobody else had tried"
    ),
    "sign_flip": Metric("p, by signs of windows", "probability", "the same by the signs of windows, of eight or more"),
    "romano_wolf": Metric(
        "p, Romano-Wolf", "probability", "the same where any false claim in the field counts; below 0.05 is asked for"
    ),
    "false_discovery": Metric(
        "False discovery rate", "probability", "share of false claims among all that are at least as sure"
    ),
}
"""Every number of a side."""

BESIDE: dict[str, Metric] = {
    "delayed_sharpe": Metric("Sharpe, one bar later", "ratio", "the same decisions one bar later, over cash"),
    "dsr_at_common_cost": Metric("DSR at one cost", "probability", "as though every agent paid the same for turnover"),
    "break_even_bps": Metric("Break-even cost, bps", "ratio", "cost of turnover that leaves a mean return of 0"),
    "capacity": Metric("Capacity, NAV", "count", "size at which nothing is left over the benchmark"),
    "worst_rolling_sharpe": Metric("Worst rolling Sharpe", "ratio", "of active returns, inside a window"),
    "decay": Metric("Decay", "ratio", "Sharpe ratio in the windows open to its maker less that in the others"),
    "brier": Metric("Brier score", "probability", "of stated confidence; 0 is perfect, 0.25 is saying 0.5 each time"),
}
"""What stands beside a verdict."""

FIELD: dict[str, Metric] = {
    "reality_check": Metric("Reality Check", "probability", "White: chance of so good a best agent if none had skill"),
    "spa_lower": Metric("SPA, lower", "probability", "Hansen: the same, the bad agents left out"),
    "spa_consistent": Metric("SPA, consistent", "probability", "Hansen: the same, agents clearly below 0 left out"),
    "spa_upper": Metric("SPA, upper", "probability", "Hansen: the same, all agents counted as though they were at 0"),
}
"""Tests of the whole field."""


@dataclass(frozen=True)
class GateWords:
    """How a gate is written.

    Attributes:
        label: What was found.
        unit: As in `Metric`.
        bound: What must hold, before the bound.
    """

    label: str
    unit: str
    bound: str


GATES: dict[str, GateWords] = {
    "days": GateWords("Days", "count", "at least"),
    "windows": GateWords("Windows", "count", "at least"),
    "windows_present": GateWords("Windows and seeds missing", "count", "at most"),
    "original": GateWords("Copy of another track", "count", "at most"),
    "benchmark": GateWords("Benchmark to beat", "count", "at least"),
    "protocol": GateWords("Windows of a suite", "count", "at least"),
    "process": GateWords("Decisions held for a fault", "share", "at most"),
    "solvent": GateWords("Accounts liquidated or ruined", "count", "at most"),
    "drawdown": GateWords("Deepest drawdown of a run", "share", "at most"),
    "exposure": GateWords("Largest gross exposure", "times", "at most"),
    "volatility": GateWords("Volatility a year", "share", "at least"),
    "alpha": GateWords("Size of alpha a year", "share", "at least"),
    "dsr": GateWords("Deflated Sharpe ratio", "probability", "at least"),
    "romano_wolf": GateWords("Romano-Wolf p", "probability", "below"),
    "window_below": GateWords("Least p of a window below the benchmark", "probability", "at least"),
    "window_wins": GateWords("Windows above the benchmark", "count", "at least"),
    "sealed": GateWords("Gates that sealed windows alone do not pass", "count", "at most"),
    "pass_k": GateWords("Chance that all seeds pass", "probability", "at least"),
}
"""Every gate with a wording of its own; any other is shown by its slug."""
