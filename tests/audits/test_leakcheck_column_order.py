"""Leaks through column order, row order, types, spaces and the first rows of a column."""

from __future__ import annotations

from typing import Any

import leak_targets as targets
import numpy as np
import pandas as pd
import polars as pl
import pytest
from gymnasium import spaces

import openoutcry as oo
from openoutcry.audits.leakcheck import Report, assert_no_lookahead, check, market_frames

pytestmark = pytest.mark.once


def frame_of(n_bars: int = 160, n_symbols: int = 1) -> pd.DataFrame:
    frame: pd.DataFrame = market_frames.synthetic("pipeline", "pandas", n_bars, n_symbols)
    return frame


def found(report: Report) -> dict[str, int]:
    """Return the first row of each column that looks ahead."""
    return {leak.reach.column: leak.reach.first for leak in report.leaks}


def rises(frame: pd.DataFrame) -> bool:
    return bool(frame["close"].iloc[-1] > frame["close"].iloc[0])


def next_moves(frame: pd.DataFrame) -> pd.Series:
    return frame["close"].pct_change().shift(-1)


PLANTED = {
    "columns by correlation": (lambda f: f[list(f.corrwith(next_moves(f)).sort_values().index)], "columns (order)"),
    "rows by next return": (lambda f: f.loc[next_moves(f).sort_values().index], "rows (order)"),
    "size of floats": (lambda f: f[["close"]].astype("float32" if rises(f) else "float64"), "close (type)"),
    "whole numbers": (lambda f: (f[["close"]] > 50.0).astype("int64" if rises(f) else bool), "close (type)"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_order_or_type_that_depends_on_the_future_is_a_leak(name: str) -> None:
    target, column = PLANTED[name]
    frame = frame_of() * np.linspace(1.0, 3.0, 160)[:, None] ** (1.0 if name != "size of floats" else 0.0)
    report = check(target, frame, kind="pipeline")
    assert list(found(report)) == [column]
    assert report.n_columns == len(report.columns) + 1


def by_day(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort by a key with ties, in any order within a tie."""
    return frame.assign(day=pd.DatetimeIndex(frame.index).dayofweek).sort_values("day")


def shorter_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns with types that depend on missing values."""
    days = np.arange(len(frame))
    side = pd.Series(np.where(days < 50, 1, 0), index=frame.index)
    return pd.DataFrame({"gap": side.where(days != 90), "word": pd.Series("a", index=frame.index).where(days > 20)})


def by_threads(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("date").agg(pl.col("close").last())


def test_a_row_order_that_depends_on_threads_is_not_a_leak() -> None:
    assert_no_lookahead(by_threads, market_frames.synthetic("pipeline", "polars", 160), kind="pipeline")


@pytest.mark.parametrize("target", [by_day, shorter_types, lambda f: f.sort_values("close")])
def test_an_order_or_type_that_depends_on_the_past_is_not_a_leak(target: Any) -> None:
    assert_no_lookahead(target, frame_of(), kind="pipeline")


def test_rows_of_one_date_may_come_in_any_order() -> None:
    frame = frame_of(30, 3)
    assert_no_lookahead(lambda each: each.sort_values("date").groupby("symbol", group_keys=False).head(1_000), frame)
    descending = frame.sort_values(["date", "symbol"], ascending=False)
    assert_no_lookahead(lambda each: each.assign(rank=each.groupby("date")["close"].rank()), descending)


def test_a_pivot_has_a_row_for_each_date() -> None:
    frame = frame_of(30, 3)

    def wide(each: pd.DataFrame) -> pd.DataFrame:
        return each.pivot(index="date", columns="symbol", values="close")

    report = assert_no_lookahead(lambda each: np.log(wide(each)).diff(), frame)
    assert report.columns == ("S000", "S001", "S002")
    report = check(lambda each: wide(each).shift(-1)[["S001"]].reset_index(), frame, kind="pipeline")
    assert found(report) == {"S001": 0}
    assert max(each.drop for each in report.leaks[0].worth) > 5.0
    with pytest.raises(ValueError, match=r"received 10 rows; hint: keep the columns `date` and `symbol`"):
        check(lambda each: each["close"].to_numpy()[:10], frame, kind="pipeline")


def test_lists_with_nan_in_them_are_compared() -> None:
    def pairs(each: pd.DataFrame, lag: int) -> pd.DataFrame:
        both = zip(each["close"], each["close"].shift(lag), strict=True)
        return pd.DataFrame({"pair": [list(pair) for pair in both]}, index=each.index)

    assert_no_lookahead(lambda each: pairs(each, 1), frame_of(60))
    assert found(check(lambda each: pairs(each, -1), frame_of(60))) == {"pair": 0}


def test_cuts_are_added_where_a_column_starts() -> None:
    def filled(each: pd.DataFrame, warm_up: float = np.nan) -> pd.DataFrame:
        return each["close"].rolling(50).mean().bfill(limit=3).fillna(warm_up).to_frame("average")

    assert found(check(filled, frame_of())) == {"average": 46}
    assert found(check(lambda each: filled(each, 0.0), frame_of())) == {"average": 46}


class Hints(targets.Market):
    """Shows the next close at reset."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        seen, _ = super().reset(seed=seed, options=options)
        return seen, {"hint": float(self.prices[self.t + 1])}


class BackFilled(targets.Market):
    """Shows an average whose first rows are back-filled."""

    def __init__(self, frame: pd.DataFrame, window: int) -> None:
        super().__init__(frame, window)
        self.average = frame["close"].rolling(window + 5).mean().bfill().to_numpy()

    def _seen(self) -> np.ndarray:
        return np.array([self.average[self.t] / self.prices[self.t]])


@pytest.mark.parametrize(("make", "column"), [(Hints, "info.hint"), (BackFilled, "observation")])
def test_cuts_are_added_at_the_first_observation_of_an_environment(make: Any, column: str) -> None:
    report = check(
        lambda each: make(each, window=40), market_frames.synthetic("env", "pandas", 100), kind="env", n_cuts=12
    )
    assert report.clock is not None
    assert report.clock.start == 40
    assert found(report) == {column: 40}


class Shown(targets.Market):
    """The info depends on the next move."""

    one: Any = None
    two: Any = None

    def step(self, action: int) -> Any:
        seen, reward, terminated, truncated, _ = super().step(action)
        later = self.t + 1 < len(self.prices) and self._return(self.t + 1) > 0.0
        return seen, reward, terminated, truncated, {"m": self.one, "n": 0} if later else {"m": self.two, "n": 0}


SHOWN = {
    "shape": (np.zeros((2, 3)), np.zeros((3, 2)), "info (layout)"),
    "type": (1, 1.0, "info (layout)"),
    "nothing": ({}, None, "info (layout)"),
    "bytes": (b"up", b"down", "info.m"),
    "set": ({"up"}, {"down"}, "info.m"),
    "complex": (1j, 2j, "info.m[1]"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_structure_of_a_value_is_compared(name: str) -> None:
    one, two, column = SHOWN[name]
    make = type("Made", (Shown,), {"one": one, "two": two})
    report = check(make, market_frames.synthetic("env", "pandas", 60), kind="env", n_cuts=10)
    assert found(report) == {column: 6}
    assert report.not_compared == ()


def test_the_order_of_keys_and_the_spaces_are_compared() -> None:
    class Ordered(Shown):
        def step(self, action: int) -> Any:
            *values, info = super().step(action)
            return (*values, {"a": 1, "b": 2} if info["m"] else {"b": 2, "a": 1})

    class Bounded(targets.Market):
        def __init__(self, frame: Any) -> None:
            super().__init__(frame)
            self.observation_space = spaces.Box(self.prices.min(), self.prices.max(), (5,), np.float64)
            self.action_space = spaces.Discrete(3 if self.prices[-1] > self.prices[0] else 4)

    frame = market_frames.synthetic("env", "pandas", 60)
    report = check(type("Made", (Ordered,), {"one": True}), frame, kind="env", n_cuts=10)
    assert found(report) == {"info (layout)": 6}
    leaks = found(check(Bounded, frame, kind="env", n_cuts=10))
    assert {name.partition(".")[0].partition("[")[0] for name in leaks} == {"observation_space", "action_space"}


def test_a_start_that_depends_on_the_length_of_the_data_has_no_comparable_output() -> None:
    class Anywhere(targets.Market):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            _, info = super().reset(seed=seed, options=options)
            self.t = int(self.np_random.integers(self.window, max(len(self.prices) - 20, self.window + 1)))
            return self._seen(), info

    class Knows(Anywhere):
        ahead = 1

    frame = market_frames.synthetic("env", "pandas", 90)
    report = check(Anywhere, frame, kind="env", n_cuts=6)
    assert (report.leaks, report.untried) == ((), ("truncation",))
    assert_no_lookahead(Anywhere, frame, kind="env", n_cuts=6, without=["truncation"])
    assert "observation[4]" in found(check(Knows, frame, kind="env", n_cuts=6))


def test_texts_of_an_agent_are_compared_unless_they_differ_between_runs() -> None:
    words = iter(range(1_000_000))

    def make(frame: pd.DataFrame, decision: Any) -> Any:
        closes = frame.pivot(index="date", columns="symbol", values="close")
        rises = (closes.shift(-1) > closes)[closes.columns[0]]

        def decide(observation: Any) -> Any:
            later = bool(rises.get(pd.Timestamp(observation["date"]), False))
            order = {"symbol": closes.columns[0], "action": "buy", "target_weight": 0.3}
            return decision(order, later)

        return decide

    says = lambda order, later: {"orders": [order], "reasoning": "up" if later else "down"}  # noqa: E731
    sure = lambda order, later: {"orders": [{**order, "confidence": 0.9 if later else 0.1}]}  # noqa: E731
    other = lambda order, _: {"orders": [order], "reasoning": f"{next(words)}"}  # noqa: E731
    frame = market_frames.synthetic("agent", "pandas", 40)

    def checked(decision: Any) -> Report:
        return check(lambda each: make(each, decision), frame, kind="agent", n_cuts=6)

    assert found(checked(says)) == {"reasoning": 0}
    assert found(checked(sure)) == {"confidence[S000]": 0}
    report = checked(other)
    assert (report.leaks, report.not_compared) == ((), ("reasoning (differs from run to run)",))


def by_label(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one feature of the past and one of the future, whatever the order of rows and columns."""
    closes = frame["close"].sort_index()
    return pd.DataFrame({"past": closes.pct_change(), "ahead": closes.shift(-1)}).reindex(frame.index)


ORDERS = {
    "as it is": lambda frame: frame,
    "reversed rows": lambda frame: frame[::-1],
    "rows in no order": lambda frame: frame.sample(frac=1.0, random_state=3),
    "reordered columns": lambda frame: frame[sorted(frame.columns, reverse=True)],
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_verdict_of_a_target_that_reads_labels_is_the_same_in_any_order(order: str) -> None:
    report = check(by_label, ORDERS[order](frame_of(60)), kind="pipeline", n_cuts=4)
    assert [(leak.reach.column, leak.reach.horizon) for leak in report.leaks] == [("ahead", 1)]
    is_noted = any("not in the order of their dates" in note for note in report.notes)
    assert is_noted == ("rows" in order)


@pytest.mark.parametrize("order", ORDERS)
def test_the_verdict_on_an_agent_is_the_same_in_any_order(order: str) -> None:
    def make(frame: pd.DataFrame) -> Any:
        closes = frame.pivot(index="date", columns="symbol", values="close")
        rises = (closes.shift(-1) > closes)[closes.columns[0]]

        def decide(observation: Any) -> Any:
            weight = 0.3 if rises.get(pd.Timestamp(observation["date"]), False) else 0.1
            return {"orders": [{"symbol": closes.columns[0], "action": "buy", "target_weight": weight}]}

        return decide

    frame = ORDERS[order](market_frames.synthetic("agent", "pandas", 40, 2))
    assert found(check(make, frame, kind="agent", n_cuts=4)) == {"weight[S000]": 0}


@pytest.mark.parametrize("order", ORDERS)
def test_the_verdict_on_an_environment_is_the_same_in_any_order(order: str) -> None:
    def make(frame: pd.DataFrame) -> oo.OpenOutcryEnv:
        table = frame.reset_index()[["date", "close"]].assign(symbol="A")
        return oo.OpenOutcryEnv(oo.Dataset.from_frame(table), lookback=3)

    report = check(make, ORDERS[order](frame_of(40)), kind="env", n_cuts=3)
    assert (report.leaks, report.incomplete) == ((), None)


def test_a_shift_of_rows_is_judged_by_the_dates_that_it_reads() -> None:
    earlier = lambda frame: frame[["close"]].shift(1)  # noqa: E731
    for order, leaks in (("as it is", {}), ("reversed rows", {"close": 59})):
        assert found(check(earlier, ORDERS[order](frame_of(60)), kind="pipeline", n_cuts=4)) == leaks
