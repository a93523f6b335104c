"""Lanes equal the scalar environment, the JSON interface and the backtest, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from builders import Draw, bits, costs_of, count, draw, env_of, limits_of, loads, row_decision
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st
from markets import random_market

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.gym import OpenOutcryEnv
from openoutcry.gym.rewards import StepFigures
from openoutcry.vector import OpenOutcryVectorEnv

EPISODES = settings(max_examples=count(2_500, 60))
SEEDS = st.integers(0, 2**32 - 1)
# Numbers of lanes: one, few, one full SIMD block, and partly filled blocks, so that several threads share the work.
LANES = (1, 4, 4, 8, 13, 20)
REWARDS = ("simple", "log", "differential-sharpe", "drawdown", "turnover")
SUMS = (
    {"log": 1.0, "turnover-penalty": 0.001},
    {"differential-sharpe": 0.1, "simple": 2.0, "drawdown-penalty": 0.5},
    {"simple": 1.0, "log": 0.5, "variance-penalty": 3.0, "downside-penalty": 2.0},
)


def of_every_figure(step: StepFigures) -> np.ndarray:
    """Compute a reward from all figures of a step."""
    # NAV may be 0 and returns may be large: the logarithm keeps them finite.
    gain = np.log(np.maximum(step.nav, 1e-8) / np.maximum(step.previous_nav, 1e-8)) + np.tanh(step.return_)
    paid = gain - 0.1 * np.sqrt(step.drawdown) - np.log1p(step.turnover) / step.n_steps.clip(1)
    return np.where(step.terminated, paid - 1.0, paid) + 0.5 * step.truncated


class Case(NamedTuple):
    """Shared arguments of the environments, arguments per lane, and actions."""

    shared: dict[str, Any]
    of_lanes: list[dict[str, Any]]
    mode: AutoresetMode
    threads: int
    seed: int
    actions: np.ndarray
    holds: np.ndarray | None


def case_of(seed: int, kind: str) -> Case:
    """Return a random market, and lanes that differ in costs and limits."""
    drawn, rng = draw(seed), np.random.default_rng(seed)
    start, end = drawn.window
    shared: dict[str, Any] = {"dataset": drawn.dataset, "observation": kind, "window": drawn.window, "seed": seed}
    if end - start > 3 and rng.random() < 0.6:
        bars = int(rng.integers(2, end - start))
        split = str(rng.choice(["train", "validation", "test"]))
        shared |= {"window": "random", "within": drawn.window, "episode_bars": bars, "split": split}
    shared["lookback"] = int(rng.choice([1, 2, 5, 20]))
    rewards = (*REWARDS, *SUMS, of_every_figure)
    shared["reward"] = rewards[rng.integers(len(rewards))]
    shared["no_trade_band"] = float(rng.choice([0.0, 0.05]))
    terms = [(drawn.costs, drawn.limits)]
    n_lanes = int(rng.choice(LANES))
    for k in range(1, n_lanes):
        *_, costs, limits = random_market(seed + k)
        terms.append((costs_of(costs), limits_of(limits)) if rng.random() < 0.5 else terms[0])
    n_steps = 2 * (end - start) + 3
    actions = rng.normal(0.0, 0.6, (n_steps, n_lanes, drawn.dataset.n_symbols))
    actions[rng.random(actions.shape) < 0.2] = 0.0
    actions = actions.astype(np.float32 if rng.random() < 0.7 else np.float64)
    holds = rng.random(actions.shape) < 0.2 if rng.random() < 0.3 else None
    mode = list(AutoresetMode)[int(rng.integers(3))]
    lanes = [{"costs": costs, "limits": limits} for costs, limits in terms]
    shared["info"] = "full" if rng.random() < 0.3 else "light"
    return Case(shared, lanes, mode, int(rng.integers(1, 4)), int(rng.integers(2**63)), actions, holds)


def parts(observation: Any) -> dict[str, np.ndarray]:
    return observation if isinstance(observation, dict) else {"": observation}


def assert_lane_equals(lane: int, observation: Any, scalar: Any) -> None:
    """Assert that the observation of a lane equals that of the scalar environment."""
    expected = parts(scalar)
    for name, array in parts(observation).items():
        assert array[lane].tobytes() == np.asarray(expected[name]).tobytes(), name


def lane_of(values: dict[str, np.ndarray], lane: int) -> dict[str, Any]:
    """Return the numbers of a lane, without the masks."""
    return {name: values[name][lane] for name in values if not name.startswith("_")}


class Twin:
    """A scalar environment that mirrors a lane."""

    def __init__(self, case: Case, lane: int) -> None:
        self.env = OpenOutcryEnv(**case.shared, **case.of_lanes[lane])
        self.case, self.lane, self.done = case, lane, False
        self.observation, self.info = self.env.reset(seed=case.seed + lane)

    def step(self, k: int) -> tuple[float, bool, bool, bool, Any]:
        """Return reward, flags, whether an episode started, and the final observation of an episode that ended."""
        final = None
        if self.done and self.case.mode is AutoresetMode.NEXT_STEP:
            self.observation, _ = self.env.reset()
            self.done = False
            return 0.0, False, False, True, None
        hold = None if self.case.holds is None else self.case.holds[k, self.lane]
        self.observation, reward, terminated, truncated, self.info = self.env.step(
            self.case.actions[k, self.lane], hold
        )
        self.done = terminated or truncated
        if self.done and self.case.mode is AutoresetMode.SAME_STEP:
            final = self.observation
            self.observation, _ = self.env.reset()
        return reward, terminated, truncated, False, final


@pytest.fixture(autouse=True, scope="module")
def small_batches_use_threads() -> Iterator[None]:
    """Let small batches use several threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenOutcryVectorEnv, "_cells_a_thread", 1)
        yield


