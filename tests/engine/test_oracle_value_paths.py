"""Compare the engine with value paths of vectorbt and bt: stored paths on every interface, and a live run of bt."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

import market as source
import numpy as np
import pytest
from builders import Array, Draw, bits, dates_of, env_of, row_decision

import openoutcry as oo

CAPITAL = 1e6
RELATIVE = 1e-12
PATHS = json.loads((Path(__file__).parents[1] / "oracle" / "value_paths.json").read_text(encoding="utf-8"))
NAME = re.compile(
    r"(?P<kind>synth|nextopen)_N(?P<n>\d+)_T(?P<t>\d+)_g(?P<gross>[\d.]+)(_ls0)?\|fee=(?P<fee>.+)\|slip=(?P<slip>.+)"
)


@dataclass(frozen=True)
class Case:
    """A stored value path and its inputs."""

    maker: str
    name: str
    expected: dict[str, Any]
    fills_at_open: bool
    drawn: Draw

    def value(self, nav: Array, costs: Array) -> Array:
        """Return the path in the convention of the other engine, which pays costs at the close of the trade."""
        return CAPITAL * (nav if self.fills_at_open else nav[:-1] - costs)


def opens_of(close: Array) -> Array:
    before = np.vstack([close[:1], close[:-1]])
    noise = source.uniforms(5, close.size).reshape(close.shape)
    return before * (1 + 0.01 * (noise - 0.5))


def drawn_from(close: Array, weights: Array, opens: Array | None, costs: oo.CostModel) -> Draw:
    if opens is None:  # a final bar without price changes, for the decision of the last close
        close, weights = np.vstack([close, close[-1:]]), np.vstack([weights, weights[-1:]])
    symbols = [f"S{i:03d}" for i in range(close.shape[1])]
    dataset = oo.Dataset.from_arrays(dates_of(len(close)), symbols, close, open=opens)
    return Draw(dataset, weights, (0, len(close)), costs, oo.Limits.off())


def load(maker: str, name: str) -> Case:
    found = NAME.fullmatch(name)
    assert found, name
    n_symbols, n_bars = int(found["n"]), int(found["t"])
    close = source.market(n_symbols, n_bars)
    weights = source.weights(n_symbols, n_bars, gross=float(found["gross"]))
    fills_at_open = found["kind"] == "nextopen"
    rates = {"fee_bps": float(found["fee"]) * 1e4, "slippage_bps": float(found["slip"]) * 1e4}
    costs = oo.CostModel(**rates, financing_bps=0.0, borrow_bps=0.0)
    drawn = drawn_from(close, weights, opens_of(close) if fills_at_open else None, costs)
    return Case(maker, name, PATHS[maker][name], fills_at_open, drawn)


CASES = [(maker, name) for maker, paths in PATHS.items() for name in paths]


@pytest.fixture(scope="module", params=CASES, ids=" ".join)
def case(request: pytest.FixtureRequest) -> Case:
    return load(*request.param)


@pytest.fixture(scope="module")
def run(case: Case) -> oo.Run:
    return oo.run_backtest(*case.drawn)


def test_there_are_paths_of_both_engines_and_both_conventions() -> None:
    kinds = {(maker, name.split("_")[0]) for maker, name in CASES}
    assert kinds == {("vectorbt", "synth"), ("vectorbt", "nextopen"), ("bt", "synth")}
    assert len(CASES) == 10


def test_a_backtest_reproduces_the_path(case: Case, run: oo.Run) -> None:
    value = case.value(run.nav, sum(run.costs.values()))
    assert len(value) == case.expected["n"]
    stored = {"final": (value[-1], float(case.expected["final"])), "sum": (fsum(value), float(case.expected["sum"]))}
    stored |= {bar: (value[int(bar)], float(price)) for bar, price in case.expected["at"].items()}
    errors = {what: abs(received / expected - 1.0) for what, (received, expected) in stored.items()}
    print(f"{case.maker} {case.name}: worst error {max(errors.values()):.1e}")
    assert {what: error for what, error in errors.items() if not error <= RELATIVE} == {}


def test_the_array_interface_gives_the_bits_of_the_backtest(case: Case, run: oo.Run) -> None:
    env = env_of(case.drawn)
    env.reset_arrays()
    nav, rewards, costs = [env.nav], [], []
    for row in case.drawn.weights[:-1]:
        rewards.append(env.step_weights(row))
        nav.append(env.nav)
        costs.append(env.info()["costs"])
    assert env.truncated
    assert bits(nav) == bits(run.nav)
    assert bits(rewards) == bits(run.returns)
    assert {kind: bits([each[kind] for each in costs]) for kind in run.costs} == {
        kind: bits(column) for kind, column in run.costs.items()
    }


def test_the_json_interface_gives_the_bits_of_the_backtest(case: Case, run: oo.Run) -> None:
    env, symbols = env_of(case.drawn), case.drawn.dataset.symbols
    env.reset()
    nav, rewards, costs, done = [1.0], [], [], False
    for row in case.drawn.weights[:-1]:
        assert not done
        _, reward, done, text = env.step(row_decision(symbols, row, [True] * len(symbols)))
        info = json.loads(text)
        nav.append(info["nav"])
        rewards.append(reward)
        costs.append(info["costs"])
    assert done
    assert bits(nav) == bits(run.nav)
    assert bits(rewards) == bits(run.returns)
    assert {kind: bits([each[kind] for each in costs]) for kind in run.costs} == {
        kind: bits(column) for kind, column in run.costs.items()
    }


def bt_value(close: Array, weights: Array) -> Array:
    """Return the value path of bt that trades to `weights` at each close, free of cost."""
    import bt
    import pandas as pd

    index = pd.bdate_range("2000-01-03", periods=len(close))
    prices = pd.DataFrame(close, index, [f"s{i}" for i in range(close.shape[1])])
    targets = pd.DataFrame(weights, index, prices.columns)
    strategy = bt.Strategy("oracle", [bt.algos.WeighTarget(targets), bt.algos.Rebalance()])
    test = bt.Backtest(strategy, prices, initial_capital=CAPITAL, integer_positions=False, progress_bar=False)
    test.run()
    return test.strategy.values.loc[index].to_numpy()


@pytest.mark.parametrize(
    ("n_symbols", "n_bars", "seed", "long_short"), [(3, 300, 11, False), (5, 200, 12, True)], ids=["long", "long short"]
)
def test_a_live_run_of_bt_gives_the_path_of_the_engine(
    n_symbols: int, n_bars: int, seed: int, long_short: bool
) -> None:
    close = source.market(n_symbols, n_bars, seed=seed)
    weights = source.weights(n_symbols, n_bars, seed=seed + 1, gross=0.9, long_short=long_short)
    run = oo.run_backtest(*drawn_from(close, weights, None, oo.CostModel.zero()))
    error = np.abs(CAPITAL * run.nav[:-1] / bt_value(close, weights) - 1.0).max()
    print(f"bt live, {n_symbols} x {n_bars}: worst error {error:.1e}")
    assert error <= RELATIVE
