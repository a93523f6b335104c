"""Columns that only missing data changes: NaN propagation is not a leak, a look at later gaps is."""

from __future__ import annotations

from typing import Any

import leak_targets as targets
import numpy as np
import pandas as pd
import pytest

from openoutcry.audits.leakcheck import Report, assert_no_lookahead, check, market_frames

pytestmark = pytest.mark.once


def frame_of() -> pd.DataFrame:
    frame: pd.DataFrame = market_frames.synthetic("pipeline", "pandas", 200)
    return frame


def found(report: Report) -> dict[str, tuple[str, ...]]:
    """Return the perturbations that change each column that looks ahead."""
    return {leak.reach.column: leak.reach.kinds for leak in report.leaks}


@pytest.mark.parametrize(("target", "column"), [(targets.fft_of_nan, "average"), (targets.matrix_of_nan, "mean")])
def test_a_causal_transform_of_a_complete_column_is_unsure_and_not_a_leak(target: Any, column: str) -> None:
    report = assert_no_lookahead(target, frame_of())
    assert report.unsure == (column,)
    assert report.to_dict()["unsure"] == [column]
    assert any(
        note.startswith(f"not counted: {column}: only later NaN change it, and make all of it NaN")
        for note in report.notes
    )


def by_symbol(frame: pd.DataFrame) -> pd.DataFrame:
    made = frame.groupby("symbol")["close"].transform(lambda close: targets._fft_average(close.to_numpy()))
    return frame.assign(average=made)


def test_nan_propagation_on_data_with_missing_values_is_a_leak() -> None:
    frame = market_frames.synthetic("pipeline", "pandas", 120, 3)
    assert check(by_symbol, frame).unsure == ("average",)
    frame.loc[(frame["symbol"] == "S001") & (np.arange(len(frame)) > 200), "close"] = np.nan
    report = check(by_symbol, frame)
    assert (found(report), report.unsure) == ({"average": ("nan", "permutation", "truncation")}, ())


def test_a_gap_in_an_unused_input_column_changes_nothing() -> None:
    frame = frame_of()
    frame.iloc[150:, 0] = np.nan
    assert check(targets.fft_of_nan, frame).unsure == ("average",)


def fft_of_returns(frame: pd.DataFrame) -> pd.DataFrame:
    moves = frame["close"].pct_change().fillna(0.0).to_numpy()
    return pd.DataFrame({"average": _fft(moves)}, index=frame.index)


def fft_of_turnover(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"average": _fft((frame["close"] * frame["volume"]).to_numpy())}, index=frame.index)


def _fft(values: np.ndarray) -> np.ndarray:
    size = 1 << (2 * len(values) + 60).bit_length()
    kernel = np.exp(-np.arange(30) / 5.0)
    return np.fft.irfft(np.fft.rfft(values, size) * np.fft.rfft(kernel, size), size)[: len(values)]


def rises(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the sign of the moves of a causal average; 0 where the average is NaN."""
    smooth = _fft(np.log(frame["close"].to_numpy()))
    return pd.DataFrame({"average": (np.diff(smooth, prepend=smooth[0]) > 0.0).astype(int)}, index=frame.index)


def zero_warm_up(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a causal average with zeros in its warm-up."""
    smooth = _fft(np.log(frame["close"].to_numpy()))
    smooth[:30] = 0.0
    return pd.DataFrame({"average": smooth}, index=frame.index)


@pytest.mark.parametrize("target", [fft_of_returns, fft_of_turnover, rises, zero_warm_up])
def test_rounding_and_nan_propagation_of_a_transform_are_unsure(target: Any) -> None:
    report = assert_no_lookahead(target, frame_of())
    assert report.unsure == ("average",)
    assert report.rounded == (("average",) if target in (fft_of_returns, fft_of_turnover) else ())
    nan_spread = "only later NaN change it, and make all of it NaN or one"
    reason = "only garbage changes it, by rounding errors" if report.rounded else nan_spread
    assert any(note.startswith(f"not counted: average: {reason}") for note in report.notes)


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
def test_a_look_at_later_gaps_is_a_leak(target: Any, leaks: dict[str, tuple[str, ...]]) -> None:
    report = check(target, frame_of())
    assert found(report) == leaks
    assert report.unsure == ()


def test_a_leak_that_only_nan_reveals_is_noted() -> None:
    report = check(targets.coverage, frame_of())
    note = "a column that only NaN changes reveals which data is missing, or a transform spreads NaN"
    assert note in report.notes


def test_a_noncausal_transform_that_spreads_nan_is_a_leak() -> None:
    def centred(frame: pd.DataFrame) -> pd.DataFrame:
        close = frame["close"].to_numpy()
        smooth = np.fft.irfft(np.fft.rfft(close) * (np.arange(len(close) // 2 + 1) < 9), len(close))
        return pd.DataFrame({"smooth": smooth}, index=frame.index)

    assert set(found(check(centred, frame_of()))["smooth"]) >= {"garbage", "nan", "permutation"}


def test_a_column_is_not_unsure_if_another_perturbation_could_not_run() -> None:
    def picky(frame: pd.DataFrame) -> pd.DataFrame:
        if len(frame) < 200:
            raise ValueError("too short")
        return targets.fft_of_nan(frame)

    report = check(picky, frame_of())
    assert (found(report), report.unsure) == ({"average": ("nan",)}, ())


def test_columns_of_polars_arrays_and_environments_are_unsure_too() -> None:
    table = market_frames.synthetic("pipeline", "numpy", 120)
    assert check(lambda each: targets._fft_average(each["close"]), table, kind="pipeline").unsure == ("[0]",)

    def make(frame: pd.DataFrame) -> targets.Market:
        env = targets.Market(frame)
        feature = targets._fft_average(frame["close"].to_numpy())
        seen = env._seen
        env._seen = lambda: np.append(seen(), feature[env.t])  # type: ignore[method-assign]
        return env

    report = check(make, frame_of(), kind="env")
    assert (report.leaks, report.unsure) == ((), ("observation[5]",))
