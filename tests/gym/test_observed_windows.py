"""Windows of several columns in dict observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import accepted, count, dataset_of
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.vector import OpenOutcryVectorEnv

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=count(1_000, 60))
@given(seed=SEEDS)
def test_closes_equal_the_window_without_columns_and_lanes_the_environment(seed: int) -> None:
    market, _, start, end, *_ = accepted(seed)
    dataset, lookback = dataset_of(market), int(np.random.default_rng(seed).integers(1, 9))
    columns = [name for name in ("volume", "close", "open") if name == "close" or getattr(dataset, name) is not None]
    options: dict[str, Any] = {"dataset": dataset, "window": (start, end), "lookback": lookback}
    plain, env = OpenOutcryEnv(**options), OpenOutcryEnv(**options, history=columns)
    lanes = [OpenOutcryVectorEnv(3, **options, history=columns, copy=copies) for copies in (True, False)]
    seen, shown, *rows = [each.reset(seed=0)[0]["history"] for each in (plain, env, *lanes)]
    weights = np.zeros(dataset.n_symbols, np.float32)
    for bar in range(start, end):
        assert shown.shape == (lookback, dataset.n_symbols, len(columns))
        assert np.array_equal(shown[:, :, columns.index("close")], seen)
        assert np.array_equal(shown, expected(dataset, bar, lookback, columns), equal_nan=True)
        assert all(np.array_equal(row[2], shown) for row in rows)
        if bar == end - 1:
            break
        seen, shown = plain.step(weights)[0]["history"], env.step(weights)[0]["history"]
        rows = [each.step(np.stack([weights] * 3))[0]["history"] for each in lanes]


def expected(dataset: oo.Dataset, bar: int, lookback: int, columns: list[str]) -> np.ndarray:
    """Return the window from the tables, symbol by symbol and bar by bar."""
    found = np.zeros((lookback, dataset.n_symbols, len(columns)))
    splits = np.ones_like(dataset.close) if dataset.splits is None else np.nan_to_num(dataset.splits, nan=1.0)
    for symbol in range(dataset.n_symbols):
        listed = np.flatnonzero(np.isfinite(dataset.close[: bar + 1, symbol]))
        gone = dataset.delistings is not None and np.isfinite(dataset.delistings[: bar + 1, symbol]).any()
        if not listed.size or gone:
            continue
        for k, name in enumerate(columns):
            table, values, last = getattr(dataset, name), [], 0.0
            for at in range(bar + 1):
                if splits[at, symbol] != 1.0:
                    of = splits[at, symbol]
                    values = [value * of if name == "volume" else value / of for value in values]
                    last = last * of if name == "volume" else last / of
                last = table[at, symbol] if np.isfinite(table[at, symbol]) else last
                values.append(last)
            first = max(listed[0], bar + 1 - lookback)
            found[lookback - (bar + 1 - first) :, symbol, k] = values[first:]
    return found


def test_features_are_windows_too_and_one_column_keeps_its_axis() -> None:
    market = oo.Dataset.synthetic(2, 30, seed=1)
    values = np.arange(60.0).reshape(30, 2) - 30.0
    market = market.with_features({"mood": values, "vix": np.arange(30.0)})
    env = OpenOutcryEnv(dataset=market, lookback=4, history=("mood",), window=(2, 30))
    shown, _ = env.reset(seed=0)
    assert env.observation_space.contains(shown)
    assert shown["history"][..., 0].tolist() == [[0.0, 0.0], *values[:3].tolist()]
    with pytest.raises(oo.OpenOutcryError, match=r"`history` must be among .* received 'vix'"):
        OpenOutcryEnv(dataset=market, lookback=4, history=("vix",))


def test_an_array_of_the_caller_receives_the_windows() -> None:
    lanes = OpenOutcryVectorEnv(3, 2, 40, lookback=4, history=("close", "volume"))
    lanes.reset(seed=0)
    other = OpenOutcryVectorEnv(3, 2, 40, lookback=4, history=("close", "volume"))
    other.reset(seed=0)
    out = {name: np.zeros(space.shape, space.dtype) for name, space in lanes.observation_space.spaces.items()}
    lanes.step(np.zeros((3, 2), np.float32), out=out)
    shown = other.step(np.zeros((3, 2), np.float32))[0]
    assert all(np.array_equal(out[name], shown[name]) for name in shown)
    assert out["history"].any()