def vector_of(case: Case, **options: Any) -> OpenOutcryVectorEnv:
    of_lanes = {name: [lane[name] for lane in case.of_lanes] for name in case.of_lanes[0]}
    return OpenOutcryVectorEnv(
        len(case.of_lanes),
        **case.shared,
        **of_lanes,
        autoreset_mode=case.mode,
        threads=case.threads,
        **options,
    )


def assert_equals_twins(case: Case, copies: bool) -> None:
    """Step all lanes together with their scalar environments and compare."""
    env, twins = vector_of(case, copy=copies), [Twin(case, lane) for lane in range(len(case.of_lanes))]
    observation, _ = env.reset(seed=case.seed)
    for k, actions in enumerate(case.actions):
        for lane, twin in enumerate(twins):
            assert_lane_equals(lane, observation, twin.observation)
        over = [twin.done and case.mode is AutoresetMode.DISABLED for twin in twins]
        if any(over):
            observation, _ = env.reset(options={"reset_mask": np.array(over)})
            for lane, twin in enumerate(twins):
                if over[lane]:
                    twin.observation, _ = twin.env.reset()
                    twin.done = False
                assert_lane_equals(lane, observation, twin.observation)
        hold = None if case.holds is None else case.holds[k]
        observation, rewards, terminations, truncations, info = env.step(actions, hold=hold)
        for lane, twin in enumerate(twins):
            reward, terminated, truncated, started, final = twin.step(k)
            assert bits(rewards[lane]) == bits(reward)
            assert (terminations[lane], truncations[lane]) == (terminated, truncated)
            assert bool(info["reset"][lane] if "reset" in info else False) == started
            state = twin.env.clone_state()
            assert (env.bars[lane], bits(env.nav[lane])) == (state.bar, bits(state.nav))
            arrays = twin.env._arrays()
            assert bits(env.shares[lane]) == bits(arrays["positions"])
            assert bits(env.cash[lane]) == bits(arrays["cash"][0])
            if final is not None:
                assert info["_final_obs"][lane]
                for name, part in parts(final).items():
                    assert np.asarray(parts(info["final_obs"][lane])[name]).tobytes() == np.asarray(part).tobytes()
                assert bits(info["final_info"]["nav"][lane]) == bits(twin.info["nav"])
                for name in twin.info.keys() & {"date", "costs", "events", "limits"}:
                    values = info["final_info"][name]
                    assert (lane_of(values, lane) if isinstance(values, dict) else values[lane]) == twin.info[name]


