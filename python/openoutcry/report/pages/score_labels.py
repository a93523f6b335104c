"""Labels, units and definitions of the numbers on a scored board."""

from __future__ import annotations

from dataclasses import dataclass

from openoutcry.report.pages.metric_labels import Metric
from openoutcry.report.pages.skill_section import SKILL

__all__ = ["DIAGNOSTICS", "FIELD", "GATES", "INPUTS", "SIDE", "VERDICTS", "GateLabel"]

VERDICTS = {
    "eligible": "eligible",
    "not_eligible": "not eligible",
    "insufficient": "too little data",
    "unknown": "unknown",
}
"""Verdict slug to its label."""

_SIDE = ("dsr", "sharpe_bar", "sr0", "sigma_sr", "n_trials", "n_eff", "n_returns", "skew", "kurtosis", "psr")

INPUTS = _SIDE[1:-1]
"""Inputs of the deflated Sharpe ratio."""

SIDE: dict[str, Metric] = {
    "z": Metric(
        "z",
        "ratio",
        "standard errors of the Sharpe ratio above SR0; agents rank by it, on the strictest benchmark, and on the "
        "sealed windows only if the suite has sealed and public windows",
    ),
    **{name: SKILL[name] for name in _SIDE},
    "n_trials": Metric(
        SKILL["n_trials"].label,
        "count",
        "those stated with `--trials`, at least the agents of the board, and those that the author declared",
    ),
    "sharpe": Metric("Annual Sharpe", "ratio", "annual Sharpe ratio of active returns, of the median seed"),
    "standard_error": Metric(
        "Sharpe, std. error", "ratio", "standard error of the annual Sharpe ratio, for independent returns"
    ),
    "hac_se": SKILL["hac_se"],
    "mean": Metric("Annual active return", "gain", "mean return over the benchmark, averaged over seeds"),
    "min_trl": SKILL["min_trl"],
    "p_value": Metric(
        "p-value, unadjusted", "probability", "one-sided bootstrap p-value of the mean active return, this agent alone"
    ),
    "sign_flip": Metric(
        "p-value, sign flip", "probability", "sign-flip test on the windows' sums; needs eight windows or more"
    ),
    "romano_wolf": Metric(
        "p-value, Romano-Wolf",
        "probability",
        "p-value adjusted for the familywise error rate of the field; must be below 0.05",
    ),
    "false_discovery": Metric(
        "p-value, Benjamini-Hochberg", "probability", "p-value adjusted for the false discovery rate of the field"
    ),
}
"""Every number of a side."""

DIAGNOSTICS: dict[str, Metric] = {
    "delayed_sharpe": Metric("Sharpe, one bar later", "ratio", "same decisions executed one bar later, over cash"),
    "dsr_at_common_cost": Metric("DSR at common cost", "probability", "with the same cost of turnover for every agent"),
    "break_even_bps": Metric("Break-even cost, bps", "ratio", "cost of turnover at which the mean return is 0"),
    "capacity": Metric("Capacity, NAV", "count", "NAV at which the mean active return is 0"),
    "worst_rolling_sharpe": Metric("Worst rolling Sharpe", "ratio", "of active returns, inside a window"),
    "decay": Metric("Decay", "ratio", "Sharpe ratio in windows open to the author less that in the others"),
    "brier": Metric("Brier score", "probability", "of stated confidence; 0 is perfect, always stating 0.5 scores 0.25"),
}
"""Diagnostics, which decide nothing."""

FIELD: dict[str, Metric] = {
    "reality_check": Metric("Reality Check", "probability", "White; null hypothesis: no agent beats the benchmark"),
    "spa_lower": Metric("SPA, lower", "probability", "Hansen; agents with a negative mean are excluded"),
    "spa_consistent": Metric("SPA, consistent", "probability", "Hansen; agents far below the benchmark are excluded"),
    "spa_upper": Metric("SPA, upper", "probability", "Hansen; every agent is recentred to a mean of 0"),
}
"""Tests of the field."""


@dataclass(frozen=True)
class GateLabel:
    """Label and format of a gate.

    Attributes:
        label: Name of the measured value.
        unit: As in `Metric`.
        bound: Comparison, shown before the bound.
    """

    label: str
    unit: str
    bound: str


GATES: dict[str, GateLabel] = {
    "days": GateLabel("Days", "count", "at least"),
    "returns": GateLabel("Returns", "count", "at least"),
    "windows": GateLabel("Windows", "count", "at least"),
    "windows_present": GateLabel("Windows and seeds missing", "count", "at most"),
    "original": GateLabel("Copies another return series", "count", "at most"),
    "benchmark": GateLabel("Benchmark available", "count", "at least"),
    "protocol": GateLabel("Windows of a suite", "count", "at least"),
    "process": GateLabel("Decisions held for a fault", "share", "at most"),
    "solvent": GateLabel("Accounts liquidated or ruined", "count", "at most"),
    "drawdown": GateLabel("Maximum drawdown of a run", "share", "at most"),
    "exposure": GateLabel("Maximum gross exposure", "times", "at most"),
    "volatility": GateLabel("Annual volatility", "share", "at least"),
    "alpha": GateLabel("Annual alpha, absolute", "share", "at least"),
    "dsr": GateLabel("Deflated Sharpe ratio", "probability", "at least"),
    "romano_wolf": GateLabel("Romano-Wolf p-value", "probability", "below"),
    "window_below": GateLabel("Lowest p-value of a window below the benchmark", "probability", "at least"),
    "window_wins": GateLabel("Windows above the benchmark", "count", "at least"),
    "pooled_windows": GateLabel("Windows that are judged together", "count", "at least"),
    "without_best": GateLabel("Excess without the best window, in standard errors", "ratio", "at least"),
    "delay": GateLabel("Annual Sharpe ratio lost by a delay of one bar", "ratio", "at most"),
    "sealed": GateLabel("Gates failed on only the sealed windows", "count", "at most"),
    "pass_k": GateLabel("Probability that all seeds pass", "probability", "at least"),
}
"""Known gates; any other is shown by its slug."""
