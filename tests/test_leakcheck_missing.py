"""What only missing data change: a transform that spreads NaN is no leak, what looks at later gaps is."""

from __future__ import annotations

from typing import Any

import leak_targets as targets
import numpy as np
import pandas as pd
import pytest

from openoutcry.leakcheck import Report, assert_no_lookahead, check, market


def frame_of() -> pd.DataFrame:
    frame: pd.DataFrame = market.synthetic("pipeline", "pandas", 200)
    return frame


def found(report: Report) -> dict[str, tuple[str, ...]]:
    """Return the futures that change each column that looks ahead."""
    return {leak.reach.column: leak.reach.kinds for leak in report.leaks}


@pytest.mark.parametrize(("target", "column"), [(targets.fft_of_nan, "average"), (targets.matrix_of_nan, "mean")])
def test_a_causal_transform_of_whole_columns_is_unsure_and_no_leak(target: Any, column: str) -> None:
    report = assert_no_lookahead(target, frame_of())
    assert report.unsure == (column,)
    assert report.to_dict()["unsure"] == [column]
    assert any(note.startswith(f"not counted: {column}: later NaN make all of it NaN") for note in report.notes)


def test_on_data_that_miss_values_a_spread_of_nan_tells_of_them_and_is_a_leak() -> None:
    frame = frame_of()
    frame.iloc[150:, 0] = np.nan
    report = check(targets.fft_of_nan, frame)
    assert (found(report), report.unsure) == ({"average": ("nan",)}, ())
    told = "a column that only NaN changes tells which data are missing, or has a transform that spreads NaN"
    assert told in report.notes


OHLCV = ("open", "high", "low", "close", "volume")


@pytest.mark.parametrize(
    ("target", "leaks"),
    [
        (targets.survivors, dict.fromkeys(OHLCV, ("nan",))),
        (targets.survivors_beside_a_rank, dict.fromkeys(OHLCV, ("nan",))),
        (targets.rows_of_survivors, dict.fromkeys(OHLCV, ("nan",))),
        (targets.before_a_gap, {"left": ("nan",)}),
        (targets.coverage, {"share": ("nan",)}),
        (targets.rolled_round, {"known": ("nan",)}),
        (targets.gap_filled, {"filled": ("garbage", "nan", "permutation", "truncation")}),
        (
            targets.dropped,
            dict.fromkeys(OHLCV, ("nan", "truncation")) | {"next": ("garbage", "nan", "permutation", "truncation")},
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_looks_at_later_gaps_is_a_leak(target: Any, leaks: dict[str, tuple[str, ...]]) -> None:
    report = check(target, frame_of())
    assert found(report) == leaks
    assert report.unsure == ()


def test_a_transform_of_the_future_is_a_leak_though_it_spreads_nan_too() -> None:
    def centred(frame: pd.DataFrame) -> pd.DataFrame:
        close = frame["close"].to_numpy()
        smooth = np.fft.irfft(np.fft.rfft(close) * (np.arange(len(close) // 2 + 1) < 9), len(close))
        return pd.DataFrame({"smooth": smooth}, index=frame.index)

    assert set(found(check(centred, frame_of()))["smooth"]) >= {"garbage", "nan", "permutation"}


def test_nothing_is_excused_where_no_other_future_could_be_tried() -> None:
    def picky(frame: pd.DataFrame) -> pd.DataFrame:
        if len(frame) < 200:
            raise ValueError("too short")
        return targets.fft_of_nan(frame)

    report = check(picky, frame_of())
    assert (found(report), report.unsure) == ({"average": ("nan",)}, ())


def test_columns_of_polars_arrays_and_environments_are_unsure_too() -> None:
    table = market.synthetic("pipeline", "numpy", 120)
    assert check(lambda each: targets._fft_average(each["close"]), table, kind="pipeline").unsure == ("[0]",)

    def make(frame: pd.DataFrame) -> targets.Market:
        env = targets.Market(frame)
        feature = targets._fft_average(frame["close"].to_numpy())
        seen = env._seen
        env._seen = lambda: np.append(seen(), feature[env.t])  # type: ignore[method-assign]
        return env

    report = check(make, frame_of(), kind="env")
    assert (report.leaks, report.unsure) == ((), ("observation[5]",))
