"""Walk-forward folds and combinatorial splits: compared with skfolio and with their definitions."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.research.walkforward_folds import (
    Fold,
    Part,
    as_rows,
    combinatorial,
    folds,
    gap_of,
    paths,
    picture,
    reserve,
    run_part,
)

ORACLE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "oracle" / "skfolio_folds.json").read_text("utf-8"))


def assert_forward_is(row: dict[str, Any]) -> None:
    for mode in ("anchored", "rolling"):
        expected = tuple(Fold(tuple(train), tuple(test)) for train, test in row[mode])
        settings = {"train": row["train"], "test": row["test"], "gap": row["gap"], "mode": mode, "min_bars": 1}
        if not expected:
            with pytest.raises(oo.OpenOutcryError, match="received room for 0"):
                folds(row["n_bars"], **settings)
        else:
            assert folds(row["n_bars"], **settings) == expected


def assert_combined_is(row: dict[str, Any]) -> None:
    splits = combinatorial(row["n_bars"], row["n_groups"], row["n_test"], purge=row["purge"], embargo=row["embargo"])
    found = [([list(part) for part in split.train], [list(part) for part in split.test]) for split in splits]
    assert found == [tuple(each) for each in row["splits"]]
    routes = paths(splits)
    assert len(routes) == row["n_paths"]
    for place, split in enumerate(splits):
        ids = [next(k for k, path in enumerate(routes) if path[group] == place) for group in split.groups]
        assert ids == row["path_ids"][place]


@pytest.mark.parametrize("row", ORACLE["forward"], ids=lambda row: f"{row['n_bars']}-{row['train']}-{row['test']}")
def test_folds_equal_those_of_skfolio(row: dict[str, Any]) -> None:
    """A7: equal index for index to `WalkForward(train, test, purged_size=gap, expand_train)`."""
    assert_forward_is(row)


@pytest.mark.parametrize("row", ORACLE["combined"], ids=lambda row: f"{row['n_bars']}-{row['n_groups']}")
def test_combinatorial_splits_equal_those_of_skfolio(row: dict[str, Any]) -> None:
    assert_combined_is(row)


def bars(part: Part) -> set[int]:
    return set(range(*part))


SIZES = st.integers(1, 60)


@settings(max_examples=count(2000, 200))
@given(st.integers(2, 600), SIZES, SIZES, st.integers(0, 20), st.sampled_from(["anchored", "rolling"]))
def test_folds_follow_their_definition(n_bars: int, train: int, test: int, gap: int, mode: str) -> None:
    """A7: tests are consecutive from `train + gap` on, and a training ends `gap` bars before its test."""
    expected, first = [], train + gap
    while first + test <= n_bars:
        fit = [bar for bar in range(first - gap) if mode == "anchored" or bar >= first - gap - train]
        expected.append((fit, list(range(first, first + test))))
        first += test
    if not expected:
        with pytest.raises(oo.OpenOutcryError, match="argument_invalid"):
            folds(n_bars, train=train, test=test, gap=gap, mode=mode, min_bars=1)
        return
    found = folds(n_bars, train=train, test=test, gap=gap, mode=mode, min_bars=1)
    assert [(list(range(*fold.train)), list(range(*fold.test))) for fold in found] == expected
    capped = folds(n_bars, 1, train=train, test=test, gap=gap, mode=mode, min_bars=1)
    assert capped == found[:1]


@settings(max_examples=count(2000, 200))
@given(n_bars=st.integers(60, 5000), n_folds=st.integers(1, 12), gap=st.integers(1, 40))
def test_n_folds_share_the_bars_evenly(n_bars: int, n_folds: int, gap: int) -> None:
    """A7: test = train = floor((R - embargo) / (n_folds + 1)), exactly `n_folds` of them, or a refusal."""
    size = (n_bars - gap) // (n_folds + 1)
    if size < 30:
        with pytest.raises(oo.OpenOutcryError, match="a test must have at least 30 bars"):
            folds(n_bars, n_folds, gap=gap)
        return
    found = folds(n_bars, n_folds, gap=gap)
    assert [fold.test[0] for fold in found] == [size + gap + k * size for k in range(n_folds)]
    assert all(fold.test[1] - fold.test[0] == size for fold in found)
    assert found[-1].test[1] <= n_bars
    for fold in found:
        assert fold.train[0] == 0
        assert fold.train[1] + gap == fold.test[0]
        assert not bars(fold.train) & bars(fold.test)


@settings(max_examples=count(500, 60))
@given(data=st.data(), n_groups=st.integers(3, 7))
def test_no_split_trains_within_purge_or_embargo_of_a_test(data: st.DataObject, n_groups: int) -> None:
    n_bars = data.draw(st.integers(4 * n_groups, 200))
    room = n_bars // n_groups
    purge = data.draw(st.integers(0, room - 1))
    embargo, n_test = data.draw(st.integers(0, room - 1 - purge)), data.draw(st.integers(1, n_groups - 1))
    splits = combinatorial(n_bars, n_groups, n_test, purge=purge, embargo=embargo)
    assert len(splits) == comb(n_groups, n_test)
    for split in splits:
        fit = set().union(*(bars(part) for part in split.train))
        reached: set[int] = set()
        for first, end in split.test:
            reached |= set(range(first - purge, end + purge + embargo)) & set(range(n_bars))
        assert fit == set(range(n_bars)) - reached
    routes = paths(splits)
    assert len(routes) == comb(n_groups, n_test) * n_test // n_groups
    used = [(place, group) for path in routes for group, place in enumerate(path)]
    assert sorted(used) == sorted((place, group) for place, split in enumerate(splits) for group in split.groups)


@pytest.mark.parametrize(
    ("n_bars", "arguments", "message"),
    [
        (100, {}, "both `train` and `test`"), (100, {"train": 40}, "both `train` and `test`"),
        (100, {"n_folds": 4}, "at least 30 bars; received 19"), (100, {"train": 50, "test": 29}, "at least 30 bars"),
        (500, {"n_folds": 4, "lookback": 200}, "at least 200 closes, as a decision needs; received 99"),
        (100, {"train": 40, "test": 30, "n_folds": 2}, "2 tests of 30; received room for 1"),
        (100, {"n_folds": 1, "train": 99, "min_bars": 1}, "received 0"), (100, {"n_folds": 0}, "n_folds"),
        (100, {"n_folds": True}, "n_folds"), (100, {"train": 1.0, "test": 30}, "train"), (1, {"n_folds": 1}, "n_bars"),
        (100, {"n_folds": 1, "mode": "expanding"}, "anchored or rolling"), (100, {"n_folds": 1, "gap": -1}, "gap"),
        (100, {"n_folds": 1, "test": 100}, "at least 1 close, as"), (100, {"n_folds": 1, "gap": 200}, "at least 30"),
    ],
)  # fmt: skip
def test_impossible_folds_are_refused(n_bars: int, arguments: dict[str, Any], message: str) -> None:
    """A7: test < min_bars and train < lookback are refused, as is any other number of folds than requested."""
    with pytest.raises(oo.OpenOutcryError, match=f"^argument_invalid: .*{message}"):
        folds(n_bars, **arguments)


@pytest.mark.parametrize("arguments", [(100, 2, 1), (100, 5, 5), (100, 5, 0), (9, 10, 2), (100, 1000, 500), (1, 3, 1)])
def test_impossible_splits_are_refused(arguments: tuple[int, int, int]) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"^argument_invalid"):
        combinatorial(*arguments)


def test_purge_and_embargo_must_be_shorter_than_a_group() -> None:
    with pytest.raises(oo.OpenOutcryError, match="below the 20 bars of a group; received 20"):
        combinatorial(100, 5, 2, purge=10, embargo=10)


def test_a_missing_size_is_derived_from_the_remaining_bars() -> None:
    assert folds(500, 4, train=96, gap=4)[0] == Fold((0, 96), (100, 200))
    assert folds(500, 4, test=50, gap=4)[-1] == Fold((0, 446), (450, 500))


def test_the_holdout_is_the_last_part_after_an_embargo() -> None:
    """A7."""
    assert reserve(1000, 60, 5) == 935
    with pytest.raises(oo.OpenOutcryError, match=r"must leave two of 100 bars; received 1$"):
        reserve(100, 95, 4)
    for wrong in ((100, 1, 0), (100, 10, -1), (100, True, 0)):
        with pytest.raises(oo.OpenOutcryError, match="argument_invalid"):
            reserve(*wrong)


def test_the_gap_is_the_larger_of_embargo_and_horizon() -> None:
    """A8: `max(embargo, h, 1)`."""
    assert [gap_of(), gap_of(0, 0), gap_of(5, 2), gap_of(2, 5)] == [1, 1, 5, 5]


def test_a_picture_shows_training_gap_and_test() -> None:
    assert picture(folds(20, train=5, test=5, gap=2, min_bars=1), 20) == "-----..#####........\n----------..#####..."
    drawn = picture(combinatorial(12, 3, 1, purge=1, embargo=1), 12)
    assert drawn == "####..------\n---.####..--\n-------.####"
    rows = as_rows(folds(20, train=5, test=5, gap=2, min_bars=1), tuple(f"d{bar}" for bar in range(20)))
    assert rows[1] == {
        "fold": 1, "train": [0, 10], "train_dates": ["d0", "d9"], "test": [12, 17], "test_dates": ["d12", "d16"],
    }  # fmt: skip


def test_a_test_starts_and_ends_flat_and_pays_exit_costs() -> None:
    """A8: the warm-up precedes the test without orders; the end is forced flat, with costs."""
    dataset, part = oo.Dataset.synthetic(3, 200, 2), (120, 160)
    run = run_part(LIBRARY["risk-parity"](window=20), dataset, part)
    assert run.dates == dataset.dates[120:160]
    assert (run.weights[0] == 0.0).all()
    assert (run.weights[-1] == 0.0).all()
    assert np.abs(run.weights[1:-1]).sum(axis=1).min() > 0.9
    assert run.costs["fee"][-1] > 0.0
    other = run_part(LIBRARY["risk-parity"](window=20), dataset.head(161), part)
    assert other.nav.tobytes() == run.nav.tobytes()
