"""Rewards: bounded, finite, monotone, and equal to independent computations from a run's NAV."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from math import exp, inf, log, sqrt, tanh
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_rows import csv_of, row_of
from scipy import stats

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.verifiers_env.episode_outcome import Outcome, outcome_of
from openoutcry.verifiers_env.mandates import MANDATES, MOST_DRAWDOWN, MOST_NET
from openoutcry.verifiers_env.reward_hacking import REWARD_HACKS
from openoutcry.verifiers_env.rewards import BAR, FLOOR, REWARDS, RewardTerms, utility, weighted_sharpe
from openoutcry.verifiers_env.rollout_state import HOLD, RolloutState
from openoutcry.verifiers_env.scripted_policies import baseline, decision, oracle, play
from openoutcry.verifiers_env.task_rows import Row

pytestmark = pytest.mark.once

OF_EXCESS = ("excess_return_reward", "drawdown_penalised_reward", "turnover_penalised_reward")


def _pay(name: str, outcome: Outcome) -> float:
    return REWARDS[name].reward(outcome)


def _steady(weights: dict[str, float]) -> str:
    return decision(weights)


@settings(derandomize=True, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_utility_increases_within_its_bounds(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert -FLOOR <= utility(low) <= utility(high) < 1.0
    if high - low > 1e-9 and low > -2 and high < 20:
        assert utility(low) < utility(high)


def test_a_gamble_without_an_edge_has_negative_expected_utility() -> None:
    assert utility(0.0) == 0.0
    assert (utility(1e-6) - utility(-1e-6)) / 2e-6 == pytest.approx(1.0)
    for win in (0.05, 0.1, 0.3, 1.0):
        for loss in (0.1, 0.3, 1.0, 2.0, 3.0):
            chance = loss / (win + loss)
            assert chance * utility(win) + (1 - chance) * utility(-loss) < 0.0, (win, loss)


MARKETS = st.sampled_from(["pairs", "hard", "crisis", "extreme", "ecb-fx"])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    MARKETS,
    st.integers(0, 500),
    st.sampled_from(list(MANDATES)),
    st.integers(1, 3),
    st.sampled_from(list(REWARD_HACKS)),
)
def test_every_reward_of_every_episode_is_finite_and_within_its_range(
    market: str, index: int, mandate: str, n_windows: int, game: str
) -> None:
    outcome = REWARD_HACKS[game](row_of(market, index, mandate=mandate, n_windows=n_windows))
    for name, paid in REWARDS.items():
        value = paid.reward(outcome)
        assert type(value) is float
        assert paid.range[0] <= value <= paid.range[1], name


def test_the_excess_equals_the_difference_of_log_navs() -> None:
    row = row_of("ecb-fx", 4, horizon=12)
    outcome = play(row, baseline("momentum", row))
    each = outcome.windows[0]
    held = np.diff(np.log(each.market.nav))
    excess = log(each.run.nav[-1] / each.benchmark.nav[-1]) / sqrt(float((held**2).sum()))
    assert _pay("excess_return_reward", outcome) == pytest.approx(-4 * tanh((exp(-excess) - 1) / 4))
    alone = oo.run_backtest(each.run.dataset, "buy-and-hold", row.window, lookback=row.lookback)
    assert (alone.nav == each.benchmark.nav).all()


@pytest.mark.parametrize("market", ["pairs", "ecb-fx", "hard"])
def test_a_copy_of_the_benchmark_earns_exactly_0(market: str) -> None:
    for index in range(10):
        outcome = REWARD_HACKS["copy the benchmark"](row_of(market, index, n_windows=2))
        paid = {name: _pay(name, outcome) for name in REWARDS}
        assert paid.pop("process_check_reward") == 1.0
        assert set(paid.values()) == {0.0}


def test_a_larger_weight_in_a_rising_symbol_earns_more(tmp_path: Path) -> None:
    closes = np.column_stack([np.linspace(10, 20, 60), np.full(60, 5.0)])
    row = row_of(str(csv_of(tmp_path / "m.csv", closes)), n_symbols=2, masked=False)
    paid = [
        [_pay(name, play(row, lambda rollout, weight=weight: decision({"N0": weight}))) for name in OF_EXCESS]
        for weight in (-0.5, 0.0, 0.2, 0.5, 0.9, 1.0)
    ]
    assert all(low < high for left, right in itertools.pairwise(paid) for low, high in zip(left, right, strict=True))


def test_penalties_apply_to_the_excess_over_the_benchmark() -> None:
    for index in range(20):
        row = row_of("hard", index, horizon=20)
        outcome = play(row, baseline("random", row))
        plain = _pay("excess_return_reward", outcome)
        assert _pay("turnover_penalised_reward", outcome) < plain
        assert _pay("drawdown_penalised_reward", outcome) <= plain
        still = play(row, lambda rollout: HOLD)
        assert _pay("turnover_penalised_reward", still) == _pay("excess_return_reward", still)


def test_a_constant_market_rewards_no_inactivity(tmp_path: Path) -> None:
    row = row_of(str(csv_of(tmp_path / "m.csv", np.full((60, 2), 7.0))), n_symbols=2)
    outcome = play(row, lambda rollout: HOLD)
    # Buying a constant symbol costs a fee, which cash avoids.
    assert 0.0 < _pay("excess_return_reward", outcome) < 1.0
    assert _pay("deflated_sharpe_reward", outcome) <= 1.0


@pytest.mark.parametrize("jump", [2.5, 40.0])
def test_a_ruined_account_gets_the_minimum_reward(tmp_path: Path, jump: float) -> None:
    closes = np.ones((60, 2))
    closes[8:] *= jump
    row = row_of(str(csv_of(tmp_path / "m.csv", closes)), n_symbols=2, masked=False)
    row = _row_with_bar(row, 8)
    outcome = play(row, lambda rollout: decision({"N0": -0.5, "N1": -0.5}))
    assert outcome.windows[0].run.ending.startswith("ruined")
    assert _pay("excess_return_reward", outcome) == pytest.approx(-FLOOR)
    assert _pay("process_check_reward", outcome) == pytest.approx(0.8)
    assert all(np.isfinite(_pay(name, outcome)) for name in REWARDS)


def _row_with_bar(row: Row, bar: int) -> Row:
    """Return a row of the same market with a one-bar window."""
    from openoutcry.verifiers_env import row_markets

    day = str(np.datetime64("2001-01-01") + bar)
    for index in range(200):
        found = replace(row, index=index)
        dates = row_markets.draw(found, 0).dates
        if day in dates[row.window[0] + 1 : row.window[1]]:
            return found
    raise AssertionError("no row trades over that bar")


def test_weighted_sharpe_is_the_sum_of_the_differential_sharpe_ratios_of_the_engine() -> None:
    dataset, rate = oo.Dataset.synthetic(1, 900, seed=3), 2e-3
    window = (19, 900)
    env = native.TradingEnv.from_dataset(
        dataset._core,
        window=window,
        costs=oo.CostModel.zero(),
        limits=oo.Limits(),
        lookback=20,
        seed=0,
        shaping=("differential-sharpe", rate, 0.0),
    )
    env.reset_arrays()
    navs, derivatives = [1.0], []
    while not env.truncated:
        derivatives.append(env.step_weights(np.array([0.9])))
        navs.append(env.nav)
    returns = np.diff(navs) / np.array(navs[:-1])
    burn = 500
    grown = weighted_sharpe(returns, rate) - weighted_sharpe(returns[:burn], rate)
    assert grown == pytest.approx(rate * sum(derivatives[burn:]), rel=0.05, abs=2e-3)


def test_deflated_sharpe_is_the_papers_formula() -> None:
    row = row_of("pairs", 2, horizon=40, n_windows=2)
    outcome = play(row, baseline("momentum", row))
    excess = np.concatenate([each.excess / each.scale for each in outcome.windows])
    ratio, n = excess.mean() / excess.std(ddof=1), len(excess)
    skew, kurtosis = stats.skew(excess), stats.kurtosis(excess, fisher=False)
    euler, n_trials, inverse = 0.5772156649015329, 10, NormalDist().inv_cdf
    best = (1 - euler) * inverse(1 - 1 / n_trials) + euler * inverse(1 - 1 / (n_trials * exp(1)))
    spread = sqrt(1 - skew * ratio + (kurtosis - 1) / 4 * ratio**2)
    sure = NormalDist().cdf((ratio - best / sqrt(n)) * sqrt(n - 1) / spread)
    assert _pay("deflated_sharpe_reward", outcome) == pytest.approx(sure, abs=0.01)
    deflated = [RewardTerms(n_trials=trials).compute("deflated_sharpe_reward", outcome) for trials in (1, 2, 10, 1_000)]
    assert deflated == sorted(deflated, reverse=True)


def test_pass_k_requires_every_window_to_clear_its_threshold() -> None:
    row = row_of("ecb-fx", 1, n_windows=3, horizon=10)
    assert _pay("pass_k_reward", play(row, oracle)) == 1.0

    def lazy(rollout: RolloutState) -> str:
        return oracle(rollout) if len(rollout.windows) < 3 else HOLD

    outcome = play(row, lazy)
    cleared = [float(each.excess.sum()) / each.scale > BAR for each in outcome.windows]
    assert cleared[:2] == [True, True]
    assert _pay("pass_k_reward", outcome) == float(cleared[2])
    assert RewardTerms(bar=inf).compute("pass_k_reward", play(row, oracle)) == 0.0


def test_a_mandate_is_checked_against_positions() -> None:
    ordered = play(
        row_of(mandate="long-only"), lambda rollout: decision({"S000": -1.0}) if not rollout.n_answers else HOLD
    )
    assert ordered.windows[0].breaches.all()
    # A short order of an unlisted symbol creates no position.
    unknown = play(row_of(mandate="long-only"), lambda rollout: decision({"NONE": -1.0}))
    assert not unknown.windows[0].breaches.any()
    assert (unknown.n_refused, _pay("process_check_reward", unknown)) == (6, pytest.approx(0.8))
    tilted = play(
        row_of(mandate="market-neutral"), lambda rollout: decision({"S000": 0.5, "S001": -0.5 + MOST_NET / 2})
    )
    assert not tilted.windows[0].breaches.any()
    leaning = play(row_of(mandate="market-neutral"), lambda rollout: decision({"S000": 0.5}))
    assert leaning.windows[0].breaches.all()


def test_a_drawdown_beyond_the_cap_is_a_breach_until_it_recovers(tmp_path: Path) -> None:
    closes = np.full((60, 2), 10.0)
    closes[20:] *= 1 - 2 * MOST_DRAWDOWN
    closes[22:] = 10.0
    row = row_of(str(csv_of(tmp_path / "m.csv", closes)), n_symbols=2, masked=False, mandate="drawdown-cap")
    outcome = play(_row_with_bar(row, 20), lambda rollout: decision({"N0": 0.5, "N1": 0.5}))
    assert 1 <= outcome.windows[0].breaches.sum() <= 2


@pytest.mark.parametrize("mandate", [name for name, each in MANDATES.items() if each.description])
def test_a_breach_earns_at_most_minus_one_minus_its_share(mandate: str) -> None:
    for index in range(12):
        row = row_of("hard", index, mandate=mandate, horizon=20)
        outcome = play(row, baseline("random", row) if mandate != "long-only" else _short_once)
        share = float(outcome.windows[0].breaches.mean())
        if share:
            assert all(_pay(name, outcome) <= -1.0 - share for name in (*OF_EXCESS, "differential_sharpe_reward"))
            assert _pay("pass_k_reward", outcome) == _pay("deflated_sharpe_reward", outcome) == 0.0


def _short_once(rollout: RolloutState) -> str:
    names = list(rollout.state()["closes"])
    return decision({names[0]: -0.5 if rollout.n_answers == 3 else 0.5})


def test_reward_terms_describe_the_weighted_rewards() -> None:
    descriptions = RewardTerms(
        {"excess_return_reward": 1.0, "pass_k_reward": 0.5, "format_penalty": 0.0}, bar=0.75
    ).descriptions()
    assert len(descriptions) == 2
    assert descriptions[1].startswith("0.5 times 1 if in every window")
    assert "ends above 0.75 and is never below -0.75, else 0" in descriptions[1]


def test_text_of_the_model_is_not_rewarded() -> None:
    row = row_of()
    quiet = play(row, lambda rollout: HOLD)
    loud = play(
        row, lambda rollout: json.dumps({"orders": [], "reasoning": "I expect an excess return of 40 %. " * 50})
    )
    assert [paid.reward(quiet) for paid in REWARDS.values()] == [paid.reward(loud) for paid in REWARDS.values()]
    assert outcome_of(RolloutState(row)).n_answers == 0
