"""Look-ahead attacks: no value that an agent can reach depends on a bar after the decision."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from builders import (
    Draw,
    accepted,
    corrupted,
    costs_of,
    count,
    dataset_of,
    dates_of,
    decision,
    draw,
    env_of,
    limits_of,
    loads,
    observe,
    truncated,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from markets import Market

import openoutcry as oo

Observation = dict[str, Any]
Agent = Callable[[Observation], Any]
DRAWS = settings(max_examples=count(1_000, 250))
SEEDS = st.integers(0, 2**32 - 1)
PLACES = st.integers(0, 1000)  # where in the window the future begins, in thousandths
LOOKBACK = 5
NEGATIVE = Path(__file__).resolve().parents[2] / "contract" / "conformance" / "negative.json"
ACTIONS = ("buy", "sell", "hold", "close")
WEIGHTS = (0.5, -0.5, 0.0, 1.0, 150.0, -1e300)
UNKNOWN = "no such symbol"


def hashed(observation: Observation) -> Observation:
    """Return weights from a hash of the observation, so that any difference changes them."""
    digest = hashlib.sha256(json.dumps(observation, sort_keys=True).encode()).digest()
    orders = []
    for place, each in enumerate(observation["symbols"]):
        byte = digest[place % len(digest)]
        if byte % 4:
            orders.append({"symbol": each["symbol"], "action": ACTIONS[byte % 3], "target_weight": byte / 128.0 - 1.0})
    return {"orders": orders, "reasoning": digest.hex()}


def agents(seed: int) -> dict[str, Agent]:
    return {name: oo.agents.load(name, seed) for name in oo.agents.NAMES} | {"hash": hashed}


class Reachable(NamedTuple):
    """All values that an agent can reach at one bar."""

    observation: str
    arrays: bytes
    decision: str
    reward: float
    info: str
    array_info: str
    state: tuple[Any, ...]


def public(state: Any) -> tuple[Any, ...]:
    """Return the public attributes of a checkpoint, without the window: the caller sets it, here by the data."""
    names = [name for name in dir(state) if not name.startswith("_") and name != "window"]
    return re.sub("0x[0-9a-f]+", "", repr(state)), *((name, getattr(state, name)) for name in names)


def watch(drawn: Draw, agent: Agent, seed: int, last: int) -> list[Reachable]:
    """Return the reachable values of an episode up to bar `last`, including its decision."""
    env, symbols = env_of(drawn, seed=seed, lookback=LOOKBACK), drawn.dataset.n_symbols
    states, text, reward, info = [], env.reset(), 0.0, ""
    for bar in range(drawn.window[0], last + 1):
        decided = json.dumps(agent(json.loads(text)))
        seen = observe(env, symbols, LOOKBACK).bytes()
        states.append(Reachable(text, seen, decided, reward, info, json.dumps(env.info()), public(env.clone_state())))
        if bar == last or env.terminated:
            break
        text, reward, _, info = env.step(decided)
    return states


def known_items(rng: np.random.Generator, names: tuple[str, ...], dates: list[str]) -> tuple[list[Any], list[Any]]:
    """Return fundamentals and news that become available throughout the data, some intraday."""

    def stamp() -> str:
        return str(rng.choice(dates)) + str(rng.choice(["", "T16:30:00"]))

    versions = [(str(rng.choice(names)), stamp(), str(rng.choice(["eps", "pe"]))) for _ in range(12)]
    # A fundamental has one value at a time; there can be several headlines.
    numbers = [(*version, rng.normal()) for version in dict.fromkeys(versions)]
    return numbers, [(str(rng.choice(names)), stamp(), f"headline {i}") for i in range(12)]


def later_replaced(items: list[Any], date: str) -> list[Any]:
    """Return the items available by the close of `date`, followed by garbage."""
    return [item if item[1] <= date else (*item[:2], f"garbage {i}", *item[3:]) for i, item in enumerate(items)]


class Futures(NamedTuple):
    """One past up to `bar` with three futures: the real one, garbage, and none."""

    bar: int
    own: Draw
    garbage: Draw
    none: Draw | None


def futures(seed: int, place: int) -> Futures:
    market, weights, start, end, costs, limits = accepted(seed)
    rng, bar = np.random.default_rng(seed), start + round(place / 1000 * (end - 2 - start))
    dates, rules = dates_of(len(market.close)), (costs_of(costs), limits_of(limits))
    items = known_items(rng, market.symbols, dates)

    def drawn(of: Market, names: tuple[str, ...], dates: list[str], items: Any) -> Draw:
        renamed = dict(zip(market.symbols, names, strict=True))
        numbers, news = ([(renamed[item[0]], *item[1:]) for item in each] for each in items)
        dataset = dataset_of(of, names, dates, fundamentals=numbers, news=news)
        return Draw(dataset, weights, (start, min(end, len(dates))), *rules)

    closed = np.isfinite(np.asarray(market.close)[: bar + 1]).any(axis=0)
    # Symbols without a close yet may have any name, and the next bar any date.
    names = tuple(name if seen else f"else {name}" for name, seen in zip(market.symbols, closed, strict=True))
    other_dates = dates[: bar + 1] + dates_of(len(dates), later=1000)[bar + 1 :]
    replaced = [later_replaced(each, dates[bar]) for each in items]
    own = drawn(market, market.symbols, dates, items)
    garbage = drawn(corrupted(rng, market, bar), names, other_dates, replaced)
    if bar == start:
        return Futures(bar, own, garbage, None)
    known = [[item for item in each if item[1] <= dates[bar]] for each in items]
    return Futures(bar, own, garbage, drawn(truncated(market, bar + 1), market.symbols, dates[: bar + 1], known))


@DRAWS
@given(seed=SEEDS, place=PLACES)
def test_no_future_changes_an_observation_a_decision_or_an_info_before_it(seed: int, place: int) -> None:
    past = futures(seed, place)
    for name in agents(0):
        # Baselines have state, so each episode uses a new one.
        states = watch(past.own, agents(seed)[name], seed, past.bar)
        assert watch(past.garbage, agents(seed)[name], seed, past.bar) == states
        if past.none:
            assert watch(past.none, agents(seed)[name], seed, past.bar) == states


def learn(drawn: Draw, seed: int, last: int) -> list[tuple[Any, ...]]:
    """Return the reachable values of an episode through the array interface, with hashed weights."""
    env, n_symbols = env_of(drawn, seed=seed), drawn.dataset.n_symbols
    env.reset_arrays()
    states, reward = [], 0.0
    for bar in range(drawn.window[0], last + 1):
        seen = observe(env, n_symbols, LOOKBACK).bytes()
        digest = hashlib.shake_256(seen).digest(n_symbols)
        states.append((seen, digest, reward, json.dumps(env.info())))
        if bar == last or env.terminated:
            break
        listed = observe(env, n_symbols, 1).listed
        reward = env.step_weights(listed * (np.frombuffer(digest, np.uint8) / 128.0 - 1.0))
    return states


@DRAWS
@given(seed=SEEDS, place=PLACES)
def test_no_future_changes_the_array_observations_before_it(seed: int, place: int) -> None:
    past = futures(seed, place)
    states = learn(past.own, seed, past.bar)
    assert learn(past.garbage, seed, past.bar) == states
    assert past.none is None or learn(past.none, seed, past.bar) == states


def test_a_future_bar_is_visible_once_it_is_due() -> None:
    seen = 0
    for seed in range(100):
        past = futures(seed, 500)
        shown = [watch(drawn, oo.agents.hold_cash(), seed, past.bar + 1)[-1].observation for drawn in past[1:3]]
        seen += loads(shown[0])["symbols"] != loads(shown[1])["symbols"]
    assert seen > 95


@DRAWS
@given(seed=SEEDS, place=PLACES)
def test_no_future_changes_a_backtest_before_it(seed: int, place: int) -> None:
    past = futures(seed, place)
    n_decisions = past.bar - past.own.window[0] + 1
    # A few bars of garbage suffice. Over many, an account can exceed float64 and the run is refused.
    start, end = past.garbage.window
    garbage = past.garbage._replace(window=(start, min(end, past.bar + 4)))
    for name, agent in agents(seed).items():
        runs = []
        for drawn in filter(None, (past.own, garbage, past.none)):
            callable_or_name = name if name in oo.agents.NAMES else agent
            run = oo.run_backtest(drawn.dataset, callable_or_name, *drawn[2:], seed=seed, lookback=LOOKBACK)
            runs.append(run)
        until = [n_decisions, n_decisions, n_decisions - 1]  # without a future there is no decision on the last bar
        for run, n in zip(runs, until, strict=False):
            assert run.nav[:n].tobytes() == runs[0].nav[:n].tobytes()
            assert run.decisions[:n].tobytes() == runs[0].decisions[:n].tobytes()


def late_listings() -> Draw:
    """Return a market in which `B` lists at bar 30, `C` never closes, `D` settles at bar 20, `E` halts at 25."""
    rng = np.random.default_rng(5)
    close = 50.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, (60, 5)), axis=0))
    close[:30, 1], close[:, 2], close[20:, 3], close[25:28, 4] = np.nan, np.nan, np.nan, np.nan
    delistings = np.full(close.shape, np.nan)
    delistings[20, 3] = -0.3
    dataset = oo.Dataset.from_arrays(dates_of(60), list("ABCDE"), close, open=close, delistings=delistings)
    return Draw(dataset, np.zeros(close.shape), (0, 60), oo.CostModel(slippage_jitter=0.5), oo.Limits())


def response_to(bar: int, orders: list[tuple[str, str, float]], name: str) -> tuple[Any, ...]:
    """Return the whole response to orders at `bar`, with `name` blanked where the engine echoes it."""
    env = env_of(late_listings())
    env.reset()
    for _ in range(bar):
        env.step(decision([("A", "buy", 0.4), ("E", "sell", -0.2)]))
    observation, reward, done, text = env.step(decision(orders))
    info = loads(text)
    for event in info["events"]:
        if event.get("symbol") == name:
            event["symbol"] = UNKNOWN
    return observation, reward, done, info


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("bar", [0, 19, 25, 28])
def test_an_order_for_a_future_listing_is_answered_like_an_unknown_symbol(bar: int, weight: float, action: str) -> None:
    for beside in ([], [("A", "buy", 0.6)], [("A", "buy", 0.6), ("A", "sell", 0.2)]):
        for twice in (1, 2):
            answers = [
                response_to(bar, [*beside, *[(name, action, weight)] * twice], name) for name in ("B", "C", UNKNOWN)
            ]
            assert answers[0] == answers[1] == answers[2]
            refused = [event["reason"] for event in answers[0][3]["events"] if event.get("symbol") == UNKNOWN]
            assert refused == ["unknown_symbol"] * twice


@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_column_that_will_list_is_answered_like_one_that_never_does(weight: float) -> None:
    answers = []
    for column in (1, 2):
        env, row = env_of(late_listings()), np.array([0.4, 0.0, 0.0, 0.0, -0.2])
        env.reset_arrays()
        for _ in range(25):
            env.step_weights(row)
        row[column] = weight
        reward, seen = env.step_weights(row), observe(env, 5, LOOKBACK).bytes()
        answers.append((reward, seen, json.dumps(env.info()).replace(f'"{"ABC"[column]}"', '"?"')))
    assert answers[0] == answers[1]


def test_a_settled_symbol_is_hidden_and_refused_only_from_its_settlement() -> None:
    env = env_of(late_listings())
    shown = [loads(env.reset())]
    for _ in range(25):
        observation, _, _, info = env.step(decision([("D", "buy", 0.3)]))
        shown.append(loads(observation))
        reasons = [event["reason"] for event in loads(info)["events"] if event["slug"] == "refused"]
        assert reasons == (["settled_symbol"] if len(shown) > 21 else [])
    listed = ["D" in [each["symbol"] for each in each_bar["symbols"]] for each_bar in shown]
    held = ["D" in [each["symbol"] for each in each_bar["portfolio"]] for each_bar in shown]
    assert listed == [True] * 20 + [False] * 6
    assert held == [False] + [True] * 19 + [False] * 6


@pytest.mark.parametrize("case", json.loads(NEGATIVE.read_text(encoding="utf-8")), ids=lambda case: case["name"])
def test_an_error_message_does_not_depend_on_the_future(case: dict[str, str]) -> None:
    messages = []
    for drawn in filter(None, futures(7, 500)[1:3]):
        env = env_of(drawn)
        env.reset()
        with pytest.raises(oo.OpenOutcryError) as refused:
            env.step(case["decision"])
        messages.append(str(refused.value))
    assert len(set(messages)) == 1


@pytest.mark.parametrize(
    "fault",
    ['"action":"BUY"', '"action":"buy","target_weight":1e999', '"action":"buy"', '"action":1', '"confidence":2'],
)
def test_an_error_message_is_the_same_for_a_future_listing_and_an_unknown_symbol(fault: str) -> None:
    messages = set()
    for name in ("B", "C", "Z"):
        with pytest.raises(oo.OpenOutcryError) as refused:
            env_of(late_listings()).step(f'{{"orders":[{{"symbol":"{name}",{fault}}}]}}')
        messages.add(str(refused.value))
    assert len(messages) == 1


def closes_at(market: Market, bar: int, **extra: Any) -> Any:
    """Return the observation of a bar, without trading."""
    n_bars = len(market.close)
    drawn = Draw(dataset_of(market, **extra), np.zeros((n_bars, 1)), (0, n_bars), oo.CostModel.zero(), oo.Limits())
    env = env_of(drawn)
    text = env.reset()
    for _ in range(bar):
        text = env.step('{"orders":[]}')[0]
    return loads(text)["symbols"][0]


def column(*values: float) -> Any:
    return np.array(values).reshape(-1, 1)


def test_a_split_adjusts_past_closes_from_its_day_and_a_dividend_never_does() -> None:
    market = Market(
        column(100.0, 104.0, 53.0, 54.0), splits=column(1.0, 1.0, 2.0, 1.0), dividends=column(0.0, 3.0, 0.0, 9.0)
    )
    histories = [closes_at(market, bar)["close_history"] for bar in range(3)]
    assert histories == [[100.0], [100.0, 104.0], [50.0, 52.0, 53.0]]


def test_news_and_fundamentals_are_shown_from_the_first_close_after_availability() -> None:
    market = Market(column(1.0, 2.0, 3.0, 4.0))
    dates = dates_of(4)
    fundamentals = [("S0", dates[1], "eps", 1.0), ("S0", dates[2] + "T09:00:00", "eps", 2.0)]
    news = [("S0", "1999-01-01", "old"), ("S0", dates[1] + "T00:00:01", "after one"), ("S0", "2030-01-01", "never")]
    shown = [closes_at(market, bar, fundamentals=fundamentals, news=news) for bar in range(3)]
    # Intraday times of a day count as after its close, because the time of the close is unknown.
    assert [each.get("fundamentals") for each in shown] == [None, {"eps": 1.0}, {"eps": 1.0}]
    assert [each.get("news") for each in shown] == [["old"], ["old"], ["old", "after one"]]


def test_no_text_or_public_attribute_contains_the_seed() -> None:
    seed = 8_675_309_012_345
    drawn = late_listings()._replace(dataset=oo.Dataset.synthetic(5, 60, seed))
    texts = [repr(public(env_of(drawn, seed=seed).clone_state())), repr(env_of(drawn, seed=seed)), repr(drawn.dataset)]
    texts += [repr(values) for values in watch(drawn, hashed, seed, 58)]
    with pytest.raises(oo.OpenOutcryError) as refused:
        env_of(drawn, seed=seed).step("{}")
    texts += [str(refused.value), drawn.dataset.fingerprint, *drawn.dataset.dates, *drawn.dataset.symbols]
    assert [text for text in texts if str(seed) in text or f"{seed:x}" in text] == []


def uniforms(seed: int, symbol: str, n: int) -> Any:
    return np.array([oo.openoutcry_py.fill_noise(seed, bar, symbol) for bar in range(n)])


def test_the_noise_of_a_fill_is_the_hash_of_the_contract() -> None:
    key = hashlib.sha256(b"openoutcry/fill-key/v1\0" + (7).to_bytes(8, "little")).digest()
    word = hashlib.sha256(b"openoutcry/fill/v1\0" + key + (20).to_bytes(8, "little") + b"AAA").digest()[:8]
    expected = (int.from_bytes(word, "little") >> 11) * 2.0**-53
    assert oo.openoutcry_py.fill_noise(7, 20, "AAA") == expected == 0.21732766463408715


def test_past_fills_reveal_only_past_noise() -> None:
    n = 20_000
    draws = uniforms(3, "A", n)
    for other in (uniforms(4, "A", n), uniforms(3, "B", n)):
        assert not np.isin(draws, other).any()
        assert abs(np.corrcoef(draws, other)[0, 1]) < 4.0 / np.sqrt(n)
    for lag in range(1, 21):
        assert abs(np.corrcoef(draws[:-lag], draws[lag:])[0, 1]) < 4.0 / np.sqrt(n - lag)
    # Pairs are uniform on the square; a weak counter would show lines. 0.999 quantile of chi2(255): 330.5.
    cells = np.histogram2d(draws[:-1], draws[1:], bins=16, range=[[0.0, 1.0]] * 2)[0]
    assert ((cells - (n - 1) / 256) ** 2 / ((n - 1) / 256)).sum() < 330.5


def test_the_noise_of_a_fill_depends_only_on_its_bar_and_symbol() -> None:
    drawn = late_listings()
    alone = np.full(drawn.weights.shape, np.nan)
    alone[:, 0] = np.tile([0.5, 0.0], 30)
    beside = np.where(np.isnan(alone), 0.1, alone)
    for weights in (alone, beside):
        run = oo.run_backtest(drawn.dataset, weights, *drawn[2:], seed=11)
        mine = run.trades["symbol"] == "A"
        trades = {name: each[mine] for name, each in run.trades.items()}
        noise = np.array([oo.openoutcry_py.fill_noise(11, int(bar), "A") for bar in trades["bar"]])
        slip = drawn.costs.slippage_bps / 1e4 * (1.0 + 0.5 * (2.0 * noise - 1.0))
        price = drawn.dataset.open[trades["bar"], 0] * (1.0 + np.sign(trades["shares"]) * slip)
        assert len(price) == 59
        np.testing.assert_allclose(trades["price"], price, rtol=1e-15)


def test_an_agent_that_modifies_its_observation_changes_only_its_copy() -> None:
    def spoil(observation: Observation) -> Observation:
        decided = hashed(observation)
        observation.clear()
        return decided

    drawn = draw(21)
    assert oo.run_backtest(drawn.dataset, spoil, *drawn[2:]).nav.tobytes() == (
        oo.run_backtest(drawn.dataset, hashed, *drawn[2:]).nav.tobytes()
    )
