"""Leaks through the end of an episode, lists of variable size, and outputs that are not compared."""

from __future__ import annotations

from enum import Enum
from typing import Any

import leak_targets as targets
import numpy as np
import pandas as pd
import pytest

import openoutcry as oo
from openoutcry.audits.leakcheck import Report, check, frame_columns, market_frames
from openoutcry.audits.leakcheck.leak_chart import render_leaks
from openoutcry.audits.leakcheck.perturbation import garbage

pytestmark = pytest.mark.once

N_BARS = 160


class Side(Enum):
    LONG = 1
    OTHER = 2


def frame_of(n_bars: int = N_BARS) -> pd.DataFrame:
    frame: pd.DataFrame = market_frames.synthetic("env", "pandas", n_bars)
    return frame


def found(report: Report) -> dict[str, int]:
    """Return the horizon of each column that looks ahead."""
    return {leak.reach.column: leak.reach.horizon for leak in report.leaks}


@pytest.mark.parametrize(
    ("make", "leaks"),
    [
        (targets.Flees, {"terminated": 1}),
        (targets.FleesEarly, {"terminated": 3}),
        (targets.FleesInTime, {"truncated": 1}),
    ],
)
def test_an_end_that_depends_on_the_future_is_a_leak(make: Any, leaks: dict[str, int]) -> None:
    report = check(make, frame_of(), kind="env")
    assert found(report) == leaks
    assert set(report.leaks[0].reach.kinds) <= {"garbage", "permutation"}
    assert report.clock is not None
    assert report.clock.start == 5
    assert "looks" in render_leaks(report)


def test_an_end_before_a_crash_in_the_data_is_a_leak() -> None:
    frame = frame_of()
    frame.iloc[90:] *= 0.5
    report = check(targets.Flees, frame, kind="env")
    assert found(report) == {"terminated": 1}
    assert report.early_end == "the episode ended at bar 89 of 159 (terminated)"


CAUSAL = [targets.Market, targets.Ruined, targets.Crashed, targets.without_gaps, targets.without_outliers]


@pytest.mark.parametrize("make", CAUSAL)
def test_an_end_by_known_data_or_by_the_end_of_the_data_is_not_a_leak(make: Any) -> None:
    report = check(make, frame_of(), kind="env")
    assert report.leaks == ()
    assert {"terminated", "truncated"} <= set(report.columns)


@pytest.mark.parametrize("make", [targets.Market, targets.Ruined, targets.Crashed])
def test_an_end_at_an_observed_crash_is_not_a_leak(make: Any) -> None:
    frame = frame_of()
    frame.iloc[90:] *= 0.5
    assert check(make, frame, kind="env").leaks == ()


def test_the_earlier_end_of_an_off_by_one_environment_is_not_a_second_leak() -> None:
    assert found(check(targets.OffByOne, frame_of(), kind="env")) == {"observation[4]": 1}


def test_an_early_end_of_an_episode_is_reported() -> None:
    frame = frame_of()
    frame.iloc[90:] *= 0.5
    report = check(targets.Crashed, frame, kind="env")
    ending = "the episode ended at bar 90 of 159 (terminated)"
    assert f"{ending}; nothing later was compared" in report.notes
    assert f"note: {ending}; nothing later was compared" in str(report)
    assert report.to_dict()["episode"] == {"n_steps": 85, "last_bar": 90, "ended_by": ["terminated"]}
    assert f"look ahead; {ending}</text>" in render_leaks(report)
    whole = check(targets.Crashed, frame_of(), kind="env")
    assert (whole.early_end, whole.to_dict()["episode"]["last_bar"]) == (None, 159)
    assert check(lambda each: each, frame_of(), kind="pipeline").to_dict()["episode"] is None


def test_a_start_known_from_the_episode_length_states_its_assumption() -> None:
    notes = check(targets.scaled_env, frame_of(), kind="env").notes
    assumption = "assuming that the episode of 154 steps ends with the data"
    assert f"the first observation is of bar 5 at the latest, {assumption}" in notes


@pytest.mark.parametrize(
    ("make", "leaks"),
    [
        (targets.History, {}),
        (targets.HistoryAhead, {"info.past": 1}),
        (targets.Sized, {"info.news": 1, "info.news (size)": 1}),
        (targets.Warns, {"info.warning": 1}),
        (targets.Swells, {"info.levels (size)": 1}),
        (targets.Reuses, {}),
    ],
)
def test_values_of_variable_size_or_presence_are_compared(make: Any, leaks: dict[str, int]) -> None:
    report = check(make, frame_of(), kind="env")
    assert found(report) == leaks


def test_lists_are_compared_within_the_tolerance_of_their_numbers() -> None:
    class Rounds(targets.History):
        """Adds the direction of the next move to its past, below or above the size of rounding."""

        share = 1e-13

        def step(self, action: int) -> Any:
            seen, reward, terminated, truncated, info = super().step(action)
            ahead = self.prices[self.t + 1] if self.t + 1 < len(self.prices) else 0.0
            close = self.prices[self.t]
            return (
                seen,
                reward,
                terminated,
                truncated,
                {"past": [*info["past"], close + self.share * float(ahead > close)]},
            )

    class Tells(Rounds):
        share = 1e-3

    assert found(check(Rounds, frame_of(), kind="env")) == {}
    assert found(check(Tells, frame_of(), kind="env")) == {"info.past": 1}


