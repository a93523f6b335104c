"""What a session is told before it begins, as its journal repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from math import isfinite
from typing import Any, TypeVar

from openoutcry.arguments import is_truth, seed_of, text, whole
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.walkforward_folds import gap_of

T = TypeVar("T")

MOST = 2**53
LEAST_HOLDOUT = 30
"""Bars of a holdout at least, if there is one."""


def _number(name: str, value: Any, least: float = 0.0) -> float:
    is_number = not is_truth(value) and isinstance(value, (int, float)) and abs(value) <= MOST
    if not is_number or not isfinite(value) or value < least:
        raise refusal("argument_invalid", f"`{name}` must be a finite number of at least {least:g}; received {value!r}")
    return float(value)


@dataclass(frozen=True)
class Split:
    """How bars are divided: folds to research on, a gap, and the holdout at the end.

    Attributes:
        mode: `anchored`, where training begins at the first bar, or `rolling`, where its length is fixed.
        n_folds: Folds at most; None with `train` and `test` takes all there are.
        train: Bars of the first training window; None as long as a test.
        test: Bars of each test; None for what `n_folds` leaves.
        holdout_bars: Bars of the holdout, `LEAST_HOLDOUT` or more; 0 for none.
        embargo: Bars between training and test, and between research and holdout.
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
                whole(name, value, 1, MOST)
        if self.n_folds is None and self.test is None:
            raise refusal("argument_invalid", "`n_folds` or `test` must be given; received neither")
        if self.holdout_bars != 0:
            # Fewer decide nothing, and a few days later there would be others.
            whole("holdout_bars", self.holdout_bars, LEAST_HOLDOUT, MOST)
        whole("embargo", self.embargo, 0, MOST)
        whole("horizon", self.horizon, 1, MOST)

    @property
    def gap(self) -> int:
        """Bars left out before every test, at least one."""
        return gap_of(self.embargo, self.horizon)


@dataclass(frozen=True)
class Budgets:
    """When a session stops by itself.

    Attributes:
        trials: Configurations whose out-of-sample result is looked at, at most.
        dry_rounds: Rounds in a row without an advance.
        rounds: Rounds at most; None for three a trial.
        tokens: Tokens of language models at most; None for no cap.
        seconds: Time at most; None for no cap.
    """

    trials: int = 10
    dry_rounds: int = 3
    rounds: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        whole("max_trials", self.trials, 1, MOST)
        whole("max_dry_rounds", self.dry_rounds, 1, MOST)
        if self.rounds is not None:
            whole("max_rounds", self.rounds, 1, MOST)
        if self.tokens is not None:
            whole("max_tokens", self.tokens, 0, MOST)
        if self.seconds is not None:
            _number("max_seconds", self.seconds)

    @property
    def most_rounds(self) -> int:
        """Rounds at most, so that rejected proposals cannot go on for ever."""
        return 3 * self.trials if self.rounds is None else self.rounds


@dataclass(frozen=True)
class Guard:
    """What a trial must do to take the place of the best so far.

    Attributes:
        min_improvement: How much its stitched out-of-sample Sharpe ratio must be higher, a year.
        drawdown_tolerance: Share by which its drawdown may be deeper.
        drawdown_floor: Depth that is allowed beside that, so that a drawdown of 0 is no bar for good.
        correlation: From which correlation of returns on two candidates are one; the better one is kept.
        advanced_only: The short list holds only those that took that place.
    """

    min_improvement: float = 0.0
    drawdown_tolerance: float = 0.25
    drawdown_floor: float = 0.01
    correlation: float = 0.95
    advanced_only: bool = True

    def __post_init__(self) -> None:
        for name in ("min_improvement", "drawdown_tolerance", "drawdown_floor", "correlation"):
            _number(name, getattr(self, name))
        if not is_truth(self.advanced_only):
            raise refusal("argument_invalid", f"`advanced_only` must be True or False; received {self.advanced_only!r}")


@dataclass(frozen=True)
class ResearchConfig:
    """All that a session is told.

    Attributes:
        goal: What the person wants, in their words.
        split: How the bars are divided.
        budgets: When it stops.
        guard: What an advance takes.
        gates: What a trial must show to be kept at all.
        costs: What trading costs.
        limits: What a decision may ask for.
        seed: Seed of every draw.
        shortlist: Candidates handed to the person at most.
        max_tunable: Params that a proposal may set away from their defaults.
        inner_trials: Configurations that are tried in sample, in each fold, for a strategy that is code.
        allow_code: Whether proposals may be code, which is run in the sandbox.
        unsafe_no_isolation: Run code without one; every artefact says so.
        burn_holdout: Open a holdout that is spent; every result of it says how often it was opened before.
        training_cutoff: Last date that the language model may know of; None if unknown.
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
        text("goal", self.goal)
        seed_of(self.seed)
        whole("shortlist", self.shortlist, 1, 1000)
        whole("max_tunable", self.max_tunable, 0, 1000)
        whole("inner_trials", self.inner_trials, 1, 10_000)
        if self.training_cutoff is not None:
            _check_date(self.training_cutoff)
        for name in ("allow_code", "unsafe_no_isolation", "burn_holdout"):
            if not is_truth(getattr(self, name)):
                raise refusal("argument_invalid", f"`{name}` must be True or False; received {getattr(self, name)!r}")

    def to_json(self) -> dict[str, Any]:
        """Return the configuration as plain values; the seed is a text."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("split", "budgets", "guard", "gates"):
            told[name] = asdict(told[name])
        return told | {"costs": self.costs.to_dict(), "limits": self.limits.to_dict(), "seed": str(self.seed)}

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> ResearchConfig:
        """Read what `to_json` returned.

        Raises:
            OpenOutcryError: `argument_invalid`: a field is unknown or has a value that it cannot have.
        """
        given = dict(told)
        for name, make in _GROUPS.items():
            if name in given:
                given[name] = _made(make, name, given[name])
        if "seed" in given:
            given["seed"] = int(given["seed"])
        return _made(cls, "config", given)

    def with_(self, **changes: Any) -> ResearchConfig:
        """Return the configuration with some fields changed."""
        return replace(self, **changes)


def _check_date(told: Any) -> None:
    try:
        date.fromisoformat(told)
    except (TypeError, ValueError) as error:
        wanted = "`training_cutoff` must be an ISO date such as 2025-03-31"
        raise refusal("argument_invalid", f"{wanted}; received {told!r}") from error


_GROUPS: dict[str, Any] = {
    "split": Split,
    "budgets": Budgets,
    "guard": Guard,
    "gates": Thresholds,
    "costs": CostModel,
    "limits": Limits,
}


def _made(make: type[T], name: str, given: Any) -> T:
    if not isinstance(given, Mapping):
        raise refusal("argument_invalid", f"`{name}` must be an object; received {type(given).__name__}")
    try:
        return make(**given)
    except TypeError as error:
        raise refusal("argument_invalid", f"`{name}` must have known fields; received {error}") from error
