"""Test the baselines against independent Python implementations, and load agents by name."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import Draw, bits, count, draw, env_of

import openoutcry as oo

Observation = dict[str, Any]
Weights = dict[str, float]
N_MARKETS = count(300, 60)
SLUGS = {
    each["slug"]
    for each in json.loads((Path(__file__).resolve().parents[2] / "contract" / "errors.json").read_text())["errors"]
}


def total(values: Iterable[float]) -> float:
    """Add from left to right; `sum` in newer Python versions compensates for rounding."""
    result = 0.0
    for value in values:
        result += value
    return result


def closes(observation: Observation) -> dict[str, list[float]]:
    return {each["symbol"]: each["close_history"] for each in observation["symbols"]}


def share(observation: Observation) -> float:
    return 1.0 / max(1, len(observation["symbols"]))


def hold_cash() -> Callable[[Observation], Weights]:
    return lambda _: {}


def buy_and_hold() -> Callable[[Observation], Weights]:
    bought: list[bool] = []

    def decide(observation: Observation) -> Weights:
        if bought or not observation["symbols"]:
            return {}
        bought.append(True)
        return dict.fromkeys(closes(observation), share(observation))

    return decide


def equal_weight() -> Callable[[Observation], Weights]:
    return lambda observation: dict.fromkeys(closes(observation), share(observation))


def momentum() -> Callable[[Observation], Weights]:
    def decide(observation: Observation) -> Weights:
        risen = {symbol: past[-1] > past[0] for symbol, past in closes(observation).items()}
        return {symbol: share(observation) if rose else 0.0 for symbol, rose in risen.items()}

    return decide


def mean_reversion() -> Callable[[Observation], Weights]:
    def decide(observation: Observation) -> Weights:
        fallen = {symbol: past[-1] < past[-6:][0] for symbol, past in closes(observation).items()}
        return {symbol: share(observation) if fell else 0.0 for symbol, fell in fallen.items()}

    return decide


def inverse_volatility() -> Callable[[Observation], Weights]:
    def calm(past: list[float]) -> float:
        returns = [after / before - 1.0 for before, after in pairwise(past)]
        if len(returns) < 2:
            return 0.0
        mean = total(returns) / len(returns)
        variance = total((r - mean) * (r - mean) for r in returns) / (len(returns) - 1)
        return 1.0 / sqrt(variance) if variance > 0.0 else 0.0

    def decide(observation: Observation) -> Weights:
        parts = {symbol: calm(past) for symbol, past in closes(observation).items()}
        whole = total(parts.values())
        return {symbol: part / whole if whole > 0.0 else 0.0 for symbol, part in parts.items()}

    return decide


MASK = 2**32 - 1


def rotated(word: int, n: int) -> int:
    return ((word << n) | (word >> (32 - n))) & MASK


def key_of(seed: int) -> list[int]:
    """Return the eight key words of a seed, drawn from PCG32 (O'Neill 2014) as `rand_core` does."""
    words = []
    for _ in range(8):
        seed = (seed * 6364136223846793005 + 11634580027462260723) % 2**64
        word, turn = (((seed >> 18) ^ seed) >> 27) & MASK, seed >> 59
        words.append(rotated(word, 32 - turn) if turn else word)
    return words


def chacha8(key: list[int]) -> Iterator[int]:
    """Yield the 32-bit words of ChaCha with 8 rounds, stream 0 (Bernstein 2008)."""
    quarters = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
    diagonals = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
    block = 0
    while True:
        start = [*struct.unpack("<4I", b"expand 32-byte k"), *key, block & MASK, block >> 32, 0, 0]
        x = list(start)
        for a, b, c, d in (quarters + diagonals) * 4:
            for left, right in ((16, 12), (8, 7)):
                x[a] = (x[a] + x[b]) & MASK
                x[d] = rotated(x[d] ^ x[a], left)
                x[c] = (x[c] + x[d]) & MASK
                x[b] = rotated(x[b] ^ x[c], right)
        yield from ((word + first) & MASK for word, first in zip(x, start, strict=True))
        block += 1


def random_weights(seed: int) -> Callable[[Observation], Weights]:
    words = chacha8(key_of(seed))

    def uniform() -> float:
        low, high = next(words), next(words)
        return ((high << 32 | low) >> 11) * 2.0**-53

    def decide(observation: Observation) -> Weights:
        draws = {each["symbol"]: uniform() for each in observation["symbols"]}
        whole = total(draws.values())
        return {symbol: part / whole if whole > 0.0 else 0.0 for symbol, part in draws.items()}

    return decide


def rules(seed: int) -> dict[str, Callable[[Observation], Weights]]:
    return {
        "hold-cash": hold_cash(),
        "buy-and-hold": buy_and_hold(),
        "equal-weight": equal_weight(),
        "momentum": momentum(),
        "mean-reversion": mean_reversion(),
        "inverse-volatility": inverse_volatility(),
        "random": random_weights(seed),
    }


def decided(weights: Weights) -> dict[str, Any]:
    return {"orders": [{"symbol": s, "action": "buy", "target_weight": w} for s, w in weights.items()]}


def markets() -> Iterator[tuple[int, Draw]]:
    """Yield random markets, and each bundled one."""
    for seed in range(N_MARKETS):
        yield seed, draw(seed, odd_names=True)
    for seed, dataset in enumerate(
        (oo.data.load("us-treasury"), oo.data.load("ecb-fx"), oo.Dataset.synthetic(5, 90, 3))
    ):
        yield seed, Draw(dataset, np.empty(0), (0, min(400, dataset.n_bars)), oo.CostModel(), oo.Limits())


@pytest.mark.parametrize("name", oo.agents.NAMES)
def test_a_baseline_decides_the_same_in_rust_in_python_and_in_the_reference(name: str) -> None:
    n_decisions = 0
    for seed, drawn in markets():
        options = {"window": drawn.window, "costs": drawn.costs, "limits": drawn.limits, "seed": seed}
        in_rust = oo.run_backtest(drawn.dataset, name, **options)
        session, rule = oo.agents.load(name, seed), rules(seed)[name]
        in_python = oo.run_backtest(drawn.dataset, lambda seen, agent=session: agent(seen), **options)
        by_rule = oo.run_backtest(drawn.dataset, lambda seen, rule=rule: decided(rule(seen)), **options)
        assert bits(in_rust.decisions) == bits(in_python.decisions) == bits(by_rule.decisions)
        assert bits(in_rust.nav) == bits(in_python.nav) == bits(by_rule.nav)
        assert in_rust.events == in_python.events == by_rule.events
        n_decisions += np.isfinite(in_rust.decisions).any(axis=1).sum()
    print(f"{name}: {n_decisions} bars with orders")
    assert (n_decisions > 0) == (name != "hold-cash")


@pytest.mark.parametrize("name", oo.agents.NAMES)
def test_a_baseline_returns_valid_decisions(name: str) -> None:
    drawn = draw(2, odd_names=True)
    env, agent = env_of(drawn), oo.agents.load(name)
    text = env.reset()
    for _ in range(drawn.window[1] - drawn.window[0] - 1):
        decision = agent(json.loads(text))
        shown = {each["symbol"] for each in json.loads(text)["symbols"]}
        named = [order["symbol"] for order in decision["orders"]]
        assert (set(named) <= shown, len(named)) == (True, len(set(named)))
        assert sum(order["target_weight"] for order in decision["orders"]) <= 1.0 + 1e-12
        text, _, done, _ = env.step(json.dumps(decision))
        if done:
            break


@pytest.mark.parametrize("name", oo.agents.NAMES)
def test_a_baseline_ignores_unknown_fields_of_an_observation(name: str) -> None:
    observation = json.loads(env_of(draw(2)).reset())
    later = observation | {"regime": "calm", "symbols": [each | {"sector": 3} for each in observation["symbols"]]}
    assert oo.agents.load(name)(later) == oo.agents.load(name)(observation)


def test_a_baseline_starts_a_new_session_in_every_backtest_and_after_a_reset() -> None:
    dataset, agent = oo.Dataset.synthetic(3, 60, 1), oo.agents.buy_and_hold()
    runs = [oo.run_backtest(dataset, agent) for _ in range(2)]
    assert runs[0].nav.tobytes() == runs[1].nav.tobytes()
    observation = json.loads(oo.TradingEnv(seed=1).reset())
    first = agent(observation)
    assert len(first["orders"]) == 4
    assert agent(observation) == {"orders": []}
    agent.reset()
    assert agent(observation) == first


def test_each_constructor_returns_the_baseline_of_its_name() -> None:
    makers = {name: getattr(oo.agents, name.replace("-", "_")) for name in oo.agents.NAMES}
    assert {name: make().name for name, make in makers.items()} == {name: name for name in oo.agents.NAMES}
    assert len(makers) == 7
    assert repr(oo.agents.momentum()) == "Baseline('momentum')"


def test_the_seed_determines_the_decisions_of_random() -> None:
    observation = json.loads(oo.TradingEnv(seed=1).reset())
    first = [oo.agents.random(seed)(observation) for seed in (0, 0, 1, 2**64 - 1)]
    assert first[0] == first[1]
    assert len({json.dumps(each) for each in first}) == 3
    assert oo.agents.random(5)(observation) == decided(random_weights(5)(observation))


MODULE = """
import openoutcry

def function(observation):
    return {"orders": []}

class Maker:
    def __init__(self):
        self.n = 0

    def __call__(self, observation):
        self.n += 1
        return {"orders": []}

made = openoutcry.agents.momentum()
number = 3
"""


def test_load_accepts_a_name_a_function_a_class_or_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agents_of_mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    dataset = oo.Dataset.synthetic(2, 40, 1)
    maker = oo.agents.load("agents_of_mine:Maker")
    assert oo.run_backtest(dataset, maker, (0, 40)).nav.tolist() == [1.0] * 40
    assert maker.n == 39
    assert oo.agents.load("agents_of_mine:Maker") is not maker
    function = oo.agents.load("agents_of_mine:function")
    assert oo.run_backtest(dataset, function).name == "function"
    made = oo.agents.load("agents_of_mine:made")
    assert oo.run_backtest(dataset, made).nav.tobytes() == oo.run_backtest(dataset, "momentum").nav.tobytes()
    for wrong in ("agents_of_mine:number", "agents_of_mine:nothing", "agents_of_mine:"):
        with pytest.raises(ValueError, match="must have a callable"):
            oo.agents.load(wrong)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        oo.agents.load("no_such_module:agent")


@pytest.mark.parametrize("name", ["", "Momentum", "buy_and_hold", "no-such-agent"])
def test_an_unknown_baseline_is_refused_with_the_known_ones(name: str) -> None:
    for use in (oo.agents.load, lambda name: oo.run_backtest(oo.Dataset.synthetic(2, 40, 1), name)):
        with pytest.raises(oo.OpenOutcryError, match="buy-and-hold, equal-weight") as refused:
            use(name)
        assert refused.value.slug in SLUGS


def test_a_delayed_agent_equals_the_delayed_weights_if_a_symbol_lists_in_between() -> None:
    close = np.array([[1.0, np.nan], [1.1, np.nan], [1.2, np.nan], [1.1, 5.0], [1.3, 6.0], [1.2, 4.0]])
    dataset = oo.Dataset.from_arrays([f"2020-01-{day:02d}" for day in range(1, 7)], ["A", "LATE"], close)
    order = {"symbol": "LATE", "action": "buy", "target_weight": 0.5}

    def early(_: Any) -> dict[str, Any]:
        return {"orders": [order]}

    weights = np.tile([np.nan, 0.5], (6, 1))
    by_agent = oo.run_backtest(dataset, early, (0, 6)).delayed()
    by_array = oo.run_backtest(dataset, weights, (0, 6)).delayed()
    assert bits(by_agent.decisions) == bits(by_array.decisions)
    assert bits(by_agent.nav) == bits(by_array.nav)
    assert by_agent.nav[-1] != 1.0
