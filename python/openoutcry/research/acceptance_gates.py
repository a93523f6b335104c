"""Acceptance gates: what a trial must reach out of sample.

Every gate reports its value, its threshold and whether it could be evaluated. A gate that could not be evaluated fails.
`docs/research.md` explains each gate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite, isinf, isnan
from statistics import median
from typing import Any

from openoutcry.arguments import is_bool
from openoutcry.errors import refusal
from openoutcry.research.trial_scores import FoldScore, InSample, OosScore
from openoutcry.untrusted.counted_nouns import counted

GATES_VERSION = 7
"""Version 6, of unreleased builds, redraws fewer constants of generated code and counts fewer names as data."""
EARLIER_GATES_VERSION = 4
"""Version of journals that are replayed with the budgets and the disguise of their time."""
EARLIER_THRESHOLDS_VERSION = 5
"""Version of journals that are replayed with `EarlierThresholds` and the words of their time."""

_MOST = 1e300

WORDS = {
    "sharpe": "the median Sharpe ratio of the folds",
    "profit_factor": "the median profit factor of the folds",
    "efficiency": "the median over folds of the out-of-sample over the in-sample Sharpe ratio",
    "drawdown_ratio": "the median out-of-sample over the median in-sample drawdown",
    "trades": "the closed trades of all folds",
    "dsr": "the deflated Sharpe ratio at all trials",
    "dsr_alpha": "the deflated Sharpe ratio in excess of the market",
    "perturbation": "the largest relative loss of Sharpe ratio when a param changes by a tenth",
    "causality": "the cuts of the data that change a decision before them",
    "disguise": "the relative loss of Sharpe ratio when decisions see the market in disguise",
    "plausibility": "the stitched out-of-sample Sharpe ratio a year",
    "constants": "the relative loss of Sharpe ratio with other constants in the code",
}
"""What each gate measures."""

HINTS = {
    "plausibility": "look for hindsight or errors in the data; `--accept-implausible` disables this gate",
    "constants": "compute weights in `weights` from the window instead of writing them as digits",
}
"""What a failed gate suggests."""

IMPLAUSIBLE_SHARPE = 4.0
"""Annualised Sharpe ratio above which hindsight is likelier than skill."""

UNDEFINED = "a deflated Sharpe ratio is undefined"

SKIPPED = "not measured because another gate failed"

LEAST_TRADES = 10
"""Closed trades that a fold needs before a profit factor without any loss counts."""


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the gates; None disables a gate.

    Attributes:
        min_sharpe: Median over folds of the annualised out-of-sample Sharpe ratio.
        min_profit_factor: Median over folds of gross profit over gross loss of closed trades.
        min_efficiency: Median over folds of the out-of-sample over the in-sample Sharpe ratio; None disables the gate
            also if the Sharpe gate passes.
        min_efficiency_if_sharpe: The same, if the Sharpe gate passes; None for no difference.
        max_drawdown_ratio: Median out-of-sample drawdown over the median in-sample drawdown.
        min_trades: Closed trades of all folds.
        min_dsr: Deflated Sharpe ratio of the stitched returns, at all trials that the ledger counts.
        min_dsr_alpha: The same for the returns in excess of beta times buy-and-hold, and of beta times equal weights.
        max_perturbation_loss: Largest relative loss of Sharpe ratio when a param changes by a tenth; costs trials.
        max_probe_changes: Cuts of the causality probe that change a decision.
        max_disguise_loss: Relative loss of the stitched Sharpe ratio on the market in disguise; for generated code.
        max_sharpe: Stitched out-of-sample Sharpe ratio, annualised; a higher one is implausible.
        max_constants_loss: Relative loss of the stitched Sharpe ratio with other constants; for generated code.
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
    max_disguise_loss: float | None = 0.25
    max_sharpe: float | None = None
    max_constants_loss: float | None = 0.5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is None:
                continue
            is_number = not is_bool(value) and isinstance(value, (int, float)) and abs(value) <= _MOST
            if not is_number or not isfinite(value):
                raise refusal("argument_invalid", f"`gates.{name}` must be a finite number or None; received {value!r}")

    def efficiency(self, *, is_sharp: bool) -> float | None:
        """Return the threshold of the gate `efficiency`.

        `is_sharp`: the Sharpe gate passed."""
        if self.min_efficiency is None or not is_sharp or self.min_efficiency_if_sharpe is None:
            return self.min_efficiency
        return self.min_efficiency_if_sharpe

    @classmethod
    def preset(cls, name: str) -> Thresholds:
        """Return the thresholds of a preset, `default` or `strict`."""
        if name not in PRESETS:
            raise refusal("argument_invalid", f"gates must be one of {', '.join(PRESETS)}; received {name!r}")
        return PRESETS[name]


@dataclass(frozen=True)
class EarlierThresholds(Thresholds):
    """Thresholds of journals before version 6.

    They have no gate `constants`, and without `min_efficiency` the one of a passed Sharpe gate applied.
    """

    max_constants_loss: float | None = None

    def efficiency(self, *, is_sharp: bool) -> float | None:
        """Return the threshold of the gate `efficiency`.

        `is_sharp`: the Sharpe gate passed."""
        if is_sharp and self.min_efficiency_if_sharpe is not None:
            return self.min_efficiency_if_sharpe
        return self.min_efficiency


PRESETS = {
    "default": Thresholds(),
    "strict": Thresholds(min_dsr=0.95, min_dsr_alpha=0.95, max_sharpe=IMPLAUSIBLE_SHARPE),
}


@dataclass(frozen=True)
class Gate:
    """A gate with its result.

    Attributes:
        name: Name of the gate.
        value: Measured value; None if it could not be measured or is unbounded.
        threshold: Its threshold.
        op: `>=`, `>` or `<=`, between value and threshold.
        passed: Whether the value satisfies the threshold.
        evaluated: Whether a value could be measured.
        reason: Why not, or a remark.
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
    """Measurements of a trial that the gates use.

    Attributes:
        oos: Out-of-sample score.
        in_sample: In-sample score of each fold.
        dsr: Deflated Sharpe ratio; None if undefined.
        dsr_alpha: The same in excess of the market; None if nothing is left.
        perturbation: Largest relative loss of Sharpe ratio when a param changes by a tenth; None if not measured.
        probe_changes: Cuts of the causality probe that changed a decision; None if not run.
        probe_fault: Why the causality probe has no result; empty if it was not run.
        disguise_loss: Relative loss on the market in disguise; None if not measured.
        disguise_remark: Its parts, or why it was not measured.
        dsr_undefined: Why there is no `dsr`.
        alpha_undefined: Why there is no `dsr_alpha`.
        constants_loss: Relative loss with other constants in the code; None if not measured.
        constants_remark: What was redrawn, or why the loss was not measured.
    """

    oos: OosScore
    in_sample: tuple[InSample, ...]
    dsr: float | None
    dsr_alpha: float | None = None
    perturbation: float | None = None
    probe_changes: int | None = None
    probe_fault: str = ""
    disguise_loss: float | None = None
    disguise_remark: str = ""
    dsr_undefined: str = ""
    alpha_undefined: str = ""
    constants_loss: float | None = None
    constants_remark: str = ""


