"""Rules for every strategy: parameters, window and weights."""

from __future__ import annotations

import copy
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY, Strategy, check_ranges, neighbours, sample
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.rolling_windows import Array

RANGES: Ranges = {
    "n": {"type": "int", "min": 2, "max": 10, "step": 2, "default": 4},
    "m": {"type": "int", "min": -5, "max": 5, "default": 0},
    "x": {"type": "float", "min": 0.1, "max": 1.0, "step": 0.1, "default": 0.3},
    "y": {"type": "float", "min": -1.0, "max": 1.0, "default": 0.0},
    "kind": {"type": "categorical", "choices": ["a", "b", 1, True, 2.5], "default": "a"},
}


class Same(Strategy):
    """Hold a constant fraction of every listed symbol."""

    PARAM_RANGES: ClassVar[Ranges] = RANGES

    @property
    def lookback(self) -> int:
        return int(self.params["n"])

    def weights(self, closes: Array) -> Array:
        # A numpy reduction: its summation order depends on the memory layout.
        size = self.params["x"] / closes.shape[1] * np.tanh(np.nanmean(closes))
        return np.where(np.isfinite(closes[-1]), size, 0.0)


@pytest.mark.parametrize(
    "params",
    [
        {"n": 3}, {"n": 12}, {"n": True}, {"n": 4.0}, {"n": "4"}, {"n": None}, {"n": [4]}, {"n": 10**5000},
        {"x": 0.25}, {"x": 0.30000000000000004}, {"x": float("nan")}, {"x": float("inf")}, {"x": True}, {"x": "0.3"},
        {"y": 1.5}, {"kind": "c"}, {"kind": False}, {"kind": 1.0}, {"kind": []}, {"unknown": 1}, {"z" * 500: 1},
    ],
)  # fmt: skip
def test_a_parameter_outside_its_range_is_refused(params: dict[str, Any]) -> None:
    """A text in place of a number is an `OpenOutcryError`, not a `TypeError`."""
    with pytest.raises(oo.OpenOutcryError, match=r"^argument_invalid: .{10,400}$"):
        Same(**params)


def test_parameters_are_typed_and_in_order() -> None:
    strategy = Same(y=1, x=np.float64(0.7), n=np.int64(6), kind=True)
    assert strategy.params == {"n": 6, "m": 0, "x": 0.7, "y": 1.0, "kind": True}
    assert [type(each) for each in strategy.params.values()] == [int, int, float, float, bool]
    assert list(strategy.params) == list(RANGES)
    assert str(Same(y=-0.0).params["y"]) == "0.0"
    assert Same(kind=1) != Same(kind=True)


def number(kind: str, least: float, most: float, default: float, **more: float) -> dict[str, Any]:
    return {"type": kind, "min": least, "max": most, "default": default} | more


def choice(choices: Any, default: Any) -> dict[str, Any]:
    return {"type": "categorical", "choices": choices, "default": default}


@pytest.mark.parametrize(
    "ranges",
    [
        None, 3, [], {"1x": {}}, {1: {}}, {"x": None}, {"x": {"type": "int"}}, {"x": {"type": ["int"]}},
        {"_x": number("int", 1, 2, 1)}, {"x": {"type": "text", "default": 1}}, {"x": number("int", 2, 1, 1)},
        {"x": number("int", 1, 1, 1)}, {"x": number("int", 1.0, 2, 1)}, {"x": number("int", True, 2, 2)},
        {"x": number("float", 0, float("inf"), 1)}, {"x": number("float", float("nan"), 1, 1)},
        {"x": number("float", 0.0, 1.0, 2.0)}, {"x": number("float", 0.0, 1.0, 0.3, step=0.25)},
        {"x": number("float", 0.0, 1.0, 0.0, step=0.0)}, {"x": number("float", 0.0, 1.0, 0.0, step=-0.5)},
        {"x": number("float", 0.0, 1.0, 0.0, step=5.0)}, {"x": number("float", 0.0, 1.0, 0.0, step=1e-300)},
        {"x": number("int", 1, 2, 1, more=1)}, {"x": choice([], 1)}, {"x": choice("ab", "a")},
        {"x": choice(["a", "a"], "a")}, {"x": choice(["a", None], "a")}, {"x": choice(["a"], "b")},
    ],
    ids=lambda ranges: str(ranges)[:70],
)  # fmt: skip
def test_invalid_ranges_are_refused(ranges: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="argument_invalid"):
        check_ranges(ranges)


