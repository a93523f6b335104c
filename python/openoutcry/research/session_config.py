"""Configuration of a session, as recorded in its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from math import isfinite
from typing import Any, TypeVar

from openoutcry.arguments import checked_integer, checked_text, is_bool, seed_of
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.walkforward_folds import gap_of

T = TypeVar("T")

MOST = 2**53
LEAST_HOLDOUT = 30
"""Minimum number of bars of a holdout."""


def _number(name: str, value: Any, least: float = 0.0) -> float:
    is_number = not is_bool(value) and isinstance(value, (int, float)) and abs(value) <= MOST
    if not is_number or not isfinite(value) or value < least:
        raise refusal("argument_invalid", f"`{name}` must be a finite number of at least {least:g}; received {value!r}")
    return float(value)


@dataclass(frozen=True)
class Split:
    """Division of the bars: folds for research, a gap, and the holdout at the end.

    Attributes:
        mode: `anchored`, training starts at the first bar, or `rolling`, training has a fixed length.
        n_folds: Maximum number of folds; None with `train` and `test` uses all that fit.
        train: Bars of the first training window; None for the length of a test.
        test: Bars of each test; None for an equal share of the remaining bars.
        holdout_bars: Bars of the holdout, at least `LEAST_HOLDOUT`; 0 for none.
        embargo: Bars between training and test, and between research window and holdout.
        horizon: Bars that a decision looks ahead; the gap is at least as long.
    """

    mode: str = "anchored"
    n_folds: int | None = 4
    train: int | None = None
    test: int | None = None
    holdout_bars: int = 60
    embargo: int = 1
    horizon: int = 1

    def __post_init__(self) -> None:
        if self.mode not in ("anchored", "rolling"):
            raise refusal("argument_invalid", f"`mode` must be `anchored` or `rolling`; received {self.mode!r}")
        for name in ("n_folds", "train", "test"):
            if (value := getattr(self, name)) is not None:
                checked_integer(name, value, 1, MOST)
        if self.n_folds is None and self.test is None:
            raise refusal("argument_invalid", "`n_folds` or `test` must be given; received neither")
        if self.holdout_bars != 0:
            # A shorter holdout has no statistical power, and a new one would be available within days.
            checked_integer("holdout_bars", self.holdout_bars, LEAST_HOLDOUT, MOST)
        checked_integer("embargo", self.embargo, 0, MOST)
        checked_integer("horizon", self.horizon, 1, MOST)

    @property
    def gap(self) -> int:
        """Bars left out before every test, at least one."""
        return gap_of(self.embargo, self.horizon)


@dataclass(frozen=True)
class Budgets:
    """Budgets that stop a session.

    Attributes:
        trials: Maximum number of trials, configurations with an out-of-sample result.
        dry_rounds: Maximum number of consecutive rounds without an advance.
        rounds: Maximum number of rounds; None for three per trial.
        tokens: Maximum tokens of language models; None for no limit.
        seconds: Maximum duration; None for no limit.
    """

    trials: int = 10
    dry_rounds: int = 3
    rounds: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        checked_integer("max_trials", self.trials, 1, MOST)
        checked_integer("max_dry_rounds", self.dry_rounds, 1, MOST)
        if self.rounds is not None:
            checked_integer("max_rounds", self.rounds, 1, MOST)
        if self.tokens is not None:
            checked_integer("max_tokens", self.tokens, 0, MOST)
        if self.seconds is not None:
            _number("max_seconds", self.seconds)

    @property
    def most_rounds(self) -> int:
        """Maximum number of rounds, which bounds sessions of rejected proposals."""
        return 3 * self.trials if self.rounds is None else self.rounds


@dataclass(frozen=True)
class Guard:
    """Conditions under which a trial replaces the incumbent.

    Attributes:
        min_improvement: Required improvement of the stitched out-of-sample Sharpe ratio, annualised.
        drawdown_tolerance: Fraction by which its drawdown may exceed the incumbent's.
        drawdown_floor: Additional drawdown allowance, so that an incumbent without drawdown can be replaced.
        correlation: Correlation of returns above which two candidates are duplicates; the better one is kept.
        advanced_only: Whether the short list is limited to trials that advanced.
    """

    min_improvement: float = 0.0
    drawdown_tolerance: float = 0.25
    drawdown_floor: float = 0.01
    correlation: float = 0.95
    advanced_only: bool = True

    def __post_init__(self) -> None:
        for name in ("min_improvement", "drawdown_tolerance", "drawdown_floor", "correlation"):
            _number(name, getattr(self, name))
        if not is_bool(self.advanced_only):
            raise refusal("argument_invalid", f"`advanced_only` must be True or False; received {self.advanced_only!r}")


@dataclass(frozen=True)
class ResearchConfig:
    """Configuration of a session.

    Attributes:
        goal: Goal of the user, as free text.
        split: Division of the bars.
        budgets: Budgets that stop the session.
        guard: Conditions of an advance.
        gates: Thresholds of the acceptance gates.
        costs: Trading costs.
        limits: Position limits.
        seed: Seed of all random draws.
        shortlist: Maximum length of the short list.
        max_tunable: Maximum number of params that a proposal may move from their defaults.
        inner_trials: Configurations of generated code that are tuned in sample, per fold.
        allow_code: Whether proposals may be code, which runs in the sandbox.
        unsafe_no_isolation: Run code without a sandbox; every result records it.
        burn_holdout: Open a holdout that is already spent; its results record the number of earlier openings.
        training_cutoff: Last date of the language model's training data; None if unknown.
    """

    goal: str = "Find a strategy with a stable out-of-sample edge after costs."
    split: Split = field(default_factory=Split)
    budgets: Budgets = field(default_factory=Budgets)
    guard: Guard = field(default_factory=Guard)
    gates: Thresholds = field(default_factory=Thresholds)
    costs: CostModel = field(default_factory=CostModel)
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    shortlist: int = 3
    max_tunable: int = 5
    inner_trials: int = 8
    allow_code: bool = False
    unsafe_no_isolation: bool = False
    burn_holdout: bool = False
    training_cutoff: str | None = None

    def __post_init__(self) -> None:
        checked_text("goal", self.goal)
        seed_of(self.seed)
        checked_integer("shortlist", self.shortlist, 1, 1000)
        checked_integer("max_tunable", self.max_tunable, 0, 1000)
        checked_integer("inner_trials", self.inner_trials, 1, 10_000)
        if self.training_cutoff is not None:
            _check_date(self.training_cutoff)
        for name in ("allow_code", "unsafe_no_isolation", "burn_holdout"):
            if not is_bool(getattr(self, name)):
                raise refusal("argument_invalid", f"`{name}` must be True or False; received {getattr(self, name)!r}")

    def to_json(self) -> dict[str, Any]:
        """Return the configuration as plain values; the seed is a string."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("split", "budgets", "guard", "gates"):
            values[name] = asdict(values[name])
        return values | {"costs": self.costs.to_dict(), "limits": self.limits.to_dict(), "seed": str(self.seed)}

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> ResearchConfig:
        """Return the configuration that `to_json` wrote.

        Raises:
            OpenOutcryError: `argument_invalid`: a field is unknown or has an invalid value.
        """
        given = dict(values)
        for name, make in _GROUPS.items():
            if name in given:
                given[name] = _build(make, name, given[name])
        if "seed" in given:
            given["seed"] = int(given["seed"])
        return _build(cls, "config", given)

    def with_(self, **changes: Any) -> ResearchConfig:
        """Return the configuration with some fields changed."""
        return replace(self, **changes)


def _check_date(values: Any) -> None:
    try:
        date.fromisoformat(values)
    except (TypeError, ValueError) as error:
        wanted = "`training_cutoff` must be an ISO date such as 2025-03-31"
        raise refusal("argument_invalid", f"{wanted}; received {values!r}") from error


_GROUPS: dict[str, Any] = {
    "split": Split,
    "budgets": Budgets,
    "guard": Guard,
    "gates": Thresholds,
    "costs": CostModel,
    "limits": Limits,
}


def _build(make: type[T], name: str, given: Any) -> T:
    if not isinstance(given, Mapping):
        raise refusal("argument_invalid", f"`{name}` must be an object; received {type(given).__name__}")
    try:
        return make(**given)
    except TypeError as error:
        raise refusal("argument_invalid", f"`{name}` must have known fields; received {error}") from error
