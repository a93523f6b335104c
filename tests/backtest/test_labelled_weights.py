"""Weights with labels are aligned by them or refused."""

from __future__ import annotations

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
OTHERS = {
    "reversed": FRAME[::-1],
    "shuffled": FRAME.sample(frac=1.0, random_state=0),
    "shuffled numbers": FRAME.reset_index(drop=True).sample(frac=1.0, random_state=0),
    "late": FRAME.shift(freq="D"),
    "partial": FRAME[10:],
    "columns in another order": FRAME[FRAME.columns[::-1]],
    "a column missing": FRAME.iloc[:, :2],
    "a column of dates": FRAME.reset_index(),
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
    ],
    ids=["dates", "row numbers", "texts", "days of a zone", "polars"],
)
def test_weights_with_the_labels_of_the_market_equal_the_array(door: Any, same: Any) -> None:
    assert bits(door(same).nav) == bits(run(WEIGHTS).nav)


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