@settings(max_examples=count(500, 60))
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.0, 0.1, 0.5, 3.0]))
def test_samples_and_their_neighbours_are_parameters(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    for ranges in (RANGES, *(kind.PARAM_RANGES for kind in LIBRARY.values())):
        params = sample(ranges, rng)
        for other in neighbours(ranges, params, share):
            changed = [name for name in ranges if other[name] != params[name]]
            assert len(changed) == 1
            assert ranges[changed[0]]["type"] != "categorical"
            if ranges is RANGES:
                assert Same(**other).params == other


def test_samples_reach_every_value() -> None:
    rng = np.random.default_rng(0)
    drawn = [sample(RANGES, rng) for _ in range(300)]
    assert {each["n"] for each in drawn} == {2, 4, 6, 8, 10}
    assert {each["x"] for each in drawn} == {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}
    assert len({(type(each["kind"]), each["kind"]) for each in drawn}) == 5


def test_neighbours_move_each_number_by_a_tenth_or_a_step() -> None:
    ranges: Ranges = {
        "a": {"type": "int", "min": 0, "max": 200, "default": 100},
        "b": {"type": "float", "min": 1.0, "max": 4.0, "step": 0.5, "default": 2.0},
        "c": {"type": "float", "min": 0.0, "max": 10.0, "default": 9.5},
    }
    moved = [(each["a"], each["b"], each["c"]) for each in neighbours(ranges, {})]
    assert moved == [
        (90, 2.0, 9.5), (110, 2.0, 9.5), (100, 1.5, 9.5), (100, 2.5, 9.5), (100, 2.0, 9.5 - 0.95), (100, 2.0, 10.0)
    ]  # fmt: skip
    assert [each["a"] for each in neighbours(ranges, {"a": 0})][:1] == [1]


def test_a_strategy_must_have_a_docstring_and_ranges() -> None:
    silent = type("Silent", (Same,), {"__doc__": None})
    with pytest.raises(oo.OpenOutcryError, match="docstring"):
        silent()
    wrong = type("Wrong", (Same,), {"__doc__": "Wrong.", "PARAM_RANGES": {"n": 3}})
    with pytest.raises(oo.OpenOutcryError, match="range of `n`"):
        wrong()


@pytest.mark.parametrize("lookback", [0, -1, True, 2.0, None, 10**9])
def test_a_lookback_must_be_a_number_of_closes(lookback: Any) -> None:
    kind = type("Odd", (Same,), {"__doc__": "Odd.", "lookback": lookback})
    with pytest.raises(oo.OpenOutcryError, match="lookback"):
        kind().table(oo.Dataset.synthetic(2, 10))


@pytest.mark.parametrize(
    ("weights", "slug"),
    [
        ([0.1], "weight_count"), ([[0.1, 0.2]], "weight_count"), ([0.1, float("nan")], "weight_not_finite"),
        ([0.1, float("inf")], "weight_not_finite"), (["a", "b"], "argument_invalid"), (None, "argument_invalid"),
        ([[1], [1, 2]], "argument_invalid"), ([True, False], "argument_invalid"), ([1j, 0], "argument_invalid"),
    ],
)  # fmt: skip
def test_invalid_weights_are_refused(weights: Any, slug: str) -> None:
    kind = type("Odd", (Same,), {"__doc__": "Odd.", "weights": lambda self, closes: weights})
    dataset = oo.Dataset.synthetic(2, 10)
    with pytest.raises(oo.OpenOutcryError, match=f"^{slug}: "):
        kind().table(dataset)
    with pytest.raises(oo.OpenOutcryError, match=f"^{slug}: "):
        oo.run_backtest(dataset, kind().agent(dataset.symbols), (0, 10), lookback=4)


def test_an_unlisted_symbol_must_have_weight_0() -> None:
    close = np.full((10, 2), 5.0)
    close[:7, 1] = np.nan
    dataset = oo.Dataset.from_arrays([f"2020-01-{day:02d}" for day in range(1, 11)], ["a", "b"], close)
    kind = type("Odd", (Same,), {"__doc__": "Odd.", "weights": lambda self, closes: np.array([0.5, 0.5])})
    with pytest.raises(oo.OpenOutcryError, match=r"weights\[1\] must be 0"):
        kind().table(dataset)


def test_a_numpy_reduction_gives_the_same_bits_through_both_interfaces() -> None:
    dataset = oo.Dataset.synthetic(7, 60, 2)
    for n in (2, 10):
        strategy = Same(n=n)
        table = oo.run_backtest(dataset, strategy.table(dataset), (0, 60))
        agent = oo.run_backtest(dataset, strategy.agent(dataset.symbols), (0, 60), lookback=20)
        assert table.nav.tobytes() == agent.nav.tobytes()


def test_a_strategy_cannot_write_into_the_market() -> None:
    class Vandal(Same):
        """Overwrite the window of closes."""

        def weights(self, closes: Array) -> Array:
            closes[:] = 1e9
            return np.zeros(closes.shape[1])

    dataset = oo.Dataset.synthetic(2, 12)
    before = dataset.close.tobytes()
    assert (Vandal().table(dataset)[3:] == 0.0).all()
    assert dataset.close.tobytes() == before


def test_an_agent_refuses_observations_that_are_too_short() -> None:
    dataset = oo.Dataset.synthetic(2, 40)
    with pytest.raises(oo.OpenOutcryError, match="observations must show 10 closes"):
        oo.run_backtest(dataset, Same(n=10).agent(dataset.symbols), (0, 40), lookback=9)


def test_a_strategy_can_be_pickled_compared_and_copied() -> None:
    strategy = LIBRARY["trend"](fast=7)
    assert pickle.loads(pickle.dumps(strategy)) == strategy == copy.deepcopy(strategy)
    assert repr(strategy) == "Trend(fast=7, slow=200, side='long')"
    assert LIBRARY["trend"].defaults() == LIBRARY["trend"]().params
    with pytest.raises(TypeError):
        strategy.params["fast"] = 8  # type: ignore[index]