def test_values_that_are_neither_number_nor_text_are_listed() -> None:
    class Odd(targets.Market):
        def step(self, action: int) -> Any:
            seen, reward, terminated, truncated, _ = super().step(action)
            dates = {
                "day": pd.Timestamp("2020-01-01") + pd.Timedelta(days=self.t),
                "moment": np.datetime64("2020-01-01"),
            }
            shown = {"names": np.array(["a", "b"]), "mixed": np.array(["a", 1, None], dtype=object)}
            held = {"held": Side.LONG if self.position > 0 else Side.OTHER}
            odd = {"it": iter(()), "frames": np.array([{}], dtype=object), "none": None}
            return seen, reward, terminated, truncated, {**dates, **shown, **held, **odd}

    report = check(Odd, frame_of(), kind="env")
    assert report.leaks == ()
    assert report.not_compared == ("info.it (tuple_iterator)", "info.frames (array of object)")
    note = "not compared, neither number nor text: info.it (tuple_iterator), info.frames (array of object)"
    assert note in report.notes
    assert {"info.day", "info.moment", "info.names[1]", "info.held", "info.mixed[2]"} <= set(report.columns)
    assert "info.none" not in report.columns


def ahead(frame: Any) -> Any:
    """Return an environment on bars 20 to 50 with the next close as a feature."""
    market = oo.Dataset.from_frame(frame, symbol="X")
    following = np.vstack([market.close[1:], market.close[-1:]])
    return oo.OpenOutcryEnv(dataset=market.with_features({"next": following}), window=(20, 50), features=["next"])


def behind(frame: Any) -> Any:
    """Return the same environment with the last close."""
    market = oo.Dataset.from_frame(frame, symbol="X")
    return oo.OpenOutcryEnv(dataset=market.with_features({"last": market.close}), window=(20, 50))


def test_an_environment_that_refuses_inconsistent_prices_has_its_true_start() -> None:
    report = check(ahead, frame_of(64), kind="env", n_cuts=4)
    assert report.clock is not None
    assert (report.clock.start, report.clock.known_from) == (20, "date and reward")
    assert found(report) == {"observation.features[next][X]": 1}
    assert "garbage" in report.leaks[0].reach.kinds
    report = check(behind, frame_of(64), kind="env", n_cuts=4, start=20)
    assert found(report) == {}
    assert not any("runs with garbage" in note for note in report.notes)


def test_garbage_keeps_highs_above_and_lows_below_all_prices() -> None:
    frame = frame_of()
    frame.iloc[100, frame.columns.get_loc("high")] = np.nan
    source = frame_columns.source_of(frame)
    garbled = garbage(source, 60).frame()
    prices = garbled[["open", "high", "low", "close"]]
    assert (prices.iloc[61:]["high"].dropna() == prices.iloc[61:].drop(index=prices.index[100]).max(axis=1)).all()
    assert (prices.iloc[61:]["low"] == prices.iloc[61:].min(axis=1)).all()
    assert np.isnan(prices.iloc[100]["high"])
    pd.testing.assert_frame_equal(garbled.iloc[:61], frame.iloc[:61])
    # Each price changes by a large factor, and the ratio of two prices by a small one.
    factors = np.log10(prices.iloc[61:] / frame.iloc[61:][prices.columns])
    assert (factors.abs().min() > 1.9).all()
    spread = (factors["close"] - factors["open"]).abs()
    assert 0.01 < spread.median() < spread.max() < 0.11


def test_a_start_is_inferred_from_a_permutation_if_garbage_is_refused() -> None:
    class Sums(targets.Market):
        """Refuses data with another sum of prices."""

        total = 0.0

        def __init__(self, frame: Any) -> None:
            super().__init__(frame)
            type(self).total = self.total or float(self.prices.sum())
            if not np.isclose(self.prices.sum(), self.total, rtol=1e-12):
                raise ValueError("other data")

    report = check(Sums, frame_of(), kind="env")
    assert report.clock is not None
    assert (report.clock.start, report.clock.known_from) == (5, "reward")


def test_an_environment_that_refuses_all_perturbed_data_needs_its_start() -> None:
    class Exact(targets.Market):
        """Refuses other data of the same length."""

        known = b""

        def __init__(self, frame: Any) -> None:
            super().__init__(frame)
            type(self).known = self.known or self.prices.tobytes()
            if self.prices.tobytes() != self.known and len(self.prices) == N_BARS:
                raise ValueError("other data")

    wanted = "an environment must have a `date` in its info, or run on other actions and on perturbed data"
    received = "received ValueError: other data; hint: pass the bar of its first observation with `--start`"
    with pytest.raises(oo.OpenOutcryError, match=f"argument_invalid: {wanted}; {received}"):
        check(Exact, frame_of(), kind="env")
    report = check(Exact, frame_of(), kind="env", start=5)
    assert report.clock is not None
    assert report.clock.known_from == "start"
