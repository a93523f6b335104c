"""A position that is closed by force counts as traded in rewards, as one that the agent closes itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import count
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv
from openoutcry.gym.rewards import StepFigures
from openoutcry.vector import OpenOutcryVectorEnv

Numbers = NDArray[np.float64]


def figures_only(step: StepFigures) -> Numbers:
    """Return a reward of turnover alone."""
    return -step.turnover


SCHEMES: tuple[Any, ...] = (
    "simple",
    "log",
    "differential-sharpe",
    "drawdown",
    "turnover",
    {"log": 1.0, "turnover-penalty": 0.5},
    {"simple": 1.0, "differential-sharpe": 0.1, "turnover-penalty": 2.0},
    figures_only,
)


def market(close: Numbers) -> oo.Dataset:
    """Return a market that opens each bar at its close, so that an order fills where a margin call sells."""
    dates = np.datetime_as_string(np.datetime64("2000-01-03") + np.arange(len(close))).tolist()
    names = [f"S{i}" for i in range(close.shape[1])]
    return oo.Dataset.from_arrays(dates, names, close, open=close, periods_per_year=252)


def settings_of(reward: Any, margin: float, costs: oo.CostModel) -> dict[str, Any]:
    limits = oo.Limits(max_weight=np.inf, max_gross=np.inf, allow_short=True, maintenance_margin=margin)
    parameter = {"reward_parameter": 0.5} if reward == "turnover" else {}
    return {"reward": reward, "limits": limits, "costs": costs, **parameter, "observation": "flat", "lookback": 1}


CRASH = np.array([[100.0, 50.0], [100.0, 50.0], [47.0, 60.0], [47.0, 60.0]])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize(("size", "margin", "nav"), [(1.8, 0.2, 0.046), (3.0, 0.2, 0.0), (3.0, 0.0, 0.0)])
def test_a_margin_call_or_a_ruin_pays_the_penalty_of_its_sale(
    size: float, margin: float, nav: float, mode: str
) -> None:
    wanted = settings_of("turnover", margin, oo.CostModel.zero()) | {"dataset": market(CRASH), "window": (0, 4)}
    action = np.array([size, 0.0], np.float32)
    env = OpenOutcryEnv(**wanted, info="full")
    lanes = OpenOutcryVectorEnv(3, **wanted, autoreset_mode=mode)
    recorded = OpenOutcryEnv(**wanted | {"reward": figures_only, "reward_parameter": None})
    for each in (env, lanes, recorded):
        each.reset(seed=0)
    for k, turnover in enumerate((size, size * 0.47)):
        _, reward, terminated, _, info = env.step(action)
        _, rewards, terminations, *_ = lanes.step(np.tile(action, (3, 1)))
        growth = env._core.nav - 1.0
        assert reward == pytest.approx(growth - 0.5 * turnover, abs=1e-6)
        assert rewards.tolist() == [reward] * 3
        assert recorded.step(action)[1] == pytest.approx(-turnover, abs=1e-6)
        assert terminations.all() == terminated == (k == 1)
    # `info` has the numbers of the contract, which counts orders alone.
    assert info["turnover"] == 0.0
    assert info["nav"] == pytest.approx(nav, abs=1e-6)


@settings(max_examples=count(200, 8), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), margin=st.sampled_from([0.0, 0.1, 0.4]))
def test_no_scheme_pays_a_forced_sale_more_than_one_that_the_agent_makes(seed: int, margin: float) -> None:
    rng = np.random.default_rng(seed)
    n_steps, n_lanes = 12, 16
    dataset = market(100.0 * np.exp(np.cumsum(rng.normal(0.0, 0.2, (n_steps + 1, 2)), axis=0)))
    # A ruin without a margin call has no slippage, and a position that was closed earlier in the bar no interest.
    sale = {"fee_bps": 20.0, "slippage_bps": 50.0} if margin else {"fee_bps": 0.0, "slippage_bps": 0.0}
    costs = oo.CostModel(**sale, impact_bps=0.0, financing_bps=0.0, cash_bps=0.0, borrow_bps=0.0)
    first = rng.normal(0.0, 2.0, (n_lanes, 2)).astype(np.float32)
    for reward in SCHEMES:
        held, ends = played(dataset, first, {}, settings_of(reward, margin, costs))
        closed, _ = played(dataset, first, ends, settings_of(reward, 0.0, costs))
        for lane, end in ends.items():
            assert held[: end + 1, lane] == pytest.approx(closed[: end + 1, lane], rel=1e-9, abs=1e-9), reward


def played(
    dataset: oo.Dataset, first: NDArray[np.float32], closes: dict[int, int], options: dict[str, Any]
) -> tuple[Numbers, dict[int, int]]:
    """Return rewards of positions that are held, and the steps with a forced sale.

    Args:
        dataset: The market.
        first: The positions.
        closes: Steps in which lanes close their positions.
        options: Settings of the lanes.
    """
    n_lanes, n_steps = len(first), dataset.n_bars - 1
    env = OpenOutcryVectorEnv(
        n_lanes, dataset=dataset, window=(0, dataset.n_bars), **options, autoreset_mode="SameStep"
    )
    env.reset(seed=0)
    rewards, ends, over = np.zeros((n_steps, n_lanes)), {}, np.zeros(n_lanes, bool)
    for k in range(n_steps):
        closing = np.array([closes.get(lane) == k for lane in range(n_lanes)])
        hold = np.repeat((k > 0) & ~closing, 2).reshape(n_lanes, 2)
        actions = np.where(closing[:, None], np.float32(0.0), first)
        _, rewards[k], terminated, truncated, _ = env.step(actions, hold=hold)
        ends |= {lane: k for lane in np.flatnonzero(terminated & ~over).tolist() if k > 0}
        over |= terminated | truncated
    return rewards, ends


@pytest.mark.parametrize("reward", SCHEMES, ids=lambda scheme: getattr(scheme, "__name__", str(scheme)))
def test_a_time_limit_of_gymnasium_changes_no_reward(reward: Any) -> None:
    dataset = market(100.0 * np.exp(np.cumsum(np.random.default_rng(0).normal(0.0, 0.1, (30, 2)), axis=0)))
    options = settings_of(reward, 0.0, oo.CostModel()) | {"dataset": dataset, "window": (0, 30)}
    whole: Any = OpenOutcryEnv(**options)
    cut: Any = TimeLimit(OpenOutcryEnv(**options), 9)
    actions = np.random.default_rng(1).normal(0.0, 0.3, (9, 2)).astype(np.float32)
    paid = []
    for env in (whole, cut):
        env.reset(seed=0)
        paid.append([env.step(action)[1] for action in actions])
    assert paid[0] == paid[1]
