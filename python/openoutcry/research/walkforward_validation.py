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
from openoutcry.research.benchmark_excess import Holding
from openoutcry.research.trial_scores import InSample, OosScore, in_sample_of, score_of
from openoutcry.research.walkforward_folds import Fold, closed_out, folds

Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ground:
    """Inputs of a validation: the market up to the end of the research window, folds and rules.

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
    def holdings(self) -> tuple[Holding, Holding]:
        """Two benchmarks over all tests: buy-and-hold, and equal weights rebalanced on every bar."""
        return self._held(buy_and_hold()), self._held(equal_weight())

    def _held(self, agent: Baseline) -> Holding:
        rules = self.costs, self.limits
        return Holding.of([run_backtest(self.dataset, agent, fold.test, *rules) for fold in self.folds])


@dataclass(frozen=True)
class Validated:
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


def validate(ground: Ground, strategy: Strategy, params: Mapping[str, Any]) -> Validated:
    """Validate one configuration without fitting."""
    table = table_of(ground, strategy)
    tests = [tested_run(ground, table, fold) for fold in ground.folds]
    trained = tuple(in_sample_of(_trained(ground, table, fold, strategy.lookback)) for fold in ground.folds)
    return Validated(score_of(tests), trained, tuple(params for _ in ground.folds), 1)


def validate_best(
    ground: Ground, make: Callable[[Mapping[str, Any]], Strategy], grid: Sequence[Mapping[str, Any]]
) -> Validated:
    """Validate a grid: each fold tests the configuration that is best in its training.

    On a tie the first configuration is chosen. A configuration without an in-sample Sharpe ratio is chosen only if none
    has one.

    Args:
        ground: Market, folds, costs and limits.
        make: Returns the strategy of a configuration.
        grid: Params of each configuration, at least one.
    """
    if not grid:
        raise refusal("argument_invalid", "at least one configuration is required; received none")
    tables, trained = [], []
    for params in grid:
        strategy = make(params)
        tables.append(table_of(ground, strategy))
        trained.append([in_sample_of(_trained(ground, tables[-1], fold, strategy.lookback)) for fold in ground.folds])
    chosen = [_best([each[place].sharpe for each in trained]) for place in range(len(ground.folds))]
    tests = [tested_run(ground, tables[pick], fold) for pick, fold in zip(chosen, ground.folds, strict=True)]
    return Validated(
        score_of(tests),
        tuple(trained[pick][place] for place, pick in enumerate(chosen)),
        tuple(dict(grid[pick]) for pick in chosen),
        len(grid),
    )


def table_of(ground: Ground, strategy: Strategy) -> Table:
    """Return the weights of a strategy over the research window, decided bar by bar."""
    first = ground.folds[0].train[0]
    # Bars between the last training and the first decision of a test are computed but unused, which is cheap.
    table = strategy.table(ground.dataset, first, ground.folds[-1].test[1])
    wanted = (ground.dataset.n_bars, ground.dataset.n_symbols)
    if table.shape != wanted:
        raise refusal("shape_mismatch", f"a strategy must decide a table of shape {wanted}; received {table.shape}")
    return table


def tested_run(ground: Ground, table: Table, fold: Fold) -> Run:
    """Run the test of a fold, flat at its first and at its last close."""
    return ground.run(closed_out(table, fold.test), fold.test)


def _trained(ground: Ground, table: Table, fold: Fold, lookback: int) -> Run:
    start, end = fold.train
    # Warm-up bars would dilute the in-sample return.
    return ground.run(table, (min(max(start, lookback - 1), end - 2), end))


def _best(sharpes: Sequence[float | None]) -> int:
    known = [(sharpe, -place) for place, sharpe in enumerate(sharpes) if sharpe is not None]
    return -max(known)[1] if known else 0


def ground_of(dataset: Dataset, research_end: int, split: Any, rules: tuple[CostModel, Limits]) -> Ground:
    """Return the validation inputs of a market up to the end of its research window."""
    view = dataset if dataset.n_bars == research_end else dataset.head(research_end)
    made = folds(
        research_end,
        split.n_folds,
        train=split.train,
        test=split.test,
        mode=split.mode,
        gap=split.gap,
    )
    return Ground(view, made, *rules)
