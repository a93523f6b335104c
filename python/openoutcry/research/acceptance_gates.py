"""What a trial must show out of sample before it may be kept.

Every gate says its value, its threshold and whether it could be evaluated at all; one that could not has failed, unless
it is optional. `docs/research.md` says what each is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite, isinf, isnan
from statistics import median
from typing import Any

from openoutcry.arguments import is_truth
from openoutcry.errors import refusal
from openoutcry.research.trial_scores import FoldScore, InSample, OosScore

GATES_VERSION = 3

_MOST = 1e300

WORDS = {
    "sharpe": "the median Sharpe ratio of the folds",
    "profit_factor": "the median profit factor of the folds",
    "efficiency": "the median over folds of the Sharpe ratio out of sample over that in sample",
    "drawdown_ratio": "the median drawdown out of sample over that in sample",
    "trades": "the closed trades of all folds",
    "dsr": "the deflated Sharpe ratio at all trials",
    "dsr_alpha": "the deflated Sharpe ratio beyond holding the market",
    "perturbation": "the share of the Sharpe ratio that a change of a param by a tenth costs",
    "causality": "the cuts of the data that change a decision before them",
}
"""What each gate measures."""

SKIPPED = "not measured, since another gate has failed"

NOTHING_LEFT = "beyond holding the market nothing is left"

LEAST_TRADES = 10
"""Closed trades in a fold from which on having no loss is a profit factor, and no accident."""


@dataclass(frozen=True)
class Thresholds:
    """Where each gate lies; None leaves one out.

    Attributes:
        min_sharpe: Median over folds of the out-of-sample Sharpe ratio a year.
        min_profit_factor: Median over folds of profits over losses of closed trades.
        min_efficiency: Median over folds of the out-of-sample Sharpe ratio over that in sample.
        min_efficiency_if_sharpe: The same where the gate of the Sharpe ratio is passed.
        max_drawdown_ratio: Median drawdown out of sample over the median in sample.
        min_trades: Closed trades of all folds.
        min_dsr: Deflated Sharpe ratio of the stitched returns, at all trials that the ledger counts.
        min_dsr_alpha: The same of what is left beyond beta times buy-and-hold, and beyond the same kept in equal parts.
        max_perturbation_loss: Share of the Sharpe ratio that a change of each param by a tenth may cost; needs trials.
        max_probe_changes: Cuts of the causality probe that change a decision.
    """

    min_sharpe: float | None = 1.2
    min_profit_factor: float | None = 1.3
    min_efficiency: float | None = 0.4
    min_efficiency_if_sharpe: float | None = 0.3
    max_drawdown_ratio: float | None = 1.5
    min_trades: float | None = 100
    min_dsr: float | None = 0.5
    min_dsr_alpha: float | None = None
    max_perturbation_loss: float | None = None
    max_probe_changes: float | None = 0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is None:
                continue
            is_number = not is_truth(value) and isinstance(value, (int, float)) and abs(value) <= _MOST
            if not is_number or not isfinite(value):
                raise refusal("argument_invalid", f"`gates.{name}` must be a finite number or None; received {value!r}")

    @classmethod
    def preset(cls, name: str) -> Thresholds:
        """Return the thresholds of a preset, `default` or `strict`."""
        if name not in PRESETS:
            raise refusal("argument_invalid", f"gates must be one of {', '.join(PRESETS)}; received {name!r}")
        return PRESETS[name]


PRESETS = {"default": Thresholds(), "strict": Thresholds(min_dsr=0.95, min_dsr_alpha=0.95)}


@dataclass(frozen=True)
class Gate:
    """One gate and what became of it.

    Attributes:
        name: What it is called.
        value: What was measured; None if it could not be, or is unbounded.
        threshold: Where it lies.
        op: `>=`, `>` or `<=`, between value and threshold.
        passed: Whether the value lies on the right side.
        evaluated: Whether there was a value.
        reason: Why there was none, or what else is to be known.
    """

    name: str
    value: float | None
    threshold: float
    op: str
    passed: bool
    evaluated: bool
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the gate as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Evidence:
    """What the gates are shown of a trial.

    Attributes:
        oos: Its out-of-sample score.
        in_sample: What it did in sample, fold by fold.
        dsr: Its deflated Sharpe ratio; None if undefined.
        dsr_alpha: The same beyond holding the market; None if nothing is left.
        perturbation: Share of the Sharpe ratio that the worst change of a param by a tenth costs; None if not measured.
        probe_changes: Cuts of the causality probe that changed a decision; None if not made.
    """

    oos: OosScore
    in_sample: tuple[InSample, ...]
    dsr: float | None
    dsr_alpha: float | None = None
    perturbation: float | None = None
    probe_changes: int | None = None


def judge(evidence: Evidence, thresholds: Thresholds) -> tuple[Gate, ...]:
    """Return every gate that is not left out."""
    folds = evidence.oos.folds
    sharpe = _gate("sharpe", _median([fold.sharpe for fold in folds], "the Sharpe ratio"), thresholds.min_sharpe, ">=")
    is_sharp = sharpe is not None and sharpe.passed
    efficient = thresholds.min_efficiency_if_sharpe if is_sharp else thresholds.min_efficiency
    if efficient is None:
        efficient = thresholds.min_efficiency
    trades = float(sum(fold.n_trades for fold in folds))
    gates = [
        sharpe,
        _gate("profit_factor", _profit_factor(folds), thresholds.min_profit_factor, ">="),
        _gate("efficiency", _efficiency(evidence), efficient, ">="),
        _gate("drawdown_ratio", _drawdown_ratio(evidence), thresholds.max_drawdown_ratio, "<="),
        _gate("trades", (trades, ""), thresholds.min_trades, ">="),
        _gate("dsr", (evidence.dsr, "a deflated Sharpe ratio is undefined"), thresholds.min_dsr, ">"),
        _gate("dsr_alpha", (evidence.dsr_alpha, NOTHING_LEFT), thresholds.min_dsr_alpha, ">"),
        _gate("perturbation", (evidence.perturbation, SKIPPED), thresholds.max_perturbation_loss, "<="),
        _gate("causality", (evidence.probe_changes, SKIPPED), thresholds.max_probe_changes, "<="),
    ]
    return tuple(gate for gate in gates if gate is not None)


def is_promotable(gates: Sequence[Gate]) -> bool:
    """Return whether all gates have passed; of none at all nothing is known."""
    return bool(gates) and all(gate.passed for gate in gates)


def failed(gates: Sequence[Gate]) -> tuple[str, ...]:
    """Return what each gate that has not passed says, in words.

    What was not measured on account of the others is left out.
    """
    told = []
    for gate in gates:
        if not gate.passed and gate.reason != SKIPPED:
            shown = f"{gate.value:.4g}" if gate.value is not None else gate.reason
            told.append(f"{gate.name}: {WORDS[gate.name]} must be {gate.op} {gate.threshold:g}; received {shown}")
    return tuple(told)


_Measured = tuple["float | None", str]


def _gate(name: str, measured: _Measured, threshold: float | None, op: str) -> Gate | None:
    if threshold is None:
        return None
    value, reason = measured
    if value is None or isnan(value) or (isinf(value) and not reason):
        return Gate(name, None, threshold, op, False, False, reason or "it is not finite")
    passed = {">=": value >= threshold, ">": value > threshold, "<=": value <= threshold}[op]
    return Gate(
        name, None if isinf(value) else float(value), threshold, op, passed, True, reason if isinf(value) else ""
    )


def _median(values: Sequence[float | None], what: str) -> _Measured:
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not values:
        return None, f"{what} is undefined in {len(values) - len(known)} of {len(values)} folds"
    return median(known), ""


def _profit_factor(folds: Sequence[FoldScore]) -> _Measured:
    found: list[float | None] = []
    for fold in folds:
        # Without a loss it has no bound, which takes enough trades to be believed.
        unbounded = inf if fold.n_trades >= LEAST_TRADES and fold.has_no_loss else None
        found.append(unbounded if fold.profit_factor is None else fold.profit_factor)
    what = f"the profit factor (of no trade, or of fewer than {LEAST_TRADES} without a loss)"
    value, reason = _median(found, what)
    return (value, "no trade lost in half of the folds") if value is not None and isinf(value) else (value, reason)


def _efficiency(evidence: Evidence) -> _Measured:
    ratios: list[float | None] = []
    for fold, trained in zip(evidence.oos.folds, evidence.in_sample, strict=True):
        # Over an objective of 0 or less the ratio has no meaning: two losses would make a profit.
        usable = fold.sharpe is not None and trained.sharpe is not None and trained.sharpe > 0.0
        ratios.append(fold.sharpe / trained.sharpe if usable else None)  # type: ignore[operator]
    return _median(ratios, "the ratio to a Sharpe ratio in sample above 0")


def _drawdown_ratio(evidence: Evidence) -> _Measured:
    out, reason = _median([fold.max_drawdown for fold in evidence.oos.folds], "the drawdown")
    trained, _ = _median([each.max_drawdown for each in evidence.in_sample], "the drawdown in sample")
    if out is None or trained is None:
        return None, reason or "the drawdown in sample is undefined"
    if trained == 0.0:
        return (0.0, "") if out == 0.0 else (None, "the drawdown in sample is 0")
    return out / trained, ""


def thresholds_of(told: Mapping[str, Any]) -> Thresholds:
    """Return thresholds from plain values, a preset's where `preset` names one.

    Raises:
        OpenOutcryError: `argument_invalid`: a threshold is unknown or no number.
    """
    given = dict(told)
    base = asdict(Thresholds.preset(str(given.pop("preset", "default"))))
    if unknown := sorted(set(given) - set(base)):
        raise refusal("argument_invalid", f"gates must be among {', '.join(base)}; received {unknown[0]!r}")
    return Thresholds(**base | given)
