"""Attacks on research sessions that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from research_markets import trending

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.ledger import Ledger
from openoutcry.research import walkforward_validation
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.proposers import RandomProposer
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_manager import Workspace, research
from openoutcry.research.walkforward_folds import run_part
from openoutcry.research.walkforward_validation import ValidationSetup, table_of, validate, validation_setup

pytestmark = pytest.mark.once
MARKET = trending(1, 1500, 3)
LAX = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, max_perturbation_loss=None, max_probe_changes=None)
# CPU features that change numpy's order of summation.
NO_VECTORS = "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V3 X86_V4"


def setup(market: oo.Dataset) -> ValidationSetup:
    return validation_setup(market, market.n_bars - 61, Split(), (oo.CostModel(), oo.Limits()))


@pytest.mark.parametrize("name", LIBRARY)
def test_bars_after_the_start_of_a_fold_change_nothing_before_it(name: str) -> None:
    """A7 and A8: neither the previous test, nor the fold's own training."""
    fold = setup(MARKET).folds[1]
    close = MARKET.close.copy()
    shocks = 0.05 * np.random.default_rng(0).standard_normal(close[fold.test[0] :].shape)
    close[fold.test[0] :] *= np.exp(np.cumsum(shocks, axis=0))
    other = oo.Dataset.from_arrays(MARKET.dates, MARKET.symbols, close)
    one, two = (validate(setup(each), LIBRARY[name](), {}) for each in (MARKET, other))
    assert one.oos.folds[0] == two.oos.folds[0]
    assert one.in_sample[:2] == two.in_sample[:2]
    assert one.oos.folds[1] != two.oos.folds[1]


@pytest.mark.parametrize("name", LIBRARY)
def test_a_fold_of_a_session_equals_a_standalone_run_of_its_test(name: str) -> None:
    """A8: both ways to run a test see the same data."""
    on, strategy = setup(MARKET), LIBRARY[name]()
    table = table_of(on, strategy)
    for fold in on.folds:
        run, part = (
            walkforward_validation.tested_run(on, table, fold),
            run_part(strategy, on.dataset, fold.test, on.costs, on.limits),
        )
        np.testing.assert_array_equal(run.returns, part.returns)
        assert run.metrics == part.metrics


@pytest.mark.parametrize("name", LIBRARY)
def test_a_later_delisting_does_not_change_earlier_decisions(name: str) -> None:
    """A8: the end of a price column is unknown before it happens."""
    close = MARKET.close.copy()
    close[900:, 2] = np.nan
    other = oo.Dataset.from_arrays(MARKET.dates, MARKET.symbols, close)
    strategy = LIBRARY[name]()
    np.testing.assert_array_equal(strategy.table(MARKET)[:900], strategy.table(other)[:900])


def test_of_concurrent_sessions_exactly_one_opens_the_holdout(tmp_path: Path) -> None:
    """A11."""
    config = ResearchConfig(budgets=Budgets(3, 40, 12), gates=LAX)

    def session(seed: int) -> int | None:
        workspace = Workspace(tmp_path / str(seed), Ledger(tmp_path / "ledger"))
        return research(lambda: MARKET, RandomProposer(), replace(config, seed=seed), workspace).holdout_reuse

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(session, range(4)))
    assert sorted(found, key=str) == [0, None, None, None]


def test_a_replay_is_identical_under_other_hash_seeds_processors_and_folders(tmp_path: Path) -> None:
    """A18: bit for bit, in a process with another hash seed and another order of summation."""
    workspace = Workspace(tmp_path, source="us-treasury", provider="random")
    research(lambda: oo.data.load("us-treasury"), RandomProposer(), ResearchConfig(budgets=Budgets(4, 9)), workspace)
    command = [sys.executable, "-m", "openoutcry", "research", "replay", "--verify", str(workspace.journal)]
    other = {"PYTHONHASHSEED": "7", "NPY_DISABLE_CPU_FEATURES": NO_VECTORS, "OPENBLAS_CORETYPE": "Prescott"}
    other |= {"LC_ALL": "C", "TZ": "Asia/Tokyo"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(command, cwd=elsewhere, env=os.environ | other, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
