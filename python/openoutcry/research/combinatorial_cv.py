"""Combinatorial purged cross-validation: many out-of-sample paths instead of one.

A walk-forward tests on a single history. Here every combination of groups of bars is tested with the configuration
chosen on the remaining groups, including later ones, and the tests are combined into paths through all bars.
`openoutcry.research.walkforward_folds.combinatorial` makes the splits. Source: Lopez de Prado (2018), chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.backtest.strategies import Strategy
from openoutcry.errors import refusal
from openoutcry.research.trial_scores import OosScore, excess_of, score_of
from openoutcry.research.walkforward_folds import Part, closed_out, combinatorial, paths
from openoutcry.research.walkforward_validation import ValidationSetup


def validate_combinatorial(
    setup: ValidationSetup,
    make: Callable[[Mapping[str, Any]], Strategy],
    grid: Sequence[Mapping[str, Any]],
    *,
    n_groups: int = 6,
    n_test: int = 2,
    purge: int = 1,
    embargo: int = 1,
) -> tuple[OosScore, ...]:
    """Return the out-of-sample score of every path; there are C(n, k) k / n paths.

    In each split the configuration with the highest Sharpe ratio in training is tested, the first one on a tie. The
    dispersion of the paths' Sharpe ratios shows how much a single path depends on its history.

    Args:
        setup: Market, costs and limits; its folds are not used.
        make: Returns the strategy of a configuration.
        grid: Params of each configuration, at least one.
        n_groups: Groups that the bars are divided into.
        n_test: Groups tested in each split.
        purge: Bars left out of training on both sides of a test.
        embargo: Additional bars left out after a test.

    Raises:
        OpenOutcryError: `argument_invalid`: the grid is empty, or groups are too short.
    """
    if not grid:
        raise refusal("argument_invalid", "at least one configuration is required; received none")
    splits = combinatorial(setup.dataset.n_bars, n_groups, n_test, purge=purge, embargo=embargo)
    tables = [make(params).table(setup.dataset) for params in grid]

    @cache
    def run(config: int, part: Part) -> Run:
        return setup.run(closed_out(tables[config], part), part)

    def sharpe(config: int, parts: Sequence[Part]) -> float:
        returns = np.concatenate([excess_of(run(config, part)) for part in parts if part[1] - part[0] >= 2])
        found, _ = native.summarize(returns, periods_per_year=setup.dataset.periods_per_year)
        return -np.inf if found["sharpe"] is None else float(found["sharpe"])

    chosen = [max(range(len(grid)), key=lambda config: (sharpe(config, split.train), -config)) for split in splits]
    groups = {group: part for split in splits for group, part in zip(split.groups, split.test, strict=True)}
    return tuple(
        score_of([run(chosen[split], groups[group]) for group, split in enumerate(path)]) for path in paths(splits)
    )
