"""Walk-forward folds and combinatorial splits.

All ranges of bars are half-open, `(first, end)`. A `Fold` is a training part and a test part after it, `gap` bars
apart, so that no measurement of one part reaches into the other. `combinatorial` tests every combination of groups and
also trains on bars after a test, which requires an embargo in addition to the purge.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

from openoutcry.arguments import checked_integer
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.untrusted.counted_nouns import counted

Part = tuple[int, int]
"""Bars `[first, end)`."""

MODES = ("anchored", "rolling")

_MOST = 2**53
_MOST_SPLITS = 100_000


@dataclass(frozen=True)
class Fold:
    """A training part and the test part after it.

    Attributes:
        train: Training bars.
        test: Test bars, `gap` bars after the training.
    """

    train: Part
    test: Part


@dataclass(frozen=True)
class Split:
    """A combination of tested groups, with the training bars that remain.

    Attributes:
        groups: Indices of the tested groups.
        train: Ranges of training bars, in order.
        test: Bars of each tested group, in order.
    """

    groups: tuple[int, ...]
    train: tuple[Part, ...]
    test: tuple[Part, ...]


def reserve(n_bars: int, holdout: int, embargo: int) -> int:
    """Return the end of the research window when a holdout is reserved.

    The holdout is the last `holdout` bars; the `embargo` bars before it belong to neither part.

    Raises:
        OpenOutcryError: `argument_invalid`: fewer than two bars are left.
    """
    n_bars, embargo = checked_integer("n_bars", n_bars, 2, _MOST), checked_integer("embargo", embargo, 0, _MOST)
    holdout = checked_integer("holdout", holdout, 2, _MOST)
    end = n_bars - holdout - embargo
    if end < 2:
        parts = f"a holdout of {counted(holdout, 'bar')} and an embargo of {embargo:,}"
        wanted = f"{parts} must leave two of {counted(n_bars, 'bar')}"
        raise refusal("argument_invalid", f"{wanted}; received {end}")
    return end


def gap_of(embargo: int = 0, horizon: int = 1) -> int:
    """Return the minimum gap in bars between training and test.

    Args:
        embargo: Requested bars.
        horizon: Bars that a decision is held, or that a fitted label looks ahead.
    """
    return max(checked_integer("embargo", embargo, 0, _MOST), checked_integer("horizon", horizon, 0, _MOST), 1)


def folds(
    n_bars: int,
    n_folds: int | None = None,
    *,
    train: int | None = None,
    test: int | None = None,
    mode: str = "anchored",
    gap: int = 1,
    lookback: int = 1,
    min_bars: int = 30,
) -> tuple[Fold, ...]:
    """Return the folds of the research window, with consecutive tests.

    With `n_folds` alone, both parts have `(n_bars - gap) // (n_folds + 1)` bars. With `n_folds` and one part, the other
    part gets the remaining bars. With both parts alone, there are as many folds as fit, with the same bars as skfolio's
    `WalkForward(test, train, purged_size=gap, expand_train=mode == "anchored")`.

    Args:
        n_bars: Bars of the research window, without holdout.
        n_folds: Exact number of folds.
        train: Training bars; of the first fold if `mode` is anchored.
        test: Test bars.
        mode: `anchored`, trained on all bars from bar 0, or `rolling`, on the last `train` bars.
        gap: Bars between training and test.
        lookback: Closes that a decision needs; the minimum length of the first training.
        min_bars: Minimum number of test bars.

    Raises:
        OpenOutcryError: `argument_invalid`: a part is too short, or there are too few bars.
    """
    if mode not in MODES:
        raise refusal("argument_invalid", f"`mode` must be {' or '.join(MODES)}; received {mode!r}")
    n_bars, gap = checked_integer("n_bars", n_bars, 2, _MOST), checked_integer("gap", gap, 0, _MOST)
    train, test = _sizes(n_bars - gap, n_folds, train, test)
    least_test, least_train = (
        checked_integer("min_bars", min_bars, 1, _MOST),
        checked_integer("lookback", lookback, 1, _MOST),
    )
    if test < least_test:
        raise refusal("argument_invalid", f"a test must have at least {least_test} bars; received {test} of {n_bars}")
    if train < least_train:
        wanted = f"a training part must have at least {counted(least_train, 'close')}, as a decision needs"
        raise refusal("argument_invalid", f"{wanted}; received {train:,} of {counted(n_bars, 'bar')}")
    n_fit = max(0, (n_bars - gap - train) // test)
    count = n_fit if n_folds is None else n_folds
    if not 1 <= count <= n_fit:
        tests = f"{counted(max(count, 1), 'test')} of {test:,}"
        wanted = f"{counted(n_bars, 'bar')} must fit a training of {train:,}, a gap of {gap:,} and {tests}"
        raise refusal("argument_invalid", f"{wanted}; received room for {n_fit}")
    ends = (train + k * test for k in range(count))
    return tuple(Fold((0 if mode == "anchored" else e - train, e), (e + gap, e + gap + test)) for e in ends)


def _sizes(n_bars: int, n_folds: int | None, train: int | None, test: int | None) -> tuple[int, int]:
    """Return the lengths of training and test; missing ones share the remaining bars."""
    if n_folds is not None:
        n_folds = checked_integer("n_folds", n_folds, 1, _MOST)
    elif train is None or test is None:
        raise refusal("argument_invalid", "`n_folds`, or both `train` and `test`, are required; received neither")
    train = None if train is None else checked_integer("train", train, 1, _MOST)
    test = None if test is None else checked_integer("test", test, 1, _MOST)
    if n_folds is not None and train is None and test is None:
        train = test = n_bars // (n_folds + 1)
    elif n_folds is not None and test is None and train is not None:
        test = (n_bars - train) // n_folds
    elif n_folds is not None and train is None and test is not None:
        train = n_bars - n_folds * test
    assert train is not None, "a fold has both parts"
    assert test is not None, "a fold has both parts"
    return train, test


def combinatorial(n_bars: int, n_groups: int, n_test: int, *, purge: int = 1, embargo: int = 0) -> tuple[Split, ...]:
    """Return the splits of combinatorial purged cross-validation.

    The bars are divided into groups of `n_bars // n_groups`, with the remainder in the last one, and every combination
    of `n_test` groups is tested. The bars equal those of skfolio's `CombinatorialPurgedCV(n_groups, n_test, purge,
    embargo)`, in its order. Source: López de Prado (2018), chapter 12.

    Args:
        n_bars: Bars of the research window, without holdout.
        n_groups: Number of groups, at least three.
        n_test: Groups tested per split.
        purge: Bars before and after a tested group that are excluded from training.
        embargo: Additional excluded bars after a tested group.

    Raises:
        OpenOutcryError: `argument_invalid`: there are too many splits, or purge and embargo fill a group.
    """
    n_bars, n_groups = checked_integer("n_bars", n_bars, 2, _MOST), checked_integer("n_groups", n_groups, 3, 1000)
    n_test = checked_integer("n_test", n_test, 1, n_groups - 1)
    purge, embargo = checked_integer("purge", purge, 0, _MOST), checked_integer("embargo", embargo, 0, _MOST)
    size = n_bars // n_groups
    if purge + embargo >= size:
        wanted = f"purge and embargo together must be below the {counted(size, 'bar')} of a group"
        raise refusal("argument_invalid", f"{wanted}; received {purge + embargo}")
    if comb(n_groups, n_test) > _MOST_SPLITS:
        received = f"{comb(n_groups, n_test):,}, of {n_test} among {n_groups} groups"
        raise refusal("argument_invalid", f"at most {_MOST_SPLITS:,} splits are possible; received {received}")
    edges = [*range(0, n_groups * size, size), n_bars]
    groups = [(edges[k], edges[k + 1]) for k in range(n_groups)]
    found = []
    for chosen in combinations(range(n_groups), n_test):
        trained = (k for k in range(n_groups) if k not in chosen)
        fit: list[Part] = []
        for k in trained:
            first = groups[k][0] + (purge + embargo if k - 1 in chosen else 0)
            end = groups[k][1] - (purge if k + 1 in chosen else 0)
            if fit and fit[-1][1] == first:
                fit[-1] = fit[-1][0], end
            elif first < end:
                fit.append((first, end))
        found.append(Split(chosen, tuple(fit), tuple(groups[k] for k in chosen)))
    return tuple(found)


def paths(splits: tuple[Split, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the paths through all groups that the tests of splits form.

    A path holds, for each group, the split that tests the group on this path. There are C(n, k) k / n paths, and each
    test of a split belongs to one path.
    """
    n_groups = 1 + max(group for split in splits for group in split.groups)
    tests = [[place for place, split in enumerate(splits) if group in split.groups] for group in range(n_groups)]
    return tuple(zip(*tests, strict=True))


def picture(parts: tuple[Fold, ...] | tuple[Split, ...], n_bars: int, width: int = 60) -> str:
    """Return a text drawing of folds or splits, one per line.

    `-` is training, `#` test, `.` neither. If a character represents several bars, it shows the first one.
    """
    width = min(checked_integer("width", width, 1, 1000), checked_integer("n_bars", n_bars, 1, _MOST))
    firsts = [place * n_bars // width for place in range(width)]
    return "\n".join("".join(_letter(each, bar) for bar in firsts) for each in parts)


def _letter(part: Fold | Split, bar: int) -> str:
    trains = (part.train,) if isinstance(part, Fold) else part.train
    tests = (part.test,) if isinstance(part, Fold) else part.test
    if any(first <= bar < end for first, end in tests):
        return "#"
    return "-" if any(first <= bar < end for first, end in trains) else "."


def as_rows(parts: tuple[Fold, ...], dates: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return folds as plain values: bars and dates."""
    rows = []
    for index, fold in enumerate(parts):
        row: dict[str, Any] = {"fold": index}
        for name, (first, end) in (("train", fold.train), ("test", fold.test)):
            row |= {name: [first, end], f"{name}_dates": [dates[first], dates[end - 1]]}
        rows.append(row)
    return rows


def run_part(
    strategy: Strategy,
    dataset: Dataset,
    part: Part,
    costs: CostModel | None = None,
    limits: Limits | None = None,
) -> Run:
    """Run a strategy over a range of bars, flat at the first and at the last bar.

    The closes before the range warm it up without orders. The last decision closes all positions, so that the run pays
    the exit costs. A strategy that is still warming up has no position.
    """
    table = closed_out(strategy.table(dataset, *part), part)
    return run_backtest(dataset, table, part, costs, limits, lookback=1, name=strategy.name)


def closed_out(table: Array, part: Part) -> Array:
    """Return weights with the last decision of a range set to flat."""
    flat: Array = table.copy()
    flat[part[1] - 2] = 0.0
    return flat
