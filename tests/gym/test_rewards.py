"""Rewards: sums of terms, functions, endings and the scale of the differential Sharpe ratio."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.gym.rewards import StepFigures
from openoutcry.vector import OpenOutcryVectorEnv

Numbers = NDArray[np.float64]
SCHEMES: tuple[Any, ...] = (
    "simple",
    "log",
    "differential-sharpe",
    "drawdown",
    "turnover",
    {"log": 1.0, "turnover-penalty": 0.001},
    {"simple": 1.0, "differential-sharpe": 0.1, "drawdown-penalty": 0.5},
    {"simple": 1.0, "variance-penalty": 0.5, "downside-penalty": 2.0},
)
FREE: dict[str, Any] = {"costs": oo.CostModel.zero(), "observation": "flat", "lookback": 1}


def market(close: Any) -> oo.Dataset:
    """Return a market of closes, one column per symbol."""
    table = np.asarray(close, np.float64)
    dates = np.datetime_as_string(np.datetime64("2000-01-03") + np.arange(len(table))).tolist()
    return oo.Dataset.from_arrays(dates, [f"S{i}" for i in range(table.shape[1])], table, periods_per_year=252)


def log_nav(step: StepFigures) -> Numbers:
    """Return the change of the logarithm of NAV."""
    return np.asarray(np.log(np.maximum(step.nav, 1e-8)) - np.log(np.maximum(step.previous_nav, 1e-8)))


class Recorder:
    """A reward function that keeps the figures it receives."""

    def __init__(self) -> None:
        self.steps: list[StepFigures] = []

    def __call__(self, step: StepFigures) -> Numbers:
        self.steps.append(step)
        return step.return_ - 0.01 * step.turnover


def play(env: OpenOutcryVectorEnv, n_steps: int, **options: Any) -> list[Any]:
    rng = np.random.default_rng(1)
    env.reset(seed=0)
    shape = (n_steps, env.num_envs, env.datasets[0].n_symbols)
    return [env.step(row, **options) for row in rng.normal(0.0, 0.3, shape).astype(np.float32)]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_function_receives_one_array_per_figure_and_is_called_once_a_step(mode: str) -> None:
    recorder, n_lanes = Recorder(), 9
    options = {"window": "random", "episode_bars": 6, "autoreset_mode": mode, "max_episode_steps": 4}
    steps = play(OpenOutcryVectorEnv(n_lanes, reward=recorder, **options), 14)
    assert len(recorder.steps) == 14
    previous, n_steps, peak = np.ones(n_lanes), np.zeros(n_lanes), np.ones(n_lanes)
    for figures, (_, rewards, terminations, truncations, info) in zip(recorder.steps, steps, strict=True):
        reset = info.get("reset", np.zeros(n_lanes, bool)) if mode == "NextStep" else np.zeros(n_lanes, bool)
        n_steps = np.where(reset, 0, n_steps + 1)
        previous, peak = np.where(reset, 1.0, previous), np.where(reset, 1.0, peak)
        assert all(len(array) == n_lanes for array in vars(figures).values())
        assert figures.reset.tolist() == reset.tolist()
        assert (figures.terminated.tolist(), figures.truncated.tolist()) == (
            terminations.tolist(),
            truncations.tolist(),
        )
        assert figures.previous_nav.tolist() == previous.tolist()
        assert figures.n_steps.tolist() == n_steps.tolist()
        assert figures.return_.tolist() == (figures.nav / previous - 1.0).tolist()
        peak = np.maximum(peak, figures.nav)
        assert figures.drawdown.tolist() == (1.0 - figures.nav / peak).tolist()
        assert rewards.tolist() == np.where(reset, 0.0, figures.return_ - 0.01 * figures.turnover).tolist()
        if "final_info" in info:
            ended = terminations | truncations
            assert figures.nav[ended].tolist() == info["final_info"]["nav"][ended].tolist()
        over = terminations | truncations if mode == "SameStep" else np.zeros(n_lanes, bool)
        n_steps, previous = np.where(over, 0, n_steps), np.where(over, 1.0, figures.nav)
        peak = np.where(over, 1.0, peak)


def test_a_function_works_with_every_kind_of_output_array() -> None:
    plain = play(OpenOutcryVectorEnv(5, reward=log_nav, observation="flat"), 20)
    wanted = [rewards.tobytes() for _, rewards, *_ in plain]
    rotating = OpenOutcryVectorEnv(5, reward=log_nav, observation="flat", copy=False)
    rng = np.random.default_rng(1)
    rotating.reset(seed=0)
    actions = rng.normal(0.0, 0.3, (20, 5, 4)).astype(np.float32)
    assert [rotating.step(row)[1].tobytes() for row in actions] == wanted
    out = np.empty_like(plain[0][0])
    given = play(OpenOutcryVectorEnv(5, reward=log_nav, observation="flat"), 20, out=out)
    assert [rewards.tobytes() for _, rewards, *_ in given] == wanted
    logs = play(OpenOutcryVectorEnv(5, reward="log", observation="flat"), 20)
    np.testing.assert_allclose([each[1] for each in plain], [each[1] for each in logs], atol=1e-12)


def test_values_for_lanes_that_only_reset_are_ignored() -> None:
    def undefined_at_reset(step: StepFigures) -> Numbers:
        return np.where(step.n_steps == 0, np.nan, step.return_)

    env = OpenOutcryVectorEnv(3, reward=undefined_at_reset, window="random", episode_bars=3)
    steps = play(env, 9)
    assert [rewards.any() for _, rewards, *_ in steps] == [True, True, False] * 3


@pytest.mark.parametrize(
    ("value", "slug", "text"),
    [
        (lambda step: 1.0, "shape_mismatch", "received float"),
        (lambda step: step.nav[:-1], "shape_mismatch", "received float64 (2,)"),
        (lambda step: step.nav[:, None], "shape_mismatch", "received float64 (3, 1)"),
        (lambda step: step.terminated, "shape_mismatch", "received bool (3,)"),
        (lambda step: step.nav.tolist(), "shape_mismatch", "received list"),
        (lambda step: np.ma.array(step.nav), "shape_mismatch", "received MaskedArray"),
        (lambda step: step.nav * np.array([1.0, 1.0, np.nan]), "argument_invalid", "received nan for lane 2"),
        (lambda step: step.nav / np.array([1.0, np.inf, 0.0]), "argument_invalid", "received inf for lane 2"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_invalid_values_of_a_function_are_refused_and_the_accounts_are_those_after_the_step(
    value: Any, slug: str, text: str
) -> None:
    env = OpenOutcryVectorEnv(3, reward=value)
    env.reset(seed=0)
    before = env.bars
    with pytest.raises(oo.OpenOutcryError, match="hint: ") as refused:
        env.step(np.full((3, 4), 0.2, np.float32))
    assert refused.value.slug == slug
    assert text in str(refused.value)
    assert env.bars.tolist() == (before + 1).tolist()


def test_a_scalar_environment_is_one_lane_of_a_function_and_its_checkpoint_includes_the_figures() -> None:
    env = OpenOutcryEnv(reward=Recorder())
    env.reset(seed=0)
    actions = np.random.default_rng(0).dirichlet(np.ones(4), 20).astype(np.float32)
    rewards = [env.step(action)[1] for action in actions[:10]]
    assert all(type(reward) is float for reward in rewards)
    recorder, state = env._reward.function, env.clone_state()
    first = [env.step(action)[1] for action in actions[10:]]
    env.restore_state(state)
    assert [env.step(action)[1] for action in actions[10:]] == first
    assert isinstance(recorder, Recorder)
    for one, other in zip(recorder.steps[10:20], recorder.steps[20:], strict=True):
        assert all(each.shape == (1,) for each in vars(one).values())
        assert vars(one) == vars(other)


def test_info_names_a_sum_and_a_function() -> None:
    reward = {"turnover-penalty": 0.001, "log": 1}
    assert (
        OpenOutcryEnv(reward=reward, info="full").reset(seed=0)[1]["reward_scheme"] == "log=1.0, turnover-penalty=0.001"
    )
    _, info = OpenOutcryVectorEnv(2, reward=log_nav, info="full").reset(seed=0)
    assert info["reward_scheme"].tolist() == ["log_nav"] * 2
    assert OpenOutcryEnv(reward=Recorder(), info="full").reset(seed=0)[1]["reward_scheme"] == "Recorder"
    made = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2", reward=reward)
    assert made.spec is not None
    assert gymnasium.make(type(made.spec).from_json(made.spec.to_json())).unwrapped.reward_scheme.startswith("log=1.0")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"reward": {}}, "a weight above 0 for one of simple, log, differential-sharpe"),
        ({"reward": {"turnover-penalty": 1.0}}, "hint: with penalties alone, cash is always best"),
        ({"reward": {"simple": 0.0}}, "a weight above 0"),
        ({"reward": {"simple": 1.0, "drawdown": 1.0}}, "hint: drawdown-penalty"),
        ({"reward": {"profit": 1.0}}, "received 'profit'"),
        ({"reward": {"simple": -1.0}}, "`reward['simple']` must be a finite number of at least 0"),
        ({"reward": {"simple": "1"}}, "`reward['simple']` must be a finite number"),
        ({"reward": {"simple": 1.0}, "reward_parameter": 0.1}, "`reward_parameter` must be None for"),
        ({"reward": {"differential-sharpe": 1.0}, "reward_parameter": 1.0}, "a rate above 0 and below 1"),
        ({"reward": log_nav, "reward_parameter": 0.1}, "`reward_parameter` must be None for a reward function"),
        ({"reward": 1.0}, "or a function; received 1.0"),
    ],
)
def test_invalid_rewards_are_refused(options: dict[str, Any], text: str) -> None:
    for make in (OpenOutcryEnv, OpenOutcryVectorEnv):
        with pytest.raises(oo.OpenOutcryError) as refused:
            make(**options)
        assert refused.value.slug == "argument_invalid"
        assert text in str(refused.value)


def episode_sums(dataset: oo.Dataset, reward: Any, actions: NDArray[np.float32], **options: Any) -> tuple[Any, ...]:
    """Return sums and rewards of one episode per lane, final NAV, and the flags of its end."""
    n_steps, n_lanes, _ = actions.shape
    env = OpenOutcryVectorEnv(n_lanes, dataset=dataset, reward=reward, autoreset_mode="SameStep", **FREE, **options)
    env.reset(seed=0)
    paid, running = np.zeros((n_steps, n_lanes)), np.ones(n_lanes, bool)
    navs, ended = np.ones(n_lanes), np.zeros((2, n_lanes), bool)
    for k, row in enumerate(actions):
        _, rewards, *flags, info = env.step(row)
        paid[k] = np.where(running, rewards, 0.0)
        over = running & (flags[0] | flags[1])
        if over.any():
            navs[over], ended[:, over] = info["final_info"]["nav"][over], np.stack(flags)[:, over]
        running &= ~over
    return paid.sum(axis=0), paid, navs, ended


@pytest.mark.parametrize("reward", SCHEMES, ids=str)
def test_gains_before_a_ruin_are_taken_back(reward: Any) -> None:
    # Returns of 60 %, 60 % and -100 %: simple returns sum to 0.2.
    dataset = market(np.array([[100.0], [140.0], [196.0], [40.0]]))
    limits = oo.Limits(max_weight=np.inf, max_gross=np.inf)
    actions = np.full((3, 1, 1), 1.5, np.float32)
    sums, paid, navs, _ = episode_sums(dataset, reward, actions, window=(0, 4), limits=limits)
    assert navs[0] == 0.0
    assert paid[:2].sum() > 0.0
    assert sums[0] < 0.0
    if reward == "simple":
        assert paid[:, 0] == pytest.approx([0.6, 0.6, -2.2])


@settings(max_examples=count(400, 12))
@given(seed=st.integers(0, 2**32 - 1), margin=st.sampled_from([0.0, 0.0, 0.2]))
def test_no_scheme_pays_a_policy_for_ruin(seed: int, margin: float) -> None:
    rng = np.random.default_rng(seed)
    n_steps, n_lanes = 30, 64
    dataset = market(100.0 * np.exp(np.cumsum(rng.normal(0.01, 0.1, (n_steps + 1, 2)), axis=0)))
    # Cash, moderate and extreme gross, and policies that bet more after a gain, after a loss, or only at the end.
    size = rng.choice([0.0, 0.5, 3.0, 10.0], n_lanes) * rng.choice([1.0, -1.0], n_lanes)
    size = size * np.where(rng.random((n_steps, n_lanes)) < 0.8, 1.0, rng.choice([0.0, 1e-5, 5.0], n_lanes))
    actions = (size[..., None] * rng.random((n_steps, n_lanes, 2))).astype(np.float32)
    actions[:-1, 50:] *= np.float32(0.05)
    limits = oo.Limits(max_weight=np.inf, max_gross=np.inf, allow_short=True, maintenance_margin=margin)
    for reward in SCHEMES:
        sums, paid, navs, (terminated, truncated) = episode_sums(
            dataset, reward, actions, window=(0, n_steps + 1), limits=limits
        )
        idle = ~actions.any(axis=(0, 2))
        assert (sums[idle] == 0.0).all()
        ruined = terminated & (navs == 0.0)
        assert (sums[ruined] < 0.0).all()
        assert np.isfinite(paid).all()
        assert (terminated | truncated).all()
        if reward == "log":
            np.testing.assert_allclose(sums, np.log(np.maximum(navs, 1e-8)), atol=1e-9)


def wealth(returns: Numbers) -> Numbers:
    """Return NAV after each bar, from 1."""
    return np.asarray(np.cumprod(1.0 + returns, axis=0))


def term(name: str, rate: float, returns: Numbers, turnover: Numbers) -> Numbers:
    """Compute a term of every step of episodes, from the definitions in the documentation."""
    navs = np.vstack([np.ones((1, returns.shape[1])), wealth(returns)])
    drawdown = 1.0 - navs / np.maximum.accumulate(navs)
    ages = np.subtract.outer(np.arange(len(returns)), np.arange(len(returns)))
    weights = np.where(ages >= 0, (1.0 - rate) ** ages.clip(0), 0.0)
    terms: dict[str, Numbers] = {
        "simple": returns,
        "log": np.diff(np.log(np.maximum(navs, 1e-8)), axis=0),
        "differential-sharpe": returns / np.sqrt(weights @ returns**2 / weights.sum(axis=1, keepdims=True) + 1e-16),
        "drawdown-penalty": -np.diff(drawdown, axis=0).clip(0.0),
        "turnover-penalty": -turnover,
        "variance-penalty": -(returns**2),
        "downside-penalty": -(returns.clip(None, 0.0) ** 2),
    }
    return terms[name]


def defined(reward: Any, returns: Numbers, turnover: Numbers) -> Numbers:
    """Compute the rewards of episodes from the definitions: a function of NAV and turnover, of no other ending."""
    sums = {
        "drawdown": {"simple": 1.0, "drawdown-penalty": 1.0},
        "turnover": {"simple": 1.0, "turnover-penalty": 0.001},
    }
    weights = sums.get(reward, {reward: 1.0}) if isinstance(reward, str) else reward
    logs, rest = np.zeros(returns.shape), np.zeros(returns.shape)
    for name, weight in weights.items():
        (logs if name == "log" else rest)[...] += weight * term(name, 0.01, returns, turnover)
    before = np.vstack([np.zeros((1, returns.shape[1])), np.cumsum(rest, axis=0)[:-1]])
    return np.asarray(logs + np.where(returns == -1.0, rest - before.clip(0.0), rest))


@settings(max_examples=count(200, 6))
@given(seed=st.integers(0, 2**32 - 1), margin=st.sampled_from([0.0, 0.2]))
def test_every_ending_is_paid_by_its_nav_alone(seed: int, margin: float) -> None:
    rng = np.random.default_rng(seed)
    n_steps, n_lanes = 20, 32
    dataset = market(100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.1, (n_steps + 1, 2)), axis=0)))
    actions = rng.normal(0.0, rng.choice([0.2, 1.0, 4.0], (n_lanes, 1)), (n_steps, n_lanes, 2)).astype(np.float32)
    options: dict[str, Any] = {
        "limits": oo.Limits(max_weight=np.inf, max_gross=np.inf, allow_short=True, maintenance_margin=margin),
        "max_episode_steps": int(rng.integers(1, n_steps + 1)),
        "window": (0, n_steps + 1),
    }
    recorder = Recorder()
    episode_sums(dataset, recorder, actions, **options)
    firsts = np.array([figures.n_steps for figures in recorder.steps])
    of_first = (firsts == np.arange(1, n_steps + 1)[:, None]) & (
        np.arange(n_steps)[:, None] < options["max_episode_steps"]
    )
    returns, turnover = (
        np.where(of_first, np.array([getattr(figures, name) for figures in recorder.steps]), 0.0)
        for name in ("return_", "turnover")
    )
    for reward in SCHEMES:
        _, paid, *_ = episode_sums(dataset, reward, actions, **options)
        wanted = np.where(of_first, defined(reward, returns, turnover), 0.0)
        np.testing.assert_allclose(paid, wanted, rtol=1e-9, atol=1e-9, err_msg=str(reward))


@pytest.mark.parametrize("reward", SCHEMES, ids=str)
def test_a_truncated_episode_is_paid_as_if_it_went_on(reward: Any) -> None:
    actions = np.random.default_rng(0).normal(0.0, 0.5, (30, 8, 4)).astype(np.float32)
    dataset = oo.Dataset.synthetic(4, 60, 3)
    _, whole, *_ = episode_sums(dataset, reward, actions, window=(5, 40))
    for options in ({"max_episode_steps": 20, "window": (5, 40)}, {"window": (5, 26)}):
        _, cut, *_ = episode_sums(dataset, reward, actions, **options)
        assert cut[:20].tobytes() == whole[:20].tobytes()


def returns_of(case: str, n_steps: int, n_lanes: int) -> Numbers:
    """Return returns of positions in a geometric Brownian motion of 1 % a bar, one column per lane."""
    rng = np.random.default_rng(7)
    returns = rng.normal(0.0, 0.001, n_lanes) + 0.01 * rng.standard_normal((n_steps, n_lanes))
    sizes = np.ones((n_steps, n_lanes))
    if case == "cash in the first bar":
        sizes[0] = 0.0
    elif case == "a tiny first position":
        sizes[0] = 1e-6
    elif case == "tiny positions":
        sizes[:] = 1e-5
    elif case == "random leverage":
        sizes = rng.uniform(0.0, 2.0, sizes.shape)
    return np.asarray(sizes * returns)


@pytest.mark.parametrize(
    "case", ["always invested", "cash in the first bar", "a tiny first position", "tiny positions", "random leverage"]
)
def test_the_differential_sharpe_ratio_has_the_scale_of_returns_and_sums_to_the_sharpe_ratio(case: str) -> None:
    n_steps, n_lanes = 100, 400
    returns = returns_of(case, n_steps, n_lanes)
    close = 100.0 * np.vstack([np.ones((1, n_lanes)), wealth(returns)])
    limits = oo.Limits(max_gross=np.inf, max_weight=np.inf)
    paid = np.empty(returns.shape)
    # Lane i holds symbol i: no market needs more symbols than lanes at a time.
    env = OpenOutcryVectorEnv(
        n_lanes,
        dataset=[market(column[:, None]) for column in close.T],
        window=(0, n_steps + 1),
        reward="differential-sharpe",
        limits=limits,
        **FREE,
    )
    env.reset(seed=0)
    for k in range(n_steps):
        paid[k] = env.step(np.ones((n_lanes, 1), np.float32))[1]

    def share(values: Numbers) -> float:
        """Return the median share of the six largest squares of 100."""
        squares = np.sort(values**2, axis=0)
        return float(np.median(squares[-6:].sum(axis=0) / squares.sum(axis=0)))

    def ranks(values: Numbers) -> NDArray[np.int64]:
        return np.argsort(np.argsort(values))

    sharpe = returns.mean(axis=0) / returns.std(axis=0)
    assert share(paid) < share(returns) + 0.02
    assert np.corrcoef(ranks(paid.sum(axis=0)), ranks(sharpe))[0, 1] > 0.97
    assert 0.5 < np.abs(paid).mean() < 1.2
    assert np.abs(paid).max() < 6.0
