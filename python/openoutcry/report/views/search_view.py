"""Views of the search of a research session: parameter maps, history, folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["FoldRow", "HoldoutSpan", "MapPoint", "ParameterMap", "SearchView", "TrialPoint"]


@dataclass(frozen=True)
class MapPoint:
    """One evaluated configuration on a map.

    Attributes:
        number: Number of its round, from 1.
        x: Value of the horizontal parameter: a number, or a text for a category.
        y: Value of the vertical parameter; None on a map of one parameter.
        sharpe: Annual Sharpe ratio out of sample; None if undefined.
        params: All parameters, as text.
        role: `chosen`, `neighbour` or empty.
    """

    number: int
    x: float | str
    y: float | str | None
    sharpe: float | None
    params: str
    role: str = ""


@dataclass(frozen=True)
class ParameterMap:
    """Sharpe ratios of one strategy over one or two of its parameters.

    Attributes:
        strategy: Name of the strategy.
        x: Name of the horizontal parameter.
        y: Name of the vertical parameter; empty for one.
        points: The configurations, in order of their rounds.
        others: Other parameters that vary between the points.
        status: What the chosen point is, such as `place 1 of the short list`.
    """

    strategy: str
    x: str
    y: str
    points: Sequence[MapPoint]
    others: Sequence[str]
    status: str


@dataclass(frozen=True)
class TrialPoint:
    """One round of the history.

    Attributes:
        number: Number of the round, from 1.
        name: The strategy.
        outcome: `advanced`, `kept`, `discarded`, `rejected` or `crashed`.
        sharpe: Annual Sharpe ratio out of sample; None without one.
    """

    number: int
    name: str
    outcome: str
    sharpe: float | None


@dataclass(frozen=True)
class FoldRow:
    """One fold of the walk-forward, as dates.

    Attributes:
        train: First and last date of the training.
        test: First and last date of the test.
        n_gap: Bars between them.
        n_test: Bars of the test.
        sharpes: Annual Sharpe ratio of each drawn strategy in this test; None if undefined.
    """

    train: tuple[str, str]
    test: tuple[str, str]
    n_gap: int
    n_test: int
    sharpes: Sequence[float | None] = ()


@dataclass(frozen=True)
class HoldoutSpan:
    """The holdout.

    Attributes:
        first: Its first date.
        last: Its last date.
        result: Its state, as text.
    """

    first: str
    last: str
    result: str


@dataclass(frozen=True)
class SearchView:
    """The search of a session.

    Attributes:
        maps: Parameter maps, by strategy in the order of their best trial.
        not_drawn: Strategies without a map, each with the reason.
        history: All rounds in order.
        budget: Budget and use, as a sentence.
        folds: Folds of the walk-forward.
        fold_names: Names of the strategies of `FoldRow.sharpes`.
        holdout: The holdout; None for none.
    """

    maps: Sequence[ParameterMap] = ()
    not_drawn: Sequence[str] = ()
    history: Sequence[TrialPoint] = ()
    budget: str = ""
    folds: Sequence[FoldRow] = ()
    fold_names: Sequence[str] = ()
    holdout: HoldoutSpan | None = None
