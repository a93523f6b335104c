"""Weights with labels are aligned by them or refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from builders import bits

import openoutcry as oo

MARKET = oo.Dataset.synthetic(n_symbols=3, n_days=60, seed=2)
WEIGHTS = np.random.default_rng(1).random((60, 3)) / 3
FRAME = pd.DataFrame(WEIGHTS, index=pd.DatetimeIndex(MARKET.dates), columns=list(MARKET.symbols))
DATED = FRAME.rename_axis("date").reset_index()
OTHERS = {
    "reversed": FRAME[::-1],
    "shuffled": FRAME.sample(frac=1.0, random_state=0),
    "shuffled numbers": FRAME.reset_index(drop=True).sample(frac=1.0, random_state=0),
    "late": FRAME.shift(freq="D"),
    "partial": FRAME[10:],
    "columns in another order": FRAME[FRAME.columns[::-1]],
    "a column missing": FRAME.iloc[:, :2],
}


def run(weights: Any) -> oo.Run:
    return oo.run_backtest(MARKET, weights)


def sweep(weights: Any) -> oo.Run:
    return oo.run_sweep(MARKET, [weights], jobs=1, progress=False).runs[0]


@pytest.mark.parametrize("door", [run, sweep])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_weights_with_other_labels_are_refused(door: Any, other: pd.DataFrame) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        door(other)
    assert refused.value.slug == "shape_mismatch"


@pytest.mark.parametrize("door", [run, sweep])
@pytest.mark.parametrize(
    "same",
    [
        FRAME,
        FRAME.reset_index(drop=True),
        FRAME.set_axis(list(MARKET.dates)),
        FRAME.tz_localize("America/New_York"),
        pl.DataFrame(WEIGHTS, schema=list(MARKET.symbols)),
        DATED,
        FRAME.reset_index(),
        DATED.assign(date=list(MARKET.dates)),
        DATED.assign(date=[int(day.replace("-", "")) for day in MARKET.dates]),
        DATED.assign(date=DATED["date"].dt.strftime("%d/%m/%Y")),
        DATED.assign(date=DATED["date"].dt.tz_localize("America/New_York")),
        DATED.rename(columns={"date": "Date"}),
        DATED[::-1].sort_values("date"),
        FRAME.set_axis([int(day.replace("-", "")) for day in MARKET.dates]),
        pl.from_pandas(DATED),
        pl.from_pandas(DATED).with_columns(pl.col("date").dt.date()),
        pl.from_pandas(DATED).with_columns(pl.col("date").dt.strftime("%Y-%m-%d")),
        pl.from_pandas(DATED).to_arrow(),
    ],
    ids=[
        *("dates", "row numbers", "texts", "days of a zone", "polars", "a column of dates", "a column named index"),
        *("a column of texts", "a column of numbers", "day first", "a column of a zone", "Date", "sorted", "numbers"),
        *("polars times", "polars days", "polars texts", "arrow"),
    ],
)
def test_weights_with_the_labels_of_the_market_equal_the_array(door: Any, same: Any) -> None:
    assert bits(door(same).nav) == bits(run(WEIGHTS).nav)


LATE = DATED[-1:].assign(date=pd.Timestamp("2099-01-01"))
LONG = DATED.melt("date", var_name="symbol", value_name="weight")
REPAIRED = {
    "reversed": DATED[::-1],
    "reversed, new rows": DATED[::-1].reset_index(drop=True),
    "an index in reverse": FRAME[::-1],
    "an extra date": pd.concat([DATED, LATE]),
    "an extra date in the index": pd.concat([FRAME, LATE.set_index("date")]),
    "an extra date of texts": pd.concat([FRAME, LATE.set_index("date")]).rename(lambda day: f"{day:%Y-%m-%d}"),
    "an extra date of a zone": pd.concat([FRAME, LATE.set_index("date")]).tz_localize("UTC"),
    "an extra symbol": DATED.assign(X=0.1),
    "an extra symbol and an index": FRAME.assign(X=0.1),
    "other order of symbols": DATED[["date", *MARKET.symbols[::-1]]],
    "a row per date and symbol": LONG,
    "polars reversed": pl.from_pandas(DATED).reverse(),
    "polars with an extra symbol": pl.from_pandas(DATED).with_columns(X=0.1),
    "polars with a row per date and symbol": pl.from_pandas(LONG),
    "arrow reversed": pl.from_pandas(DATED).reverse().to_arrow(),
    "arrow with an extra symbol": pl.from_pandas(DATED).with_columns(X=0.1).to_arrow(),
}


@pytest.mark.parametrize("weights", REPAIRED.values(), ids=REPAIRED)
def test_the_hint_for_other_labels_aligns_the_weights(weights: Any) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        run(weights)
    hint = str(refused.value).partition("hint: `")[2].partition("`")[0]
    aligned = eval(hint, {"weights": weights, "dataset": MARKET, "pd": pd})
    assert bits(run(aligned).nav) == bits(run(WEIGHTS).nav)


HOURS = pd.date_range("2024-01-02", periods=60, freq="h", tz="UTC")
HOURLY = oo.Dataset.from_frame(
    pd.DataFrame(100 + np.cumsum(WEIGHTS, axis=0), HOURS, list(MARKET.symbols)), periods_per_year=8760
)
OF_HOURS = pd.DataFrame(WEIGHTS, HOURS, list(HOURLY.symbols))
LATER = OF_HOURS[-1:].set_axis(HOURS[-1:] + pd.Timedelta("9h"))


@pytest.mark.parametrize(
    "weights",
    [
        OF_HOURS.tz_localize(None),
        pd.concat([OF_HOURS, LATER]),
        pd.concat([OF_HOURS, LATER]).tz_convert("America/New_York"),
        pd.concat([OF_HOURS, LATER]).tz_convert("Asia/Tokyo").rename_axis("date").reset_index(),
        pd.concat([OF_HOURS, LATER]).tz_localize(None).rename_axis("time").reset_index(),
    ],
    ids=["without a zone", "later", "later in New York", "later in Tokyo", "later without a zone"],
)
def test_the_hint_for_other_times_aligns_the_weights(weights: Any) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.run_backtest(HOURLY, weights)
    hint = str(refused.value).partition("hint: `")[2].partition("`")[0]
    aligned = eval(hint, {"weights": weights, "dataset": HOURLY, "pd": pd})
    assert bits(oo.run_backtest(HOURLY, aligned).nav) == bits(oo.run_backtest(HOURLY, WEIGHTS).nav)


def test_times_of_another_zone_are_those_of_the_market() -> None:
    same = oo.run_backtest(HOURLY, OF_HOURS.tz_convert("America/New_York"))
    assert bits(same.nav) == bits(oo.run_backtest(HOURLY, WEIGHTS).nav)


def test_missing_dates_hold_as_the_hint_says() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"the column `date` of `weights` must be .*which hold") as refused:
        run(DATED[5:])
    hint = str(refused.value).partition("hint: `")[2].partition("`")[0]
    aligned = eval(hint, {"weights": DATED[5:], "dataset": MARKET, "pd": pd})
    held = WEIGHTS.copy()
    held[:5] = np.nan
    assert bits(run(aligned).nav) == bits(run(held).nav)


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        (FRAME.shift(3660, freq="D"), "hint: label the rows with the dates of the market, 2000-01-03 .. 2000-03-24"),
        (pd.concat([DATED, LATE]).set_index("date").rename(lambda day: int(f"{day:%Y%m%d}")), "hint: label the rows"),
        (pd.concat([DATED, DATED[:1]]), "received 2000-01-03 twice; hint: keep one row for each date"),
        (DATED.drop(columns=MARKET.symbols[0]), "hint: add a column S000, with 0 for no position"),
        (pl.from_pandas(DATED)[5:], "hint: keep one row for each date of `dataset.dates`, with NaN"),
        (DATED.set_axis(FRAME.index[::-1]), "the index of `weights` must be `dataset.dates`; received 2000-03-24"),
    ],
    ids=[
        "dates of another year",
        "numbers with an extra date",
        "a date twice",
        "a symbol missing",
        "polars without dates",
        "an index that contradicts the column",
    ],
)
def test_other_labels_are_refused_with_what_to_do(weights: Any, wanted: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=re.escape(wanted)):
        run(weights)


@pytest.mark.parametrize("window", [None, (None, 50), ":", oo.Window(end=50)], ids=str)
def test_by_default_an_agent_starts_with_a_history_and_an_array_at_the_first_bar(window: Any) -> None:
    agent = oo.run_backtest(MARKET, "equal-weight", window)
    array = oo.run_backtest(MARKET, WEIGHTS, window)
    assert (agent.window.start, array.window.start) == (19, 0)
    assert agent.window.end == array.window.end


def either(kind: str) -> Any:
    return WEIGHTS if kind == "weights" else "equal-weight"


@pytest.mark.parametrize("window", [None, (None, 50)], ids=str)
@pytest.mark.parametrize("kinds", [["weights", "agent"], ["agent", "weights", "weights"]], ids=str)
def test_a_sweep_of_arrays_and_agents_needs_one_window(window: Any, kinds: list[str]) -> None:
    end, seen = 60 if window is None else 50, []
    wanted = rf"received arrays from bar 0 and agents from bar 19; hint: window=\(0, {end}\) or window=\(19, {end}\)"
    with pytest.raises(oo.OpenOutcryError, match=wanted) as refused:
        oo.run_sweep(MARKET, [either(kind) for kind in kinds], window=window, on_result=lambda *run: seen.append(run))
    assert (refused.value.slug, seen) == ("window_invalid", [])
    with pytest.raises(oo.OpenOutcryError, match=wanted):
        oo.run_sweep(MARKET, either, {"kind": kinds}, window=window, progress=False)


@pytest.mark.parametrize("start", [0, 19])
def test_a_sweep_of_arrays_and_agents_has_the_stated_window(start: int) -> None:
    mixed = oo.run_sweep(MARKET, [WEIGHTS, "equal-weight"], window=(start, None), progress=False)
    for (_, made), item in zip(mixed, (WEIGHTS, "equal-weight"), strict=True):
        alone = oo.run_backtest(MARKET, item, (start, None))
        assert (made.window, bits(made.nav)) == (alone.window, bits(alone.nav))
        assert made.window.start == start


def test_the_first_rows_of_an_array_are_traded() -> None:
    held = np.full((60, 3), np.nan)
    held[0] = [1.0, 0.0, 0.0]
    assert run(held).event_counts["filled"] == 1


def test_an_xarray_is_not_stripped_of_its_coordinates() -> None:
    class Labelled:
        dims, coords = ("time", "symbol"), {}

        def __array__(self, *_: Any, **__: Any) -> Any:
            return WEIGHTS

    with pytest.raises(oo.OpenOutcryError, match="without coordinates"):
        run(Labelled())


def test_an_action_with_symbols_must_have_those_of_the_market() -> None:
    env = oo.OpenOutcryEnv(dataset=MARKET)
    env.reset(seed=0)
    action = pd.Series([0.1, 0.2, 0.3], list(MARKET.symbols))
    with pytest.raises(oo.OpenOutcryError, match="`action` must have the index"):
        env.step(action[::-1])
    env.step(action)
