"""Test feature columns: shapes, the time at which values are known, missing values, functions and copies of markets."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.data.feature_columns import Feature
from openoutcry.data.snapshots import snapshot_files

N_BARS, SYMBOLS = 60, ["A", "B", "C"]
DATES = np.datetime_as_string(np.datetime64("2020-01-01") + np.arange(N_BARS)).tolist()


def market(close: Any = None, **columns: Any) -> oo.Dataset:
    draw = np.random.default_rng(7)
    prices = 100 * np.cumprod(1 + 0.01 * draw.normal(size=(N_BARS, 3)), axis=0) if close is None else close
    return oo.Dataset.from_arrays(DATES, SYMBOLS, prices, **columns)


def values(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).normal(size=shape)


def test_features_are_in_bytes_and_fingerprints() -> None:
    with_one = market(features={"rsi": values(N_BARS, 3), "vix": values(N_BARS)})
    assert oo.Dataset.from_bytes(with_one.to_bytes()) == with_one
    assert pickle.loads(pickle.dumps(with_one)) == with_one
    assert with_one.fingerprint != market().fingerprint
    assert with_one.fingerprint != market(features={"rsi": values(N_BARS, 3)}).fingerprint
    np.testing.assert_array_equal(with_one.features["rsi"].values, values(N_BARS, 3))
    np.testing.assert_array_equal(with_one.features["vix"].values, values(N_BARS))
    assert not with_one.features["rsi"].values.flags.writeable


def test_an_observation_names_the_features_of_its_bar() -> None:
    found = market(features={"rsi": values(N_BARS, 3), "vix": values(N_BARS)})
    shown: list[dict[str, Any]] = []

    def watch(observation: dict[str, Any]) -> dict[str, Any]:
        shown.append(observation)
        return {"orders": []}

    oo.run_backtest(found, watch, (20, 40))
    for bar, observation in enumerate(shown, 20):
        assert observation["market_features"] == {"vix": values(N_BARS)[bar]}
        of_symbols = {each["symbol"]: each["features"]["rsi"] for each in observation["symbols"]}
        assert of_symbols == dict(zip(SYMBOLS, values(N_BARS, 3)[bar], strict=True))


@pytest.mark.parametrize(
    ("features", "wanted"),
    [
        ({"x": values(N_BARS, 2)}, r"shape_mismatch: feature 'x' must be numbers of shape \(60, 3\)"),
        ({"x": values(N_BARS - 1)}, "shape_mismatch: feature 'x' must be numbers"),
        ({"x": np.full((N_BARS, 3), "a")}, "shape_mismatch: feature 'x' must be numbers"),
        ({"close": values(N_BARS)}, "value_invalid: the name of a feature must be unique and no column of prices"),
        ({"": values(N_BARS)}, "value_invalid: the name of a feature must be text"),
        ({"x": np.full(N_BARS, np.inf)}, r"value_invalid: feature \"x\" at row 0 \(2020-01-01\) must be a finite"),
        ({"x": Feature(values(N_BARS), missing="mean")}, "argument_invalid: `missing` of feature 'x'"),
        ({"x": Feature(values(N_BARS), missing=1e31)}, "argument_invalid: `missing` of feature 'x' must be a number"),
        ({"x": Feature(values(N_BARS), missing=None)}, "argument_invalid: `missing` of feature 'x' must be a number"),
        ({"x": Feature(values(N_BARS), lag=1, known_at=DATES)}, "argument_invalid: feature 'x' must have `lag` or"),
        ({"x": Feature(values(N_BARS), known_at=DATES[1:])}, "date_invalid: `known_at` of feature 'x'"),
        ([values(N_BARS)], "argument_invalid: `features` must be a mapping"),
        ({5: values(N_BARS)}, "value_invalid: the name of a feature must be text; received 5"),
    ],
)
def test_invalid_features_are_refused(features: Any, wanted: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=wanted):
        market(features=features)


def test_a_missing_value_needs_a_rule() -> None:
    given_values = values(N_BARS)
    given_values[[0, 5]] = np.nan
    with pytest.raises(oo.OpenOutcryError, match=r'missing="forward" or missing=0\.0'):
        market(features={"x": given_values})
    forward = market(features={"x": Feature(given_values, missing="forward")}).features["x"].values
    assert (forward[0], forward[5]) == (0.0, given_values[4])
    assert market(features={"x": Feature(given_values, missing=-9.0)}).features["x"].values[5] == -9.0


def test_values_of_an_unlisted_symbol_need_no_rule_and_are_not_kept() -> None:
    close = 100 + values(N_BARS, 3)
    close[:10, 1] = np.nan
    given_values = values(N_BARS, 3)
    given_values[:10, 1] = np.nan
    found = market(close, features={"x": given_values})
    assert found == market(close, features={"x": np.where(np.isnan(given_values), 5.0, given_values)})
    assert np.isnan(found.features["x"].values[:10, 1]).all()


@given(lag=st.integers(1, 20))
def test_a_lag_shows_a_value_so_many_bars_later(lag: int) -> None:
    found = market(features={"x": Feature(values(N_BARS, 3), lag=lag, missing=0.0)}).features["x"].values
    np.testing.assert_array_equal(found[lag:], values(N_BARS, 3)[:-lag])
    assert not found[:lag].any()


def test_a_row_is_seen_from_the_first_bar_at_or_after_its_time() -> None:
    times = [*DATES[1:], "2021-01-01"]
    times[4] = DATES[30]
    found = market(features={"x": Feature(values(N_BARS), known_at=times, missing=0.0)}).features["x"].values
    assert found[0] == 0.0
    np.testing.assert_array_equal(found[1:4], values(N_BARS)[:3])
    # Row 4 is late, so that row 3 is seen for one more bar.
    assert found[5] == values(N_BARS)[3]
    assert found[6] == values(N_BARS)[5]


def test_a_late_row_does_not_replace_a_later_row() -> None:
    times = [*DATES]
    times[3] = DATES[10]
    times[10] = DATES[11]
    found = market(features={"x": Feature(values(N_BARS), known_at=times)}).features["x"].values
    assert (found[3], found[10]) == (values(N_BARS)[2], values(N_BARS)[9])
    on_time = [bar for bar in range(N_BARS) if bar not in (3, 10)]
    np.testing.assert_array_equal(found[on_time], values(N_BARS)[on_time])


def test_a_missing_value_of_a_known_row_needs_a_rule() -> None:
    given_values = values(N_BARS)
    given_values[5] = np.nan
    times = [*DATES[2:], "2021-01-01", "2021-01-01"]
    with pytest.raises(oo.OpenOutcryError, match=r'feature "x" at row 7 \(2020-01-08\) must be a finite number'):
        market(features={"x": Feature(given_values, known_at=times)})
    forward = market(features={"x": Feature(given_values, known_at=times, missing="forward")}).features["x"].values
    assert (*forward[:3], forward[7]) == (0.0, 0.0, given_values[0], given_values[4])
    # Before the first known row, no value is missing.
    whole = market(features={"x": Feature(values(N_BARS), known_at=times)}).features["x"].values
    np.testing.assert_array_equal(whole, [0.0, 0.0, *values(N_BARS)[:-2]])


def test_forward_shows_the_last_value_of_all_rows_that_are_known() -> None:
    given_values, times = values(N_BARS), [*DATES]
    given_values[5] = np.nan
    times[4] = times[5]
    found = market(features={"x": Feature(given_values, known_at=times, missing="forward")}).features["x"].values
    assert found[5] == given_values[4]


@pytest.mark.parametrize(
    ("time", "received"),
    [
        ("01/31/2020", "'01/31/2020'"),
        ("yesterday!", "'yesterday!'"),
        ("2020-13-45", "'2020-13-45'"),
        ("2020-01-31T25:00:00", "'2020-01-31T25:00:00'"),
        ("2020-01-31T10:00:00Z", "'2020-01-31T10:00:00Z'"),
        ("2020-01", "'2020-01'"),
        (np.datetime64("NaT"), "'NaT'"),
        (None, "'None'"),
    ],
)
def test_a_time_of_another_form_is_refused_by_its_row(time: Any, received: str) -> None:
    wanted = f"`known_at` of feature 'x' at row 7 must be an ISO 8601 day, or a time .*; received {received}"
    with pytest.raises(oo.OpenOutcryError, match=f"date_invalid: {wanted}"):
        market(features={"x": Feature(values(N_BARS), known_at=[*DATES[:7], time, *DATES[8:]])})


HOURS = np.datetime_as_string(np.datetime64("2020-01-01T00:00:00") + np.arange(N_BARS) * np.timedelta64(1, "h"))


@pytest.mark.parametrize(
    ("end", "known_at", "shift"),
    [
        ("", HOURS, 0),
        ("", HOURS.astype("datetime64[s]"), 0),
        ("", HOURS.astype("datetime64[h]"), 0),
        ("", HOURS.astype("datetime64[ns]") + np.timedelta64(1, "ns"), 1),
        ("", [f"{text[:13]}:00" for text in HOURS], 0),
        ("Z", [f"{text}+00:00" for text in HOURS], 0),
        ("Z", [f"{text}+00:30" for text in HOURS], 0),
        ("Z", [f"{text}-02:00" for text in HOURS], 2),
        ("Z", [f"{text}.000001Z" for text in HOURS], 1),
        ("Z", HOURS.astype("datetime64[s]"), 0),
    ],
)
def test_times_of_intraday_bars_are_instants(end: str, known_at: Any, shift: int) -> None:
    close = 100 + values(N_BARS, 3)
    features = {"x": Feature(values(N_BARS), known_at=known_at)}
    found = oo.Dataset.from_arrays([f"{text}{end}" for text in HOURS], SYMBOLS, close, features=features)
    shown = found.features["x"].values
    np.testing.assert_array_equal(shown[shift:], values(N_BARS)[: N_BARS - shift])
    assert not shown[:shift].any()


@pytest.mark.parametrize(
    ("end", "known_at", "wanted"),
    [
        ("Z", HOURS.tolist(), "at row 0 must be an ISO 8601 time with a zone"),
        ("", [f"{text}Z" for text in HOURS], "at row 0 must be an ISO 8601 time without a zone"),
        ("", HOURS.astype("datetime64[D]"), "at row 0 must be an ISO 8601 time without a zone"),
        ("", "2020-01-01", "must be a list of times; received '2020-01-01'"),
        ("", 5, "must be a list of times; received 5"),
    ],
)
def test_times_that_are_no_instants_of_the_bars_are_refused(end: str, known_at: Any, wanted: str) -> None:
    features = {"x": Feature(values(N_BARS), known_at=known_at)}
    with pytest.raises(oo.OpenOutcryError, match=f"`known_at` of feature 'x' {wanted}"):
        oo.Dataset.from_arrays([f"{text}{end}" for text in HOURS], SYMBOLS, 100 + values(N_BARS, 3), features=features)


@pytest.mark.parametrize("missing", ["refuse", "forward", 0.0])
def test_values_that_observations_cannot_show_are_refused(missing: str | float) -> None:
    for value, wanted in [(np.inf, "finite number; received inf"), (-2e30, r"-1e\+30 to 1e\+30; received -2e\+30")]:
        given_values = values(N_BARS)
        given_values[5] = value
        with pytest.raises(oo.OpenOutcryError, match=f"value_invalid: feature .x. at row 5 .* must be .*{wanted}"):
            market(features={"x": Feature(given_values, missing=missing)})


def test_the_largest_value_is_in_the_observation_space() -> None:
    given_values = np.where(np.arange(N_BARS) % 2, 1e30, -1e30)
    for observation in ("flat", "dict"):
        env = oo.OpenOutcryEnv(dataset=market(features={"x": given_values}), observation=observation)
        assert env.observation_space.contains(env.reset(seed=1)[0])


def test_a_frame_is_aligned_by_its_columns_and_its_index() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(values(N_BARS, 3), index=pandas.to_datetime(DATES), columns=SYMBOLS)
    assert market(features={"x": frame}) == market(features={"x": values(N_BARS, 3)})
    with pytest.raises(oo.OpenOutcryError, match="the columns of `feature 'x'` must be A, B, C; received C, B, A"):
        market(features={"x": frame[["C", "B", "A"]]})
    with pytest.raises(oo.OpenOutcryError, match="index of `feature 'x'` must be `dates`"):
        market(features={"x": frame[::-1]})


def momentum(found: oo.Dataset) -> np.ndarray[Any, Any]:
    past = np.full(found.close.shape, np.nan)
    past[5:] = found.close[5:] / found.close[:-5] - 1
    return past


def test_a_function_of_past_bars_is_a_feature() -> None:
    found = market().with_features(momentum, missing="forward")
    np.testing.assert_array_equal(found.features["momentum"].values[5:], momentum(market())[5:])
    both = found.with_features({"vix": values(N_BARS), "again": momentum}, missing=0.0)
    assert list(both.features) == ["momentum", "vix", "again"]
    with pytest.raises(oo.OpenOutcryError, match="must be new; received 'vix'"):
        both.with_features({"vix": values(N_BARS)})


@pytest.mark.parametrize(
    "leak",
    [
        lambda found: np.vstack([found.close[1:], found.close[-1:]]),
        lambda found: found.close - found.close.mean(axis=0),
        lambda found: found.close / found.close.max(axis=0),
        lambda found: found.close[::-1],
        lambda found: np.vstack([found.close[3:], np.zeros((3, 3))]),
    ],
    ids=["next close", "mean of all", "highest of all", "reversed", "three bars ahead"],
)
def test_a_function_that_reads_later_bars_is_named(leak: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="feature 'planted' must be computed from bars up to its own"):
        market().with_features({"planted": leak})


def filled(n_bars: int) -> Any:
    """Return a function that fills the first values with a later one."""

    def function(found: oo.Dataset) -> np.ndarray[Any, Any]:
        change = momentum(found)
        change[:n_bars] = change[n_bars]
        return change

    return function


@pytest.mark.parametrize(
    "leak",
    [
        *(filled(n_bars) for n_bars in (5, 6, 8, 13, 20, 25)),
        lambda found: found.close - found.close[:50].mean(axis=0),
        lambda found: found.close - found.close[:4].mean(axis=0),
        lambda found: np.where(np.isnan(momentum(found)), np.nanmean(momentum(found)[:8], axis=0), momentum(found)),
    ],
    ids=["5", "6", "8", "13", "20", "25", "mean of the first 50", "mean of the first 4", "mean of the first changes"],
)
def test_a_start_that_is_filled_with_later_values_is_named(leak: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="feature 'planted' must be computed from bars up to its own"):
        market().with_features({"planted": leak})


def sliding(found: oo.Dataset) -> np.ndarray[Any, Any]:
    windows = np.lib.stride_tricks.sliding_window_view(found.close, 20, axis=0)
    return np.vstack([np.full((19, 3), np.nan), windows.mean(axis=-1)])


@pytest.mark.parametrize("fill", [np.nan, 0.0])
def test_a_function_may_need_more_bars_than_the_first_ones(fill: float) -> None:
    def mean(found: oo.Dataset) -> np.ndarray[Any, Any]:
        return np.nan_to_num(sliding(found), nan=fill)

    found = market().with_features(mean, missing=0.0).features["mean"].values
    np.testing.assert_array_equal(found, np.nan_to_num(sliding(market())))
    with pytest.raises(oo.OpenOutcryError, match=r"of 2020-01-01 that needs bars from 2020-01-03 on \(ValueError"):
        market().with_features(lambda found: np.nan_to_num(sliding(found), nan=100.0))


@pytest.mark.parametrize("n_bars", [3, 4, 60, 2000])
def test_a_function_is_called_at_most_twenty_times(n_bars: int) -> None:
    calls: list[int] = []

    def returns(found: oo.Dataset) -> np.ndarray[Any, Any]:
        calls.append(found.n_bars)
        return np.vstack([np.zeros((1, 3)), np.diff(np.log(found.close), axis=0)])

    dates = np.datetime_as_string(np.datetime64("2018-01-01") + np.arange(n_bars)).tolist()
    oo.Dataset.from_arrays(dates, SYMBOLS, 100 + values(n_bars, 3)).with_features(returns)
    assert len(calls) <= 20
    assert {2, n_bars - 1, n_bars} <= set(calls)


@pytest.mark.parametrize(
    ("given_features", "wanted"),
    [
        ([1, 2], "argument_invalid: `given` must be values by name, a function, or .*; received list"),
        (values(N_BARS, 3), "argument_invalid: `given` must be values by name, .*; received ndarray"),
        (None, "argument_invalid: `given` must be .*; received NoneType"),
        ({5: values(N_BARS)}, "value_invalid: the name of a feature must be text; received 5"),
        (lambda found: {5: found.close}, "value_invalid: the name of a feature must be text; received 5"),
        ({"f": lambda found: {"a": found.close}}, "argument_invalid: the function of feature 'f' .*; received dict"),
        (lambda _: {"f": object()}, "shape_mismatch: feature 'f' must be an array of numbers; received object"),
        ({"f": lambda _: None}, r"shape_mismatch: feature 'f' must have one row per bar .*; received \(\) for 60 bars"),
    ],
)
def test_what_with_features_cannot_read_is_refused(given_features: Any, wanted: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=wanted):
        market().with_features(given_features)


def test_parts_of_a_market_keep_its_features(tmp_path: Path) -> None:
    found = market(features={"rsi": values(N_BARS, 3), "vix": values(N_BARS)})
    np.testing.assert_array_equal(found.select(["C"]).features["rsi"].values[:, 0], values(N_BARS, 3)[:, 2])
    np.testing.assert_array_equal(found.between(10, 30).features["rsi"].values, values(N_BARS, 3)[10:30])
    np.testing.assert_array_equal(found.head(9).features["vix"].values, values(N_BARS)[:9])
    weekly = found.resample("1w")
    lasts = [DATES.index(date) for date in weekly.dates]
    np.testing.assert_array_equal(weekly.features["rsi"].values, values(N_BARS, 3)[lasts])
    path = snapshot_files.freeze(found, tmp_path, "a test")
    assert snapshot_files.load(path) == found
    masked = found.masked(3)
    assert not masked.features
    assert any("2 features left out" in notice for notice in masked.notices)


def foresight(found: oo.Dataset) -> list[str]:
    return [notice for notice in found.notices if "is it known at the close" in notice]


@pytest.mark.parametrize(
    ("leak", "bars"),
    [
        (lambda close: np.vstack([close[1:], close[-1:]]), "1 bar"),
        (lambda close: np.vstack([np.diff(np.log(close), axis=0), np.zeros((1, 3))]), "1 bar"),
        (lambda close: np.sign(np.vstack([np.diff(close, axis=0), np.zeros((1, 3))])), "1 bar"),
        (lambda close: np.vstack([close[2:], close[-2:]]) / close, "1 bar|2 bars"),
    ],
    ids=["next close", "next return", "next sign", "return of two bars"],
)
def test_an_array_that_nearly_is_a_later_return_has_a_caveat_with_its_name(leak: Any, bars: str) -> None:
    draw = np.random.default_rng(3)
    close = 100 * np.cumprod(1 + 0.01 * draw.normal(size=(400, 3)), axis=0)
    dates = np.datetime_as_string(np.datetime64("2018-01-01") + np.arange(400)).tolist()
    planted = oo.Dataset.from_arrays(dates, SYMBOLS, close, features={"planted": leak(close), "noise": close[:, 0]})
    (notice,) = foresight(planted)
    assert re.match(rf"feature 'planted' correlates [+-]\d\.\d\d with the return ({bars}) later", notice)
    lagged = oo.Dataset.from_arrays(dates, SYMBOLS, close, features={"x": Feature(leak(close), lag=2, missing=0.0)})
    assert not foresight(lagged)


def test_honest_features_of_bundled_markets_have_no_caveat() -> None:
    for name in ("ecb-fx", "us-treasury"):
        bundled = oo.data.load(name)
        honest = {
            "momentum": momentum,
            "level": lambda found: found.close,
            "mean": lambda found: found.close.mean(axis=1),
        }
        assert not foresight(bundled.with_features(honest, missing="forward"))