@EPISODES
@given(seed=SEEDS, kind=st.sampled_from(["dict", "flat", "cursor"]), copies=st.booleans())
def test_every_lane_equals_the_scalar_environment_of_its_seed(seed: int, kind: str, copies: bool) -> None:
    assert_equals_twins(case_of(seed, kind), copies)


@EPISODES
@given(seed=SEEDS)
def test_a_lane_equals_the_json_interface_and_the_backtest_of_its_actions(seed: int) -> None:
    drawn = draw(seed, odd_names=True)
    start, end = drawn.window
    weights = np.nan_to_num(drawn.weights, nan=0.0)
    env = OpenOutcryVectorEnv(
        2, dataset=drawn.dataset, window=drawn.window, costs=drawn.costs, limits=drawn.limits, seed=seed
    )
    env.reset(seed=0)
    json_env = env_of(drawn, seed=seed)
    shown = json.loads(json_env.reset())
    run = oo.run_backtest(drawn.dataset, weights, *drawn[2:], seed=seed)
    sum_of_rewards = 0.0
    for k, row in enumerate(weights[start : end - 1]):
        names = {each["symbol"] for each in shown["symbols"]}
        listed = [symbol in names for symbol in drawn.dataset.symbols]
        text, reward, done, info = json_env.step(row_decision(drawn.dataset.symbols, row, listed))
        shown = json.loads(text)
        _, rewards, terminations, truncations, _ = env.step(np.stack([row, row]))
        # At ruin, the environment also takes back what the episode has gained.
        gained = max(0.0, sum_of_rewards) if env.nav[0] == 0.0 else 0.0
        assert bits(rewards) == bits([reward - gained] * 2)
        assert bits([reward]) == bits([run.returns[k]])
        sum_of_rewards += reward
        assert bits(env.nav) == bits([loads(info)["nav"]] * 2) == bits([run.nav[k + 1]] * 2)
        assert (terminations | truncations).tolist() == [done] * 2
        held = {each["symbol"]: float(each["shares"]) for each in shown["portfolio"]}
        assert bits(env.shares[0] + 0.0) == bits([held.get(symbol, 0.0) for symbol in drawn.dataset.symbols])
        assert bits(env.cash + 0.0) == bits([float(shown["cash"])] * 2)
        if done:
            break


@EPISODES
@given(seed=SEEDS)
def test_a_flat_observation_equals_the_json_observation_in_float32(seed: int) -> None:
    drawn, lookback = draw(seed), 5
    symbols = drawn.dataset.symbols
    env = OpenOutcryVectorEnv(
        1, dataset=drawn.dataset, window=drawn.window, costs=drawn.costs, limits=drawn.limits, seed=seed,
        observation="flat", lookback=lookback,
    )  # fmt: skip
    flat, _ = env.reset(seed=0)
    json_env = env_of(drawn, seed=seed, lookback=lookback + 1)
    shown = json.loads(json_env.reset())
    for row in np.nan_to_num(drawn.weights, nan=0.0)[drawn.window[0] : drawn.window[1] - 1]:
        check_flat(flat[0], shown, symbols, lookback)
        names = {each["symbol"] for each in shown["symbols"]}
        text, _, done, _ = json_env.step(row_decision(symbols, row, [symbol in names for symbol in symbols]))
        shown = json.loads(text)
        flat, *_ = env.step(row[np.newaxis])
        if done:
            break


