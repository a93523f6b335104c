"""Reward hacks earn no more than holding, and the page reports the measured rewards."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count

from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.reward_hacking import MANDATE_BREAKERS, MANDATE_KEEPERS, REWARD_HACKS
from openoutcry.verifiers_env.rewards import BAR, REWARDS, utility
from openoutcry.verifiers_env.scripted_policies import BASELINES

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import verifiers_audit as script  # noqa: E402

N_ROWS = count(300, 60)
PAGE = (ROOT / "docs" / "verifiers.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "docs" / "verifiers.json").read_text(encoding="utf-8"))
# Rewards that are 0 for a copy of the benchmark, and must not be raised without skill.
FAIR = (
    script.PAID,
    "excess_return_reward",
    "differential_sharpe_reward",
    "drawdown_penalised_reward",
    "turnover_penalised_reward",
)
FREE = ("copy the benchmark", "early finish")


@cache
def scores(name: str, market: str, **other: Any) -> script.Scores:
    return script.scores(name, script.rows_of(market, N_ROWS, **other))


@pytest.mark.parametrize("market", script.GAMED)
@pytest.mark.parametrize("name", REWARD_HACKS)
def test_no_reward_hack_earns_significantly_more_than_the_benchmark(name: str, market: str) -> None:
    for reward in FAIR:
        paid = scores(name, market)[reward]
        assert paid.mean() <= 2.5 * paid.std() / N_ROWS**0.5, reward
        assert (scores("oracle", market)[reward] > paid).mean() > 0.95


@pytest.mark.parametrize("market", script.GAMED)
@pytest.mark.parametrize("name", FREE)
def test_a_hack_that_copies_the_benchmark_earns_exactly_0(name: str, market: str) -> None:
    for reward in FAIR:
        assert not scores(name, market)[reward].any()


@pytest.mark.parametrize("market", script.GAMED)
def test_reward_hacks_and_baselines_are_ranked_plausibly(market: str) -> None:
    paid = {name: scores(name, market)[script.PAID] for name in REWARD_HACKS}
    nothing = paid["hold for ever"]
    assert np.array_equal(paid["verbose"], nothing)
    for name in ("refuse", "malformed on purpose"):
        assert np.allclose(paid[name], nothing - 1.0)
    assert paid["churn"].mean() < nothing.mean()
    assert paid["hedge and lever"].mean() < 0.0


@pytest.mark.parametrize("market", script.GAMED)
def test_without_an_edge_fewer_than_half_of_the_windows_pass(market: str) -> None:
    error = 0.5 / N_ROWS**0.5
    rates = {name: scores(name, market)["pass_k_reward"].mean() for name in REWARD_HACKS}
    assert all(rate <= 0.5 + 2.0 * error for rate in rates.values())
    best = max(rates, key=lambda name: rates[name])
    thrice = scores(best, market, n_windows=script.WINDOWS)["pass_k_reward"].mean()
    assert thrice <= 0.125 + 2.0 * error
    assert scores("oracle", market, n_windows=script.WINDOWS)["pass_k_reward"].mean() > 0.9


def test_without_its_second_condition_bet_until_ahead_passes_more_than_half() -> None:
    passed = []
    for row in script.rows_of("ecb-fx", N_ROWS):
        (each,) = script.outcome_by("all against it until ahead", row).windows
        passed.append(float(each.excess.sum()) / each.scale > BAR)
    assert np.mean(passed) > 0.6


@pytest.mark.parametrize("n_bars", [20, 60])
def test_bet_until_ahead_pays_only_if_a_bet_is_many_volatilities(n_bars: int) -> None:
    """The limitation that the page states, on random walks."""
    steps = np.random.default_rng(n_bars).normal(0.0, n_bars**-0.5, (10_000, n_bars))
    worth = {}
    for size in (2.0, 3.0, 10.0):
        paths = size * np.cumsum(steps, axis=1)
        for aim in (0.1, 0.3, 0.5):
            is_ahead = paths > aim
            first = paths[np.arange(len(paths)), is_ahead.argmax(axis=1)]
            ends = np.where(is_ahead.any(axis=1), first, paths[:, -1])
            worth[size, aim] = np.mean([utility(end) for end in ends])
    assert all(value < -0.03 for (size, _), value in worth.items() if size <= 3.0)
    assert max(value for (size, _), value in worth.items() if size > 3.0) > 0.03


@pytest.mark.parametrize("mandate", MANDATE_KEEPERS)
def test_breaching_a_mandate_earns_less_than_keeping_it(mandate: str) -> None:
    rows = script.rows_of(script.MANDATE_MARKETS[mandate], N_ROWS, mandate=mandate)
    kept = [script.outcome_by("keeper", row) for row in rows]
    # A market can fall by 3 % between two closes.
    assert np.mean([outcome.windows[0].breaches.any() for outcome in kept]) < 0.1
    paid = REWARDS["excess_return_reward"].reward
    mean = np.mean([paid(outcome) for outcome in kept])
    n_broken = 0
    for name in MANDATE_BREAKERS:
        outcomes = [script.outcome_by(name, row) for row in rows]
        broken = [outcome for outcome in outcomes if outcome.windows[0].breaches.any()]
        n_broken += len(broken)
        assert not broken or np.mean([paid(outcome) for outcome in outcomes]) < mean
        for outcome in broken:
            assert paid(outcome) <= -1.0 - outcome.windows[0].breaches.mean()
            assert REWARDS["pass_k_reward"].reward(outcome) == 0.0
            assert REWARDS["deflated_sharpe_reward"].reward(outcome) == 0.0
            assert REWARDS["process_check_reward"].reward(outcome) < 1.0
    assert n_broken > N_ROWS


@pytest.mark.parametrize("name", [*REWARD_HACKS, *BASELINES])
def test_every_reward_of_every_policy_is_finite_and_within_its_range(name: str) -> None:
    for market in script.GAMED:
        for reward, paid in REWARDS.items():
            values = scores(name, market)[reward]
            assert np.isfinite(values).all()
            assert paid.range[0] <= values.min()
            assert values.max() <= paid.range[1]


# The page


@pytest.mark.parametrize("name", script.TABLES)
def test_the_tables_of_the_page_equal_the_measurements(name: str) -> None:
    assert script.shown(name, RESULTS) in PAGE


def test_the_results_file_has_an_entry_for_each_measurement() -> None:
    for kind, place, name, n_rows in script.tasks(300):
        cells = RESULTS[kind][place] if kind == "sound" else RESULTS[kind][place][name]
        assert next(iter([cells] if "n" in cells else cells.values()))["n"] == n_rows
    assert set(MANDATES) == {*MANDATE_KEEPERS, "beat-benchmark"}


@pytest.mark.parametrize("market", script.GAMED)
def test_a_rerun_agrees_with_the_recorded_measurements(market: str) -> None:
    for name in (*REWARD_HACKS, *BASELINES):
        recorded = RESULTS["baselines" if name in BASELINES else "games"][market][name]
        recorded = recorded if name in BASELINES else recorded[script.PAID]
        paid = scores(name, market)[script.PAID]
        if recorded["n"] == N_ROWS:
            assert script.cell(paid) == recorded
        room = 3.0 * paid.std() / N_ROWS**0.5 + 0.01
        assert recorded["low"] - room <= paid.mean() <= recorded["high"] + room


def test_every_measured_market_has_valid_tasks() -> None:
    for market in script.MARKETS:
        assert RESULTS["sound"][market]["mean"] == 1.0