def judge(evidence: Evidence, thresholds: Thresholds) -> tuple[Gate, ...]:
    """Return every enabled gate with its result."""
    folds = evidence.oos.folds
    sharpe = _gate("sharpe", _median([fold.sharpe for fold in folds], "the Sharpe ratio"), thresholds.min_sharpe, ">=")
    is_sharp = sharpe is not None and sharpe.passed
    efficient = thresholds.efficiency(is_sharp=is_sharp)
    trades = float(sum(fold.n_trades for fold in folds))
    gates = [
        sharpe,
        _gate("profit_factor", _profit_factor(folds), thresholds.min_profit_factor, ">="),
        _gate("efficiency", _efficiency(evidence), efficient, ">="),
        _gate("drawdown_ratio", _drawdown_ratio(evidence), thresholds.max_drawdown_ratio, "<="),
        _gate("trades", (trades, ""), thresholds.min_trades, ">="),
        _gate("dsr", (evidence.dsr, evidence.dsr_undefined or UNDEFINED), thresholds.min_dsr, ">"),
        _gate("dsr_alpha", (evidence.dsr_alpha, evidence.alpha_undefined or UNDEFINED), thresholds.min_dsr_alpha, ">"),
        _gate("perturbation", (evidence.perturbation, SKIPPED), thresholds.max_perturbation_loss, "<="),
        _gate(
            "causality", (evidence.probe_changes, evidence.probe_fault or SKIPPED), thresholds.max_probe_changes, "<="
        ),
        _remarked("disguise", (evidence.disguise_loss, evidence.disguise_remark), thresholds.max_disguise_loss),
        _gate("plausibility", (evidence.oos.sharpe, "it is undefined"), thresholds.max_sharpe, "<="),
        _remarked("constants", (evidence.constants_loss, evidence.constants_remark), thresholds.max_constants_loss),
    ]
    return tuple(gate for gate in gates if gate is not None)