def check_flat(flat: np.ndarray, shown: dict[str, Any], symbols: tuple[str, ...], lookback: int) -> None:
    n = len(symbols)
    mark = {each["symbol"]: float(each["close_history"][-1]) for each in shown["symbols"]}
    shares = {each["symbol"]: float(each["shares"]) for each in shown["portfolio"]}
    value = {symbol: shares[symbol] * mark[symbol] for symbol in shares}
    nav = shown["cash"] + sum(value.values())
    returns, account = flat[: lookback * n].reshape(lookback, n), flat[lookback * n :]
    for each in shown["symbols"]:
        closes = np.array(each["close_history"], dtype=float)
        expected = np.zeros(lookback)
        # Log returns of the closes shown; the history is adjusted by later splits, which a ratio of two closes is not.
        logs = np.log(closes[1:] / closes[:-1])
        expected[lookback - len(logs) :] = logs
        np.testing.assert_allclose(returns[:, symbols.index(each["symbol"])], expected, rtol=1e-5, atol=1e-6)
    if nav > 1e-6:
        weights = [value.get(symbol, 0.0) / nav for symbol in symbols]
        np.testing.assert_allclose(account, [*weights, shown["cash"] / nav], rtol=1e-5, atol=1e-6)


def test_float32_observations_are_float64_numbers_cast() -> None:
    rng = np.random.default_rng(5)
    dataset = oo.Dataset.synthetic(3, 80, 5)
    options: dict[str, Any] = {"dataset": dataset, "window": (10, 80), "lookback": 4}
    flat, full = (OpenOutcryVectorEnv(3, observation=kind, **options) for kind in ("flat", "dict"))
    shown, _ = flat.reset(seed=1)
    exact, _ = full.reset(seed=1)
    for _ in range(60):
        actions = rng.normal(0.0, 0.5, (3, 3))
        shown, *_ = flat.step(actions)
        exact, *_ = full.step(actions)
        nav = full.nav[:, np.newaxis]
        account = np.concatenate([exact["positions"] * exact["closes"] / nav, exact["cash"] / nav], axis=1)
        assert shown[:, 12:].tobytes() == account.astype(np.float32).tobytes()
        history = exact["history"]
        logs = np.array([[np.log(b / a) for a, b in zip(x[:-1].flat, x[1:].flat, strict=True)] for x in history])
        np.testing.assert_allclose(shown[:, 3:12], logs, rtol=3e-7, atol=1e-9)


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("kind", ["flat", "dict"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("seeds", [(6, 22, 3), (4, 64, 39)])
def test_lanes_of_several_datasets_equal_scalar_environments_of_their_dataset(
    seeds: tuple[int, ...], mode: AutoresetMode, kind: str, copies: bool
) -> None:
    drawn, rng = [draw(seed) for seed in seeds], np.random.default_rng(seeds[0])
    datasets = [each.dataset for each in drawn]
    # Seven symbols and eleven, so that both account layouts are used, with three markets of different lengths.
    assert len({dataset.n_symbols for dataset in datasets}) == 1
    assert len({dataset.n_bars for dataset in datasets}) == 3
    which = rng.integers(0, 3, 19)
    lanes = [{"dataset": datasets[k], "costs": drawn[k].costs, "limits": drawn[k].limits} for k in which]
    shared = {"observation": kind, "window": "random", "episode_bars": 6, "lookback": 4, "seed": 2}
    actions = rng.normal(0.0, 0.2, (40, len(lanes), datasets[0].n_symbols)).astype(np.float32)
    assert_equals_twins(Case(shared, lanes, mode, 1, 9, actions, None), copies)


def test_jitter_and_threads_change_no_bit() -> None:
    drawn = Draw(
        oo.Dataset.synthetic(9, 90, 2), np.zeros((90, 9)), (0, 90), oo.CostModel(slippage_jitter=0.7), oo.Limits()
    )
    rng = np.random.default_rng(1)
    envs = [
        OpenOutcryVectorEnv(13, dataset=drawn.dataset, costs=drawn.costs, window="random", episode_bars=30,
                            observation="flat", threads=threads, seed=3)
        for threads in (1, 2, 3)
    ]  # fmt: skip
    for env in envs:
        env.reset(seed=4)
    for _ in range(70):
        actions = rng.normal(0.0, 0.3, (13, 9)).astype(np.float32)
        steps = [env.step(actions) for env in envs]
        assert len({(shown.tobytes(), rewards.tobytes()) for shown, rewards, *_ in steps}) == 1
        assert len({env.nav.tobytes() for env in envs}) == 1


def test_the_reward_names_match_the_engine() -> None:
    assert tuple(native.REWARDS) == REWARDS
