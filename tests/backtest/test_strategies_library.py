"""Library strategies: their positions, and equal numbers through every interface."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builders import bits, count, dataset_of
from hypothesis import given, settings
from hypothesis import strategies as st
from markets import Market
from rare_markets import rare_market

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY, Strategy, catalogue, from_json, sample
from openoutcry.backtest.strategies.rolling_windows import Array, histories, windows_of
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES

NAMES = list(LIBRARY)
# Short windows, so that small markets are past their warm-up.
SHORT: dict[str, dict[str, Any]] = {
    "trend": {"fast": 3, "slow": 65},
    "mean-reversion": {"window": 5, "width": 1.0},
    "momentum": {"window": 25, "skip": 2, "side": "long-short"},
    "volatility-target": {"window": 10, "target": 0.004},
    "pairs": {"window": 20, "entry": 1.0, "exit": 0.25},
    "risk-parity": {"window": 20},
}


def short(name: str) -> Strategy:
    return LIBRARY[name](**SHORT[name])


def assert_interfaces_agree(dataset: oo.Dataset, strategy: Strategy, window: tuple[int, int]) -> oo.Run:
    lookback = max(strategy.lookback, 2)
    table = oo.run_backtest(dataset, strategy.table(dataset), window)
    agent = oo.run_backtest(dataset, strategy.agent(dataset.symbols), window, lookback=lookback)
    assert bits(table.nav) == bits(agent.nav)
    return table


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("market", ["ecb-fx", "us-treasury", "synthetic"])
def test_a_table_and_an_agent_have_the_same_nav_to_the_bit(name: str, market: str) -> None:
    dataset, strategy = oo.Dataset.synthetic(2, 300, 3), LIBRARY[name]()
    if market != "synthetic":
        dataset, strategy = oo.data.load(market).between(2500, 2620), short(name)
    run = assert_interfaces_agree(dataset, strategy, (0, dataset.n_bars))
    assert run.nav[-1] != 1.0


@pytest.mark.parametrize("seed", range(count(60, 3)))
def test_the_interfaces_agree_through_splits_halts_listings_and_settlements(seed: int) -> None:
    dataset = rare_market(seed)
    for name in NAMES:
        assert_interfaces_agree(dataset, short(name), (0, dataset.n_bars))


@pytest.mark.parametrize("seed", range(count(100, 5)))
def test_a_window_equals_the_history_of_the_observation(seed: int) -> None:
    dataset, lookback = rare_market(seed, 60), 17
    shown: list[Array] = []

    def watch(observation: dict[str, object]) -> dict[str, object]:
        closes = np.full((lookback, dataset.n_symbols), np.nan)
        for entry in observation["symbols"]:  # type: ignore[attr-defined]
            history = entry["close_history"]
            closes[lookback - len(history) :, dataset.symbols.index(entry["symbol"])] = history
        shown.append(closes)
        return {"orders": []}

    oo.run_backtest(dataset, watch, (0, dataset.n_bars), lookback=lookback)
    seen = [
        window
        for first, end, closes in histories(dataset)
        if end >= lookback
        for window in windows_of(closes, lookback, max(first, lookback - 1), end).copy()
    ]
    assert len(seen) == dataset.n_bars - lookback + 1
    for window, observed in zip(seen, shown[lookback - 1 :], strict=False):
        assert bits(np.where(np.isnan(window), np.nan, window)) == bits(observed)


@settings(max_examples=count(200, 15))
@given(data=st.data(), name=st.sampled_from(NAMES), seed=st.integers(0, 50))
def test_weights_do_not_depend_on_the_number_of_windows(data: st.DataObject, name: str, seed: int) -> None:
    dataset, strategy = rare_market(seed, n_symbols=1 + seed % 9), short(name)
    complete = strategy.table(dataset)
    start = data.draw(st.integers(0, dataset.n_bars - 1))
    end = data.draw(st.integers(start, dataset.n_bars))
    part = strategy.table(dataset, start, end)
    assert bits(part[start:end]) == bits(complete[start:end])
    assert np.isnan(part[:start]).all()
    assert np.isnan(part[end:]).all()
    bar = data.draw(st.integers(strategy.lookback - 1, dataset.n_bars - 1))
    cut = dataset.head(bar + 1)
    assert bits(strategy.table(cut)[bar]) == bits(complete[bar])


@pytest.mark.parametrize("name", NAMES)
def test_blocks_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = rare_market(4)
    complete = short(name).table(dataset)
    for values in (1, 3000):
        monkeypatch.setattr("openoutcry.backtest.strategies.base._BLOCK_VALUES", values)
        assert bits(short(name).table(dataset)) == bits(complete)


@pytest.mark.parametrize("name", NAMES)
def test_any_parameters_give_a_gross_of_one_at_most(name: str) -> None:
    rng, dataset = np.random.default_rng(5), rare_market(9, 320, 4)
    for _ in range(count(50, 2)):
        strategy = LIBRARY[name](**sample(LIBRARY[name].PARAM_RANGES, rng))
        table = strategy.table(dataset)
        assert np.isnan(table[: strategy.lookback - 1]).all()
        gross = np.abs(table[strategy.lookback - 1 :]).sum(axis=1)
        assert np.nanmax(gross) <= 1.0 + 1e-12


def flat_market(closes: Array) -> oo.Dataset:
    return dataset_of(Market(closes))


@pytest.mark.parametrize("name", ["mean-reversion", "volatility-target", "pairs", "risk-parity"])
def test_a_constant_price_has_weight_0(name: str) -> None:
    table = short(name).table(flat_market(np.full((80, 3), 0.1)))
    assert (table[short(name).lookback :] == 0.0).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_symbol_is_enough(name: str) -> None:
    table = short(name).table(oo.Dataset.synthetic(1, 90, 1))
    assert np.isfinite(table[short(name).lookback :]).all()


def test_trend_holds_rising_symbols() -> None:
    rise = 100.0 * 1.01 ** np.arange(80.0)
    dataset = flat_market(np.stack([rise, rise[::-1]], axis=1))
    assert LIBRARY["trend"](fast=3, slow=65).table(dataset)[-1].tolist() == [0.5, 0.0]
    assert LIBRARY["trend"](fast=3, slow=65, side="long-short").table(dataset)[-1].tolist() == [0.5, -0.5]


def test_mean_reversion_buys_in_proportion_to_the_deviation() -> None:
    closes = np.array([100.0, 101.0, 99.0, 100.0, 97.0])
    strategy = LIBRARY["mean-reversion"](window=5, width=4.0)
    distance = (closes.mean() - closes[-1]) / closes.std(ddof=1)
    assert strategy.weights(closes[:, None]) == pytest.approx([distance / 4.0], rel=1e-12)


def test_momentum_skips_the_last_bars() -> None:
    closes = np.full((26, 4), 100.0)
    closes[20:] = [130.0, 90.0, 110.0, 100.0]
    closes[-1] = [1.0, 999.0, 100.0, 100.0]
    strategy = LIBRARY["momentum"](window=25, skip=2, share=0.25, side="long-short")
    assert strategy.weights(closes).tolist() == [0.5, -0.5, 0.0, 0.0]


def test_volatility_target_halves_a_market_of_twice_the_target() -> None:
    closes = np.cumprod(np.append(1.0, np.tile([1.01, 0.99], 5)))[:, None]
    assert LIBRARY["volatility-target"](window=10, target=0.005).weights(closes) == pytest.approx([0.5], rel=1e-12)


def test_pairs_trades_the_two_most_correlated_symbols() -> None:
    rng = np.random.default_rng(2)
    common = np.cumprod(1.0 + rng.normal(0.0, 0.01, 20))
    closes = np.stack([common, np.cumprod(1.0 + rng.normal(0.0, 0.01, 20)), common], axis=1)
    closes[-1, 2] *= 1.02
    weights = LIBRARY["pairs"](window=20, entry=1.0).weights(closes)
    assert weights.tolist() == [0.5, 0.0, -0.5]


def test_equal_risk_contributions_are_equal() -> None:
    """Oracle: by definition, weight times marginal risk is the same for all symbols."""
    rng = np.random.default_rng(3)
    mix = np.array([[1.0, 0.0, 0.0, 0.0], [0.6, 0.5, 0.0, 0.0], [-0.4, 0.2, 2.0, 0.0], [0.1, 0.1, 0.3, 0.2]])
    returns = 0.01 * rng.standard_normal((250, 4)) @ mix.T
    closes = np.cumprod(np.vstack([np.ones(4), 1.0 + returns]), axis=0)
    weights = LIBRARY["risk-parity"](window=250).weights(closes)
    moves = closes[1:] / closes[:-1] - 1.0
    risk = weights * (moves.T @ moves @ weights)
    assert risk / risk.sum() == pytest.approx(np.full(4, 0.25), abs=1e-9)
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)


def test_a_strategy_round_trips_through_json() -> None:
    for name, kind in LIBRARY.items():
        strategy = kind(**sample(kind.PARAM_RANGES, np.random.default_rng(1)))
        assert strategy.to_json()["strategy"] == name
        assert from_json(strategy.to_json()) == strategy
        assert hash(from_json(strategy.to_json())) == hash(strategy)
    assert from_json({"strategy": "trend"}) == LIBRARY["trend"]()


@pytest.mark.parametrize("as_text", [str, str.encode, lambda text: bytearray(text.encode("utf-16"))])
def test_a_strategy_is_read_from_its_json_text(as_text: Callable[[str], str | bytes]) -> None:
    strategy = LIBRARY["trend"](fast=5)
    assert from_json(as_text(json.dumps(strategy.to_json()))) == strategy


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("trend:fast=5", "a strategy must be JSON; received a text with Expecting value"),
        (b"\xff\xff\xff", "a strategy must be JSON; received a text with "),
        ('{"strategy": "trend", "params": {"fast": NaN}}', "numbers must be finite; received NaN"),
        ('{"strategy": "trend", "strategy": "pairs"}', "must be given once; received 'strategy' twice"),
        ('"trend"', "a strategy must have `strategy` and `params`; received 'trend'"),
        ("[" * 200_000, "a strategy must be JSON; received "),
    ],
    ids=["words", "bytes", "nan", "twice", "string", "deep"],
)
def test_a_text_that_is_no_json_of_a_strategy_is_refused(text: str | bytes, part: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="argument_invalid") as raised:
        from_json(text)
    assert part in str(raised.value)


def test_a_text_as_long_as_no_document_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="must have at most 67,108,864 bytes; received more in the text"):
        from_json(" " * DOCUMENT_BYTES + "{}")


@pytest.mark.parametrize(
    "value",
    [
        None, 3, {}, {"strategy": "x"}, {"strategy": []}, {"strategy": "trend", "params": 1},
        {"strategy": "trend", "params": {1: 2}}, {"strategy": "trend", "more": 1},
    ],
)  # fmt: skip
def test_json_that_is_not_a_strategy_is_refused(value: object) -> None:
    with pytest.raises(oo.OpenOutcryError, match="argument_invalid"):
        from_json(value)


def test_the_catalogue_describes_every_strategy() -> None:
    for name, entry in catalogue().items():
        assert entry["description"] == LIBRARY[name].describe() != ""
        assert entry["ranges"] == LIBRARY[name].PARAM_RANGES
