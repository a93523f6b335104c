"""The leak check finds planted leaks and reports none for causal targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import leak_targets as targets
import numpy as np
import pandas as pd
import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.audits.leakcheck import Report, assert_no_lookahead, check, market_frames
from openoutcry.audits.leakcheck.cut_points import grid_cuts
from openoutcry.gym import OpenOutcryEnv

pytestmark = pytest.mark.once

N_BARS = 300


def frame_of(kind: str = "pipeline", library: str = "pandas", n_bars: int = N_BARS) -> Any:
    return market_frames.synthetic(kind, library, n_bars)


def found(report: Report) -> dict[str, tuple[int, int]]:
    """Return the horizon and the first row of each column that looks ahead."""
    return {leak.reach.column: (leak.reach.horizon, leak.reach.first) for leak in report.leaks}


OHLCV = ("open", "high", "low", "close", "volume")


@pytest.mark.parametrize(
    ("target", "leaks"),
    [
        (targets.scaler, dict.fromkeys(OHLCV, (N_BARS - 1, 0))),
        (targets.shifted, {"next": (1, 0)}),
        (targets.centred, {"smooth": (5, 5)}),
        (targets.back_filled, {"average": (19, 0)}),
        (targets.global_mean, {"filled": (N_BARS - 1, 0)}),
        (targets.dropped, dict.fromkeys((*OHLCV, "next"), (1, 0))),
        (targets.weekly, {"week": (4, 0)}),
        (targets.clock_of_data, {"progress": (N_BARS - 2, 1)}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_planted_leak_of_a_pipeline_is_found(target: Callable[[Any], Any], leaks: dict[str, tuple[int, int]]) -> None:
    report = check(target, frame_of())
    assert report.kind == "pipeline"
    assert found(report) == leaks
    is_whole = {leak.reach.column for leak in report.leaks if leak.reach.is_whole}
    assert is_whole == {column for column, (horizon, _) in leaks.items() if horizon > 100}


def test_a_leak_of_1e_12_of_a_value_is_found() -> None:
    (leak,) = check(targets.tiny, frame_of()).leaks
    assert (leak.reach.column, leak.reach.horizon, leak.reach.kinds) == ("next", 1, ("garbage",))


@pytest.mark.parametrize("name", targets.CAUSAL)
def test_a_causal_pipeline_has_no_leak(name: str) -> None:
    report = assert_no_lookahead(targets.CAUSAL[name], frame_of(), name=name)
    assert report.is_clean
    assert not report.unchecked
    assert len(report.columns) > 0


def test_there_are_twenty_causal_pipelines() -> None:
    assert len(targets.CAUSAL) >= 20


@settings(max_examples=count(100, 12))
@given(lag=st.integers(-9, 9), window=st.integers(1, 12), cuts=st.integers(6, 30))
def test_a_shifted_average_looks_ahead_by_its_shift(lag: int, window: int, cuts: int) -> None:
    def shifted(frame: Any) -> Any:
        return frame["close"].rolling(window).mean().shift(lag).to_frame("average")

    report = check(shifted, frame_of(n_bars=80), n_cuts=cuts)
    first = max(window - 1 + lag, 0)
    assert found(report) == ({"average": (-lag, first)} if lag < 0 else {})


def test_the_sharpe_ratio_of_a_leak_vanishes_with_one_bar_of_delay() -> None:
    (leak,) = check(targets.shifted, frame_of()).leaks
    worth = {each.signal: each for each in leak.worth}
    assert set(worth) == {"sign", "change", "zscore"}
    assert worth["change"].sharpe > 10.0
    assert abs(worth["change"].delayed) < 2.0
    assert worth["change"].drop == worth["change"].sharpe - worth["change"].delayed
    # The sign of a price is always 1, which is buy-and-hold with or without delay.
    assert abs(worth["sign"].drop) < 0.5


def test_a_sharpe_ratio_has_the_bars_per_year_of_the_dates_or_none() -> None:
    frame = frame_of()
    (inferred,) = check(targets.shifted, frame).leaks
    (stated,) = check(targets.shifted, frame, periods_per_year=252).leaks
    (monthly,) = check(targets.shifted, frame, periods_per_year=12).leaks
    assert inferred.worth == stated.worth
    for day, month in zip(stated.worth, monthly.worth, strict=True):
        assert month.sharpe == pytest.approx(day.sharpe * (12 / 252) ** 0.5, rel=1e-9)
    minutes = frame.set_axis(pd.date_range("2024-01-02 14:30", periods=len(frame), freq="min"))
    (unknown,) = check(targets.shifted, minutes).leaks
    assert unknown.worth == ()
    assert unknown.unpriced == "the dates do not show the number of bars per year; hint: state `periods_per_year`"


def test_a_leak_without_prices_has_a_reason_instead_of_a_sharpe_ratio() -> None:
    table = np.random.default_rng(1).normal(size=(60, 2))
    (leak,) = check(lambda array: np.append(array[1:, 0], 0.0), table, kind="pipeline").leaks
    assert (leak.worth, leak.unpriced) == ((), "the data has no column of closes")


@pytest.mark.parametrize(("target", "library"), [(targets.polars_next, "polars"), (targets.array_next, "numpy")])
def test_frames_of_polars_and_arrays_of_numpy_are_checked(target: Callable[[Any], Any], library: str) -> None:
    report = check(target, frame_of(library=library))
    assert found(report) == {"next" if library == "polars" else "[0]": (1, 0)}


def test_rows_of_one_date_are_one_bar_in_any_order() -> None:
    frame = frame_of("agent")

    def by_symbol(given: Any) -> Any:
        ahead = given.sort_values(["symbol", "date"])
        return ahead.assign(next=ahead.groupby("symbol")["close"].shift(-1), rank=given.groupby("date")["close"].rank())

    for each in (frame, frame.sort_values(["symbol", "date"]).reset_index(drop=True)):
        report = check(by_symbol, each)
        assert report.source.n_bars == N_BARS
        assert found(report) == {"next": (1, 0)}
        assert report.leaks[0].date == "2000-01-03"


def test_a_target_may_modify_its_input_frame() -> None:
    def in_place(frame: Any) -> Any:
        frame["close"] = frame["close"].shift(1)
        frame.pop("open")
        return frame

    assert check(in_place, frame_of()).is_clean


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            targets.random_noise,
            "`target` must return the same values for the same data; received a different `open` at row 0",
        ),
        (targets.remembers, "`target` must return the same values for the same data"),
        (targets.breaks, "`target` must run on the unchanged data; received KeyError: 'volume_usd'"),
        (targets.shorter, "a result must have a row for each of 300 rows; received 290 rows"),
        (lambda frame: 1.0, "a pipeline must return a pandas or polars frame or a 1-D, 2-D or structured array"),
    ],
)
def test_a_target_that_cannot_be_checked_is_refused(target: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"^[a-z_]+: ") as refused:
        check(target, frame_of(), kind="pipeline")
    assert message in str(refused.value)


def test_an_error_on_a_perturbation_is_reported_and_is_not_a_leak() -> None:
    def refuses_much(frame: Any) -> Any:
        if frame["close"].isna().sum() > 20:
            raise ValueError("no NaN, please")
        return frame.shift(1)

    report = assert_no_lookahead(refuses_much, frame_of())
    count, message = report.errors["nan"]
    assert (0 < count < report.n_cuts, message) == (True, "ValueError: no NaN, please")
    assert f"{count} runs with nan had no output to compare, which is not a leak" in report.notes[0]


def test_a_target_that_raises_on_every_perturbation_is_refused() -> None:
    calls = iter(range(1_000))

    def tires(frame: Any) -> Any:
        if next(calls) >= 2:
            raise RuntimeError("no more")
        return frame

    with pytest.raises(oo.OpenOutcryError, match=r"`target` must run on a perturbation; .* RuntimeError: no more"):
        check(tires, frame_of(), kind="pipeline")


@pytest.mark.parametrize(
    ("make", "leaks", "start"),
    [
        (targets.Market, {}, 5),
        (targets.PaidLate, {}, 5),
        (targets.OffByOne, {"observation[4]": (1, 5)}, 5),
        (targets.SameBar, {"observation[4]": (1, 4)}, 4),
        (targets.Listed, {"observation[4]": (1, 5)}, 5),
        (targets.Tells, {"info.news": (1, 6)}, 5),
    ],
)
def test_an_observation_off_by_one_is_found(make: Any, leaks: dict[str, tuple[int, int]], start: int) -> None:
    report = check(lambda frame: make(frame), frame_of("env"))
    assert report.kind == "env"
    assert report.clock is not None
    assert (report.clock.start, report.clock.known_from) == (start, "reward")
    assert found(report) == leaks


def test_the_start_of_an_environment_can_be_given() -> None:
    assert check(targets.OffByOne, frame_of("env"), kind="env", start=6).is_clean
    assert found(check(targets.Market, frame_of("env"), kind="env", start=4)) == {
        "observation[4]": (1, 4),
        "reward": (1, 5),
    }


def test_an_environment_on_scaled_data_is_found() -> None:
    report = check(targets.scaled_env, frame_of("env"))
    assert {leak.reach.column for leak in report.leaks} == {f"observation[{k}]" for k in range(5)} | {"reward"}
    assert all(leak.reach.is_whole for leak in report.leaks)
    assert report.clock is not None
    assert report.clock.known_from == "length"


def test_the_openoutcry_environment_does_not_look_ahead() -> None:
    def make(frame: Any) -> OpenOutcryEnv:
        dates = [str(date)[:10] for date in frame.index]
        tables = {name: frame[[name]].to_numpy() for name in ("open", "high", "low", "volume")}
        dataset = oo.Dataset.from_arrays(dates, ["A"], frame[["close"]].to_numpy(), **tables)
        return OpenOutcryEnv(dataset=dataset, lookback=5)

    report = assert_no_lookahead(make, frame_of("env", n_bars=120), n_cuts=12)
    assert report.clock is not None
    assert (report.clock.start, report.clock.known_from) == (4, "date and reward")
    shown = {"observation.closes[closes][A]", "observation.history[close][A]"}
    assert {*shown, "info.nav", "reward"} <= set(report.columns)


@pytest.mark.parametrize("agent", [targets.momentum, targets.reads_news])
def test_an_agent_that_uses_its_observation_has_no_leak(agent: Any) -> None:
    report = check(agent, frame_of("agent", n_bars=60), n_cuts=10)
    assert (report.kind, report.leaks) == ("agent", ())
    assert report.columns == ("weight[S000]", "weight[S001]", "weight[S002]")


def test_an_agent_with_news_of_tomorrow_is_found() -> None:
    report = check(targets.future_news, frame_of("agent", n_bars=60), n_cuts=10)
    assert report.kind == "agent"
    assert found(report) == {f"weight[S00{k}]": (1, 0) for k in range(3)}
    assert all(max(each.drop for each in leak.worth) > 5.0 for leak in report.leaks)


def test_a_dataset_works_for_every_kind_of_target() -> None:
    dataset = oo.data.load("ecb-fx", ["USD"]).head(200)
    assert found(check(targets.shifted, dataset)) == {"next": (1, 0)}
    assert check(targets.momentum, dataset, n_cuts=6).is_clean


def test_an_assertion_names_every_column() -> None:
    with pytest.raises(AssertionError, match=r"`next` looks 1 bar ahead, first at row 0 \(2000-01-03\)"):
        assert_no_lookahead(targets.shifted, frame_of())


def test_cuts_are_within_the_data_and_reach_its_last_bar() -> None:
    for n_bars in (8, 9, 30, 300, 2_500):
        for n_cuts in (1, 5, 24, 100):
            cuts = grid_cuts(n_bars, n_cuts)
            assert cuts == sorted(set(cuts))
            assert (cuts[0], cuts[-1]) == (0, n_bars - 2)
            assert len(cuts) <= max(n_cuts, 3)
