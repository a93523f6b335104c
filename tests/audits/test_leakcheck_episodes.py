"""Leaks through the end of an episode, lists of variable size, and outputs that are not compared."""

from __future__ import annotations

from enum import Enum
from typing import Any

import leak_targets as targets
import numpy as np
import pandas as pd
import pytest

from openoutcry.audits.leakcheck import Report, check, market_frames
from openoutcry.audits.leakcheck.leak_chart import render_leaks

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
