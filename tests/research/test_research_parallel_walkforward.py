"""Parallel walk-forward: results independent of the executor, one writer, and CPCV paths."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from math import comb
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from research_markets import noise, trending

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY, Trend
from openoutcry.ledger import Ledger, Market
from openoutcry.research.combinatorial_cv import validate_combinatorial
from openoutcry.research.parallel_walkforward import Row, validate_grid
from openoutcry.research.sealed_holdout import HoldoutVault
from openoutcry.research.session_config import Split
from openoutcry.research.walkforward_folds import run_part
from openoutcry.research.walkforward_validation import validate, validate_best, validation_setup

pytestmark = pytest.mark.once

MARKETS = [noise(1, 900, 2), trending(2, 900, 3)]
GRID = [{"fast": fast, "slow": slow} for fast in (5, 20) for slow in (70, 100)]
RULES = oo.CostModel(), oo.Limits()


def plain(rows: list[Row]) -> list[Any]:
    return [(row.market, dict(row.params), row.validation.oos.to_json(), row.validation.in_sample) for row in rows]


@pytest.fixture(params=["processes", "ray"])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "ray":
        pytest.importorskip("ray")
        yield "ray"
        return
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool


def test_rows_and_their_order_do_not_depend_on_the_executor(executor: Any) -> None:
    here = validate_grid(MARKETS, "trend", GRID)
    assert [(row.market, row.params["fast"], row.params["slow"]) for row in here] == [
        (market, params["fast"], params["slow"]) for market in (0, 1) for params in GRID
    ]
    assert plain(validate_grid(MARKETS, "trend", GRID, executor=executor, jobs=2)) == plain(here)


def test_every_row_is_counted_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    seen: list[Row] = []
    rows = validate_grid(MARKETS, "trend", GRID, ledger=ledger, on_result=seen.append)
    assert seen == rows
    assert [ledger.count(Market.of(market)).n for market in MARKETS] == [4, 4]
    validate_grid(MARKETS, "trend", GRID, ledger=Ledger(tmp_path))
    assert [ledger.count(Market.of(market)).n for market in MARKETS] == [4, 4], "the same trial counts once"
    validate_grid(MARKETS[:1], "trend", [{"fast": 6}], ledger=Ledger(tmp_path), split=Split(n_folds=2))
    assert ledger.count(Market.of(MARKETS[0])).n == 5


def test_a_row_equals_the_validation_of_a_session() -> None:
    vault = HoldoutVault(lambda: MARKETS[1], Split())
    setup = validation_setup(vault.research(), vault.research_end, Split(), RULES)
    alone = validate(setup, Trend(**GRID[0]), GRID[0])
    row = validate_grid(MARKETS[1:], "trend", GRID[:1])[0]
    assert row.validation.oos.to_json() == alone.oos.to_json()


def test_a_test_equals_a_standalone_run() -> None:
    """A8: flat at the start, warmed up before it, and closed at the end with costs."""
    setup = validation_setup(MARKETS[1], 900, Split(), RULES)
    strategy = Trend(**GRID[0])
    found = validate(setup, strategy, GRID[0]).oos
    parts = [run_part(strategy, MARKETS[1], fold.test, *RULES) for fold in setup.folds]
    assert [fold.return_ for fold in found.folds] == [run.nav[-1] - 1.0 for run in parts]
    assert all(run.weights[-1].tolist() == [0.0] * 3 for run in parts)


def test_invalid_arguments_are_refused(tmp_path: Path) -> None:
    for wrong in ({"strategy": "no-such"}, {"grid": []}, {"datasets": []}, {"grid": [{"fast": 1000}]}, {"jobs": 0}):
        given = {"datasets": MARKETS, "strategy": "trend", "grid": GRID, "ledger": Ledger(tmp_path)} | wrong
        with pytest.raises(oo.OpenOutcryError):
            validate_grid(given.pop("datasets"), given.pop("strategy"), given.pop("grid"), **given)
    assert Ledger(tmp_path).list() == []


def test_each_fold_tests_the_best_configuration_of_its_training() -> None:
    """A9: the choice sees the training only."""
    setup = validation_setup(MARKETS[1], 900, Split(), RULES)
    each = [validate(setup, Trend(**params), params) for params in GRID]
    best = validate_best(setup, lambda params: Trend(**params), GRID)
    assert best.n_configs == len(GRID)
    for place, (params, score) in enumerate(zip(best.params, best.oos.folds, strict=True)):
        trained = [one.in_sample[place].sharpe or -np.inf for one in each]
        pick = int(np.argmax(trained))
        assert dict(params) == GRID[pick]
        assert score == each[pick].oos.folds[place]


def test_the_number_of_paths_is_a_binomial_and_each_covers_all_groups() -> None:
    setup = validation_setup(MARKETS[1], 900, Split(), RULES)
    scores = validate_combinatorial(setup, lambda params: LIBRARY["trend"](**params), GRID, n_groups=6, n_test=2)
    assert len(scores) == comb(6, 2) * 2 // 6
    assert {len(score.folds) for score in scores} == {6}
    assert {len(score.returns) for score in scores} == {900 - 6}
    alone = validate_combinatorial(setup, lambda params: LIBRARY["trend"](**params), GRID[:1], n_groups=6, n_test=2)
    assert len({score.digest for score in alone}) == 1, "one configuration has one history"
