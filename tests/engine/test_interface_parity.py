"""The JSON interface, the array interface, backtests and checkpoints give identical numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from builders import Array, Draw, Seen, bits, count, draw, env_of, loads, multiset, observe, replay, row_decision
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry import openoutcry_py as native

EPISODES = settings(max_examples=count(1_000, 200))
SEEDS = st.integers(0, 2**32 - 1)
LOOKBACKS = st.sampled_from([1, 2, 5, 20, 50])
GAINS = ("interest", "dividends", "settlement")
CONTRACT = Path(__file__).resolve().parents[2] / "contract"
NEGATIVE = json.loads((CONTRACT / "conformance" / "negative.json").read_text(encoding="utf-8"))
EVENTS = {each["slug"]: each for each in json.loads((CONTRACT / "errors.json").read_text(encoding="utf-8"))["events"]}
INFO = {"nav", "events", "costs", "interest", "dividends", "settlement", "turnover"}


class Step(NamedTuple):
    """Result of one step, from any interface."""

    reward: float
    done: bool
    nav: float
    costs: dict[str, float]
    gains: list[float]
    turnover: float
    events: list[str]


def plus_zero(item: Any) -> Any:
    """Replace -0.0 by 0.0. Canonical JSON writes both as 0."""
    return {key: value + 0.0 if isinstance(value, float) else value for key, value in item.items()}


def step_of(reward: float, done: bool, info: dict[str, Any]) -> Step:
    gains = [info[name] + 0.0 for name in GAINS]
    events = multiset(plus_zero(event) for event in info["events"])
    return Step(reward, done, info["nav"], plus_zero(info["costs"]), gains, info["turnover"], events)


def rephrased(rng: np.random.Generator, text: str, row: Array, symbols: tuple[str, ...]) -> str:
    """Return an equivalent decision: other actions, explicit or omitted holds, shuffled orders."""
    orders = json.loads(text)["orders"]
    for order in orders:
        order["action"] = str(rng.choice(["buy", "sell"]))
        if order["target_weight"] == 0.0 and rng.random() < 0.5:
            order |= {"action": "close", "target_weight": float(rng.choice([0.7, -1e300]))}
    held = [symbol for symbol, weight in zip(symbols, row, strict=True) if np.isnan(weight) and rng.random() < 0.5]
    orders += [{"symbol": symbol, "action": "hold", "target_weight": 1e300} for symbol in held]
    rng.shuffle(orders)
    return json.dumps({"orders": orders, "reasoning": "€"}, ensure_ascii=bool(rng.random() < 0.5))


class Episode(NamedTuple):
    """One episode through the JSON interface."""

    texts: list[str]
    observations: list[str]
    steps: list[Step]


def through_json(drawn: Draw, seed: int, lookback: int) -> Episode:
    env, rng, (start, end) = env_of(drawn, seed=seed, lookback=lookback), np.random.default_rng(seed), drawn.window
    texts, observations, steps = [], [env.reset()], []
    symbols = drawn.dataset.symbols
    for row in drawn.weights[start : end - 1]:
        shown = {each["symbol"] for each in json.loads(observations[-1])["symbols"]}
        listed = [symbol in shown for symbol in symbols]
        # A hold for a symbol that is not in the observation is an unknown symbol, so it is omitted.
        held = np.where(listed, row, 0.0)
        texts.append(rephrased(rng, row_decision(symbols, row, listed), held, symbols))
        observation, reward, done, info = env.step(texts[-1])
        observations.append(observation)
        steps.append(step_of(reward, done, loads(info)))
        if done:
            with pytest.raises(oo.OpenOutcryError, match="episode_over"):
                env.step(texts[-1])
            break
    return Episode(texts, observations, steps)


def through_arrays(drawn: Draw, seed: int, lookback: int) -> tuple[list[Seen], list[Step]]:
    env, (start, end) = env_of(drawn, seed=seed, lookback=lookback), drawn.window
    env.reset_arrays()
    seen, steps = [observe(env, drawn.dataset.n_symbols, lookback)], []
    for row in drawn.weights[start : end - 1]:
        reward = env.step_weights(row)
        seen.append(observe(env, drawn.dataset.n_symbols, lookback))
        steps.append(step_of(reward, env.terminated or env.truncated, env.info()))
        assert bits(env.nav) == bits(steps[-1].nav)
        if steps[-1].done:
            with pytest.raises(oo.OpenOutcryError, match="episode_over"):
                env.step_weights(row)
            break
    return seen, steps


def parsed(observation: str, symbols: tuple[str, ...], lookback: int) -> Seen:
    """Return the arrays of an observation in JSON."""
    shown = loads(observation)
    place = {symbol: i for i, symbol in enumerate(symbols)}
    closes, positions, listed = np.zeros(len(symbols)), np.zeros(len(symbols)), np.zeros(len(symbols), dtype=np.int8)
    history = np.zeros((lookback, len(symbols)))
    for each in shown["symbols"]:
        i, past = place[each["symbol"]], each["close_history"]
        closes[i], listed[i] = past[-1], 1
        history[lookback - len(past) :, i] = past
    for each in shown["portfolio"]:
        positions[place[each["symbol"]]] = each["shares"]
    return Seen(closes, positions, listed, history, shown["cash"])


def of_run(run: oo.Run, n_steps: int) -> list[Step]:
    """Return the steps of a backtest. Its events do not include fills."""
    events: list[list[Any]] = [[] for _ in range(n_steps)]
    for event in run.events:
        fields = {key: value for key, value in event.items() if key not in {"decision", "bar"}}
        assert event["bar"] == run.window.start + event["decision"] + 1
        events[event["decision"]].append(plus_zero(fields))
    last = n_steps - 1 if run.terminated_at is None else run.terminated_at
    return [
        Step(
            run.returns[k],
            k == last,
            run.nav[k + 1],
            plus_zero({kind: float(column[k]) for kind, column in run.costs.items()}),
            [float(run.gains[name][k]) + 0.0 for name in GAINS],
            run.turnover[k],
            multiset(events[k]),
        )
        for k in range(n_steps)
    ]


def without_fills(step: Step) -> Step:
    return step._replace(events=[text for text in step.events if json.loads(text)["slug"] != "filled"])


def same(received: list[Step], expected: list[Step]) -> None:
    assert len(received) == len(expected)
    for a, b in zip(received, expected, strict=True):
        assert a.events == b.events
        assert a.done == b.done
        assert bits([a.reward, a.nav, a.turnover, *a.gains]) == bits([b.reward, b.nav, b.turnover, *b.gains])
        assert {kind: bits(value) for kind, value in a.costs.items()} == {k: bits(v) for k, v in b.costs.items()}


def without_holds(drawn: Draw) -> Draw:
    return drawn._replace(weights=np.nan_to_num(drawn.weights, nan=0.0))


@EPISODES
@given(seed=SEEDS, holds=st.booleans(), lookback=LOOKBACKS)
def test_every_interface_gives_the_same_bits(seed: int, holds: bool, lookback: int) -> None:
    drawn = draw(seed, odd_names=True)
    drawn = drawn if holds else without_holds(drawn)
    episode = through_json(drawn, seed, lookback)
    expected = [without_fills(step) for step in episode.steps]
    options = {"seed": seed, "lookback": lookback}
    run = oo.run_backtest(*drawn, **options)
    same(of_run(run, len(expected)), expected)
    replayed = oo.run_backtest(drawn.dataset, replay(episode.texts), *drawn[2:], **options)
    same(of_run(replayed, len(expected)), expected)
    assert bits(replayed.nav) == bits(run.nav)
    assert bits(replayed.weights) == bits(run.weights)
    assert {name: column.tolist() for name, column in replayed.trades.items()} == {
        name: column.tolist() for name, column in run.trades.items()
    }
    if not holds:  # arrays cannot express holds
        same(through_arrays(drawn, seed, lookback)[1], episode.steps)


@EPISODES
@given(seed=SEEDS, lookback=LOOKBACKS)
def test_a_json_observation_has_the_bits_of_the_array_interface(seed: int, lookback: int) -> None:
    drawn = without_holds(draw(seed, odd_names=True))
    episode = through_json(drawn, seed, lookback)
    seen, _ = through_arrays(drawn, seed, lookback)
    symbols = drawn.dataset.symbols
    for text, arrays in zip(episode.observations, seen, strict=True):
        read = parsed(text, symbols, lookback)
        assert read.listed.tolist() == arrays.listed.tolist()
        assert {name: bits(part) for name, part in read._asdict().items()} == {
            name: bits(np.asarray(part) + 0.0) for name, part in arrays._asdict().items()
        }


@EPISODES
@given(seed=SEEDS)
def test_nav_is_cash_plus_shares_at_the_last_observed_closes(seed: int) -> None:
    drawn = draw(seed, odd_names=True)
    episode = through_json(drawn, seed, 5)
    for text, step in zip(episode.observations[1:], episode.steps, strict=True):
        shown = loads(text)
        mark = {each["symbol"]: each["close_history"][-1] for each in shown["symbols"]}
        parts = [shown["cash"], *(each["shares"] * mark[each["symbol"]] for each in shown["portfolio"])]
        assert abs(sum(parts) - step.nav) <= 1e-14 * sum(map(abs, parts))


def faults_of(event: dict[str, Any]) -> list[str]:
    """Return the missing and extra fields of an event."""
    known = EVENTS[event["slug"]]
    required = {name for name, field in known["fields"].items() if field["required"]}
    lacking, beside = required - set(event), set(event) - set(known["fields"]) - {"slug"}
    strange = {event["reason"]} - set(known["reasons"]) if "reason" in event else set()
    return sorted(lacking | beside | strange)


@EPISODES
@given(seed=SEEDS)
def test_info_has_the_fields_of_the_contract_and_costs_are_never_negative(seed: int) -> None:
    drawn = without_holds(draw(seed))
    episode, (_, steps) = through_json(drawn, seed, 5), through_arrays(drawn, seed, 5)
    events = {text for step in [*episode.steps, *steps] for text in step.events}
    faults = {json.loads(text)["slug"]: found for text in events if (found := faults_of(json.loads(text)))}
    assert faults == {}
    assert [step.costs for step in episode.steps if min(step.costs.values()) < 0.0] == []
    env = env_of(drawn)
    assert set(loads(env.step(episode.texts[0])[3])) == INFO
    env.reset_arrays()
    assert set(env.info()) == {"nav", "events", "date"}
    env.step_weights(drawn.weights[drawn.window[0]])
    assert set(env.info()) == INFO | {"date"}


Outcome = tuple[Any, ...]


def resume(env: native.TradingEnv, drawn: Draw, episode: Episode, first: int, *, arrays: bool) -> list[Outcome]:
    """Continue from decision `first` and return all outputs."""
    outcomes: list[Outcome] = []
    for k in range(first, len(episode.steps)):
        if arrays:
            reward = env.step_weights(drawn.weights[drawn.window[0] + k])
            outputs = (json.dumps(env.info()), observe(env, drawn.dataset.n_symbols, 5).bytes())
            outcomes.append((bits(reward), env.terminated, env.truncated, *outputs))
        else:
            outcomes.append(env.step(episode.texts[k]))
    return outcomes


@EPISODES
@given(seed=SEEDS, where=st.floats(0.0, 1.0), arrays=st.booleans())
def test_a_restored_checkpoint_continues_identically(seed: int, where: float, arrays: bool) -> None:
    drawn = without_holds(draw(seed, odd_names=True))
    episode = through_json(drawn, seed, 5)
    first = round(where * len(episode.steps))
    env = env_of(drawn, seed=seed, lookback=5)
    resume(env, drawn, Episode(episode.texts, [], episode.steps[:first]), 0, arrays=arrays)
    state, shown = env.clone_state(), env.observation_json()
    assert (state.bar, bits(state.nav)) == (drawn.window[0] + first, bits(env.nav))
    unbroken = resume(env, drawn, episode, first, arrays=arrays)
    other = env_of(drawn, seed=seed, lookback=5)
    for resumed in (env, other):  # the environment that continued, and a fresh one
        resumed.restore_state(state)
        assert resumed.clone_state() == state
        assert resumed.observation_json() == shown
        assert resume(resumed, drawn, episode, first, arrays=arrays) == unbroken
    env.restore_state(state)  # both interfaces share checkpoints
    through = [env.step(text)[1] for text in episode.texts[first:]]
    assert bits(through) == bits([step.reward for step in episode.steps[first:]])


@pytest.mark.parametrize("what", ["dataset", "window", "costs", "limits", "seed"])
def test_a_checkpoint_of_another_environment_is_refused(what: str) -> None:
    drawn = Draw(oo.Dataset.synthetic(3, 40, 1), np.zeros((40, 3)), (5, 30), oo.CostModel(), oo.Limits())
    changed = {
        "dataset": drawn._replace(dataset=oo.Dataset.synthetic(3, 40, 2)),
        "window": drawn._replace(window=(5, 29)),
        "costs": drawn._replace(costs=oo.CostModel(fee_bps=9.0)),
        "limits": drawn._replace(limits=oo.Limits(max_weight=0.5)),
        "seed": drawn,
    }[what]
    env, other = env_of(drawn, seed=1), env_of(changed, seed=2 if what == "seed" else 1)
    before = env.clone_state()
    with pytest.raises(oo.OpenOutcryError, match="another dataset, window or rules") as refused:
        env.restore_state(other.clone_state())
    assert refused.value.slug == "state_mismatch"
    assert env.clone_state() == before


@pytest.mark.parametrize("negative", NEGATIVE, ids=lambda case: case["name"])
def test_a_refused_decision_leaves_state_and_outputs_unchanged(negative: dict[str, str]) -> None:
    drawn = draw(3)
    env = env_of(drawn)
    env.step(row_decision(drawn.dataset.symbols, drawn.weights[drawn.window[0]], [True] * drawn.dataset.n_symbols))
    before, shown = env.clone_state(), env.observation_json()
    with pytest.raises(oo.OpenOutcryError) as refused:
        env.step(negative["decision"])
    assert refused.value.slug == negative["slug"]
    assert (env.clone_state(), env.observation_json()) == (before, shown)
    text = row_decision(drawn.dataset.symbols, drawn.weights[drawn.window[0] + 1], [True] * drawn.dataset.n_symbols)
    after = env.step(text)
    env.restore_state(before)
    assert env.step(text) == after


@pytest.mark.parametrize(
    ("row", "slug"),
    [([0.1, np.nan], "weight_not_finite"), ([np.inf, 0.0], "weight_not_finite"), ([0.1], "weight_count")],
)
def test_a_refused_row_leaves_the_state_unchanged(row: list[float], slug: str) -> None:
    drawn = Draw(oo.Dataset.synthetic(2, 40, 1), np.zeros((40, 2)), (0, 40), oo.CostModel(), oo.Limits())
    env = env_of(drawn)
    env.step_weights(np.array([0.5, -0.2]))
    before, info = env.clone_state(), env.info()
    with pytest.raises(oo.OpenOutcryError) as refused:
        env.step_weights(np.array(row))
    assert refused.value.slug == slug
    assert (env.clone_state(), env.info()) == (before, info)


def test_rows_and_buffers_of_any_memory_layout_work() -> None:
    drawn = Draw(oo.Dataset.synthetic(3, 40, 1), np.zeros((40, 3)), (10, 40), oo.CostModel(), oo.Limits())
    env, row = env_of(drawn), np.array([0.5, -0.2, 0.1])
    start, rewards = env.clone_state(), []
    for layout in (row, np.repeat(row, 2)[::2], row[::-1].copy()[::-1], np.asfortranarray(np.tile(row, (2, 1)))[1]):
        env.restore_state(start)
        rewards.append(env.step_weights(layout))
    assert bits(rewards) == bits(rewards[:1] * 4)
    seen, history = observe(env, 3, 5), np.empty((5, 3), order="F")
    env.observe_into(np.empty(3), np.empty(3), np.empty(3, dtype=np.int8), history)
    assert bits(history) == bits(seen.history)
    for wrong in (np.empty(2), np.empty((3, 1))):
        with pytest.raises((oo.OpenOutcryError, TypeError)):
            env.observe_into(wrong, np.empty(3), np.empty(3, dtype=np.int8))
