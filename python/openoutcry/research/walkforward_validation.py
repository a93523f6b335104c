"""Walk-forward validation, the one implementation for proposals and grids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.agents import Baseline, buy_and_hold, equal_weight
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.backtest.strategies import Strategy
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.research.benchmark_excess import Benchmark
from openoutcry.research.trial_scores import InSample, OosScore, in_sample_of, score_of
from openoutcry.research.walkforward_folds import Fold, closed_out, folds

Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ValidationSetup:
    """Inputs of a validation: the market of the research window, folds and rules.

    Attributes:
        dataset: The market, which ends with the research window and excludes the holdout.
        folds: Its folds.
        costs: Trading costs.
        limits: Position limits.
    """

    dataset: Dataset
    folds: tuple[Fold, ...]
    costs: CostModel
    limits: Limits

    def run(self, table: Table, window: tuple[int, int], name: str = "") -> Run:
        """Run a table of weights over a window of bars."""
        return run_backtest(self.dataset, table, window, self.costs, self.limits, name=name)

    @cached_property
    def benchmarks(self) -> tuple[Benchmark, Benchmark]:
        """Benchmarks over all tests: buy-and-hold, and equal weights rebalanced per bar."""
        return self._benchmark(buy_and_hold()), self._benchmark(equal_weight())

    def _benchmark(self, agent: Baseline) -> Benchmark:
        rules = self.costs, self.limits
        return Benchmark.of([run_backtest(self.dataset, agent, fold.test, *rules) for fold in self.folds])


@dataclass(frozen=True)
class ValidationResult:
    """Result of a walk-forward validation.

    Attributes:
        oos: Out-of-sample score, the only part that selection sees.
        in_sample: In-sample score of each fold.
        params: Params used in each fold.
        n_configs: Configurations that were evaluated, at least 1.
    """

    oos: OosScore
    in_sample: tuple[InSample, ...]
    params: tuple[Mapping[str, Any], ...]
    n_configs: int


def validate(setup: ValidationSetup, strategy: Strategy, params: Mapping[str, Any]) -> ValidationResult:
    """Validate one configuration without fitting."""
    table = table_of(setup, strategy)
    tests = [tested_run(setup, table, fold) for fold in setup.folds]
    trained = tuple(in_sample_of(_trained(setup, table, fold, strategy.lookback)) for fold in setup.folds)
    return ValidationResult(score_of(tests), trained, tuple(params for _ in setup.folds), 1)


def validate_best(
    setup: ValidationSetup, make: Callable[[Mapping[str, Any]], Strategy], grid: Sequence[Mapping[str, Any]]
) -> ValidationResult:
    """Validate a grid: each fold tests the configuration that is best in its training.

    On a tie the first configuration is chosen. A configuration without an in-sample Sharpe ratio is chosen only if none
    has one.

    Args:
        setup: Market, folds, costs and limits.
        make: Returns the strategy of a configuration.
        grid: Params of each configuration, at least one.
    """
    if not grid:
        raise refusal("argument_invalid", "at least one configuration is required; received none")
    tables, trained = [], []
    for params in grid:
        strategy = make(params)
        tables.append(table_of(setup, strategy))
        trained.append([in_sample_of(_trained(setup, tables[-1], fold, strategy.lookback)) for fold in setup.folds])
    chosen = [_best([each[place].sharpe for each in trained]) for place in range(len(setup.folds))]
    tests = [tested_run(setup, tables[pick], fold) for pick, fold in zip(chosen, setup.folds, strict=True)]
    return ValidationResult(
        score_of(tests),
        tuple(trained[pick][place] for place, pick in enumerate(chosen)),
        tuple(dict(grid[pick]) for pick in chosen),
        len(grid),
    )


def table_of(setup: ValidationSetup, strategy: Strategy) -> Table:
    """Return the weights of a strategy over the research window, decided bar by bar."""
    first = setup.folds[0].train[0]
    # Bars between the last training and the first decision of a test are computed but unused, which is cheap.
    table = strategy.table(setup.dataset, first, setup.folds[-1].test[1])
    expected = (setup.dataset.n_bars, setup.dataset.n_symbols)
    if table.shape != expected:
        raise refusal("shape_mismatch", f"a strategy must decide a table of shape {expected}; received {table.shape}")
    return table


def tested_run(setup: ValidationSetup, table: Table, fold: Fold) -> Run:
    """Run the test of a fold, flat at its first and at its last close."""
    return setup.run(closed_out(table, fold.test), fold.test)


def _trained(setup: ValidationSetup, table: Table, fold: Fold, lookback: int) -> Run:
    start, end = fold.train
    # Warm-up bars would dilute the in-sample return.
    return setup.run(table, (min(max(start, lookback - 1), end - 2), end))


def _best(sharpes: Sequence[float | None]) -> int:
    known = [(sharpe, -place) for place, sharpe in enumerate(sharpes) if sharpe is not None]
    return -max(known)[1] if known else 0


def validation_setup(
    dataset: Dataset, research_end: int, split: Any, rules: tuple[CostModel, Limits]
) -> ValidationSetup:
    """Return the validation inputs of a market up to the end of its research window."""
    view = dataset if dataset.n_bars == research_end else dataset.head(research_end)
    fold_list = folds(
        research_end,
        split.n_folds,
        train=split.train,
        test=split.test,
        mode=split.mode,
        gap=split.gap,
    )
    return ValidationSetup(view, fold_list, *rules)
