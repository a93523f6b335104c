"""False discoveries: sessions on noise, a planted edge, and undeclared trials."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from research_markets import noise, rising
from scipy.stats import beta

import openoutcry as oo
from openoutcry.research import walkforward_validation
from openoutcry.research.acceptance_gates import Evidence, Thresholds, is_promotable, judge
from openoutcry.research.benchmark_excess import Benchmark
from openoutcry.research.proposers import RandomProposer
from openoutcry.research.sealed_holdout import HoldoutVault
from openoutcry.research.selection_luck import PriorTrials, TrialCounter
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_manager import Workspace, research
from openoutcry.research.trial import Result
from openoutcry.research.trial_scores import score_of
from openoutcry.research.walkforward_validation import validation_setup

pytestmark = pytest.mark.once

N_SESSIONS = 200 if os.environ.get("OPENOUTCRY_FULL") else 6
N_PROPOSALS = 50
N_RISING = 100 if os.environ.get("OPENOUTCRY_FULL") else 4
# Nothing advances during a session; all trials are judged afterwards, at the final number of trials.
NOTHING_PASSES = Thresholds(min_sharpe=1e6)
DSR_ALONE = Thresholds(*(None,) * 6, min_dsr=0.95, max_perturbation_loss=None, max_probe_changes=None)


class Searched(NamedTuple):
    """Result of a session, and the benchmarks of its market."""

    result: Result
    benchmarks: Sequence[Benchmark]


def session(market: oo.Dataset, seed: int, folder: Path) -> Searched:
    config = ResearchConfig(
        budgets=Budgets(N_PROPOSALS, 2 * N_PROPOSALS, 2 * N_PROPOSALS),
        gates=NOTHING_PASSES,
        costs=oo.CostModel.zero(),
        seed=seed,
    )
    vault = HoldoutVault(lambda: market, config.split)
    setup = validation_setup(vault.research(), vault.research_end, config.split, (config.costs, config.limits))
    result = research(lambda: market, RandomProposer(), config, Workspace(folder / str(seed)))
    return Searched(result, setup.benchmarks)


def promotes(searched: Searched, gates: Thresholds, n_trials: int | None = None) -> bool:
    """Return whether any trial would be on the short list, at a counted or declared number of trials."""
    gates, result = (
        replace(gates, max_probe_changes=None, max_disguise_loss=None, max_constants_loss=None),
        searched.result,
    )
    prior_trials = PriorTrials(n_trials=result.n_trials if n_trials is None else n_trials)
    counter = TrialCounter(prior_trials, searched.benchmarks)
    lucks = [counter.luck_of(trial.oos) for trial in result.trials]
    found = (
        judge(Evidence(trial.oos, trial.validation.in_sample, luck.dsr, luck.dsr_alpha), gates)
        for trial, luck in zip(result.trials, lucks, strict=True)
    )
    return any(map(is_promotable, found))


def upper_bound(count: int, n: int) -> float:
    """Return the upper end of the one-sided 95 % interval of a rate. Source: Clopper and Pearson (1934)."""
    return 1.0 if count == n else float(beta.ppf(0.95, count + 1, n - count))


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[Searched]:
    folder = tmp_path_factory.mktemp("noise")
    return [session(noise(10_008 + seed), seed, folder) for seed in range(N_SESSIONS)]


def test_noise_is_seldom_promoted(sessions: list[Searched]) -> None:
    rates = {
        "strict": sum(promotes(each, Thresholds.preset("strict")) for each in sessions),
        "default": sum(promotes(each, Thresholds.preset("default")) for each in sessions),
        "DSR above 0.95 alone": sum(promotes(each, DSR_ALONE) for each in sessions),
        "the same, 1 trial declared": sum(promotes(each, DSR_ALONE, 1) for each in sessions),
    }
    for name, count in rates.items():
        print(f"{name}: {count} of {N_SESSIONS} sessions, at most {upper_bound(count, N_SESSIONS):.1%}")
    assert all(each.result.n_trials == N_PROPOSALS for each in sessions)
    for name in ("strict", "DSR above 0.95 alone"):
        assert rates[name] <= 0.05 * N_SESSIONS
    if N_SESSIONS >= 200:
        assert upper_bound(rates["strict"], N_SESSIONS) <= 0.09
    assert rates["the same, 1 trial declared"] > 0.2 * N_SESSIONS, "the number of trials decides"


def test_declaring_one_trial_instead_of_all_flips_the_verdict_on_the_best(sessions: list[Searched]) -> None:
    """The best of 200 trials from four sessions."""
    best = max(
        (trial for each in sessions[:4] for trial in each.result.trials), key=lambda trial: trial.oos.sharpe or -9.0
    )
    counted = TrialCounter(PriorTrials(n_trials=200)).luck_of(best.oos)
    assert counted.dsr is not None
    assert counted.dsr_if_one is not None
    print(f"Sharpe {best.oos.sharpe:.2f}: DSR {counted.dsr:.3f} at 200 trials, {counted.dsr_if_one:.3f} at 1")
    assert counted.dsr < 0.95 < counted.dsr_if_one


def test_market_drift_is_not_mistaken_for_skill(tmp_path: Path) -> None:
    """A rising market pays every long position; the strict preset requires an excess over it."""
    found = [session(rising(20_008 + seed), seed, tmp_path) for seed in range(N_RISING)]
    strict = Thresholds.preset("strict")
    rates = {
        "strict": sum(promotes(each, strict) for each in found),
        "strict without `dsr_alpha`": sum(promotes(each, replace(strict, min_dsr_alpha=None)) for each in found),
        "default": sum(promotes(each, Thresholds()) for each in found),
        "DSR above 0.95 alone": sum(promotes(each, DSR_ALONE) for each in found),
        "with `dsr_alpha`": sum(promotes(each, replace(DSR_ALONE, min_dsr_alpha=0.95)) for each in found),
    }
    for name, count in rates.items():
        print(f"{name}: {count} of {N_RISING} sessions, at most {upper_bound(count, N_RISING):.1%}")
    for name in ("strict", "with `dsr_alpha`"):
        assert rates[name] <= 0.05 * N_RISING
    assert rates["DSR above 0.95 alone"] > 0, "the drift must be able to mislead"


@pytest.mark.parametrize("seed", range(3))
def test_rebalancing_to_equal_weights_is_not_alpha(seed: int) -> None:
    """It beats buy-and-hold without skill when prices are volatile."""
    market = rising(seed, 3000, 8, drift=0.003, volatility=0.04)
    setup = validation_setup(market, market.n_bars, Split(), (oo.CostModel(fee_bps=1.0, slippage_bps=2.0), oo.Limits()))
    equal = np.full((market.n_bars, market.n_symbols), 1.0 / market.n_symbols)
    track = score_of([walkforward_validation.tested_run(setup, equal, fold) for fold in setup.folds])
    both, bought = (
        TrialCounter(PriorTrials(49), ways).luck_of(track).dsr_alpha
        for ways in (setup.benchmarks, setup.benchmarks[:1])
    )
    assert bought is not None
    assert bought > 0.95, "rebalancing must beat buy-and-hold here"
    assert both is not None
    assert both < 0.5