def is_promotable(gates: Sequence[Gate]) -> bool:
    """Return whether all gates passed; False without gates."""
    return bool(gates) and all(gate.passed for gate in gates)


def failed(gates: Sequence[Gate]) -> tuple[str, ...]:
    """Return a message for each gate that failed.

    Gates that were skipped because of the others are left out.
    """
    messages = []
    for gate in gates:
        if not gate.passed and gate.reason != SKIPPED:
            shown = f"{gate.value:.4g}" if gate.value is not None else gate.reason
            text = f"{gate.name}: {WORDS[gate.name]} must be {gate.op} {gate.threshold:g}; received {shown}"
            hint = HINTS.get(gate.name) if gate.evaluated else None
            messages.append(
                f"{text}{f' ({gate.reason})' if gate.evaluated and gate.reason else ''}{f'; {hint}' if hint else ''}"
            )
    return tuple(messages)


_Measured = tuple["float | None", str]


def _remarked(name: str, measured: _Measured, threshold: float | None) -> Gate | None:
    """Return a gate with a remark about its value as the reason."""
    value, remark = measured
    gate = _gate(name, (value, remark or SKIPPED), threshold, "<=")
    return gate if gate is None or not gate.evaluated else replace(gate, reason=remark)


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
        return None, f"{what} is undefined in {len(values) - len(known)} of {counted(len(values), 'fold')}"
    return median(known), ""


def _profit_factor(folds: Sequence[FoldScore]) -> _Measured:
    found: list[float | None] = []
    for fold in folds:
        # Without a loss the profit factor is unbounded, which counts only with enough trades.
        unbounded = inf if fold.n_trades >= LEAST_TRADES and fold.has_no_loss else None
        found.append(unbounded if fold.profit_factor is None else fold.profit_factor)
    what = f"the profit factor (no trade, or fewer than {LEAST_TRADES} without a loss)"
    value, reason = _median(found, what)
    return (value, "no loss in at least half of the folds") if value is not None and isinf(value) else (value, reason)


def _efficiency(evidence: Evidence) -> _Measured:
    ratios: list[float | None] = []
    for fold, trained in zip(evidence.oos.folds, evidence.in_sample, strict=True):
        # A ratio over an in-sample Sharpe ratio of 0 or less has no meaning: two losses would look like a profit.
        usable = fold.sharpe is not None and trained.sharpe is not None and trained.sharpe > 0.0
        ratios.append(fold.sharpe / trained.sharpe if usable else None)  # type: ignore[operator]
    return _median(ratios, "the ratio to a positive in-sample Sharpe ratio")


def _drawdown_ratio(evidence: Evidence) -> _Measured:
    out, reason = _median([fold.max_drawdown for fold in evidence.oos.folds], "the drawdown")
    trained, _ = _median([each.max_drawdown for each in evidence.in_sample], "the in-sample drawdown")
    if out is None or trained is None:
        return None, reason or "the in-sample drawdown is undefined"
    if trained == 0.0:
        return (0.0, "") if out == 0.0 else (None, "the in-sample drawdown is 0")
    return out / trained, ""


def thresholds_of(values: Mapping[str, Any]) -> Thresholds:
    """Return thresholds from plain values; `preset` names the base.

    Raises:
        OpenOutcryError: `argument_invalid`: a threshold is unknown, not a number, or would have no effect.
    """
    fields = dict(values)
    base = asdict(Thresholds.preset(str(fields.pop("preset", "default"))))
    if unknown := sorted(set(fields) - set(base)):
        raise refusal("argument_invalid", f"gates must be among {', '.join(base)}; received {unknown[0]!r}")
    name = "min_efficiency_if_sharpe"
    if fields.get("min_efficiency", 0.0) is None and fields.get(name) is not None:
        wanted = f"`{name}` requires `min_efficiency`, since null there disables the gate"
        raise refusal("argument_invalid", f"{wanted}; received {fields[name]!r} without it; hint: omit one of the two")
    return Thresholds(**base | fields)
