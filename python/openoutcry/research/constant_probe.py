"""Constant probe: detect code that earns by constants fitted to the market.

A rule does not need the digits of its constants. The probe decides with other ones (`constant_redraws`) and compares
the stitched Sharpe ratio. A fit of weights to the market earns nothing with other weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from openoutcry.backtest.strategies import Strategy
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.constant_redraws import Redrawn, reads_its_ranges, redrawn
from openoutcry.research.proposers.round_random import seed_for
from openoutcry.research.trial_scores import score_of
from openoutcry.research.walkforward_validation import ValidationResult, ValidationSetup, table_of, tested_run

N_REDRAWS = 5
"""Sources with other constants; the loss is that of their mean Sharpe ratio."""


def constant_probe(
    setup: ValidationSetup,
    validation: ValidationResult,
    code: tuple[str, Mapping[str, Any]],
    build: Callable[[Redrawn], Strategy],
    seed: int,
) -> tuple[float | None, str]:
    """Return the loss of Sharpe ratio with other constants, and a remark.

    It is 0 without constants that are data, and without a profit to lose. A redraw that fails earns nothing.

    Args:
        setup: Market, folds, costs and limits.
        validation: Walk-forward result of the strategy.
        code: Its source and its `PARAM_RANGES`.
        build: Returns the strategy of a redraw.
        seed: Seed of the redraws.
    """
    source, ranges = code
    if reads_its_ranges(source):
        return None, "the code reads `PARAM_RANGES`, so other constants are not known; read `self.params`"
    base, sharpes = validation.oos.sharpe, []
    if base is None or base <= 0.0:
        return 0.0, "there is no profit to lose"
    for number in range(N_REDRAWS):
        drawn = seed_for(f"constants {number}", seed, source)
        # The same draw for the params of each fold gives the same source.
        others = [redrawn(source, ranges, params, np.random.default_rng(drawn)) for params in validation.params]
        if all(
            each.source == source and each.params == dict(params)
            for each, params in zip(others, validation.params, strict=True)
        ):
            return 0.0, "no constant of the code is long enough to be redrawn"
        sharpes.append(_sharpe(setup, others, build))
    return max(0.0, 1.0 - float(np.mean(sharpes)) / base), f"mean of {N_REDRAWS} redraws"


def _sharpe(setup: ValidationSetup, others: list[Redrawn], build: Callable[[Redrawn], Strategy]) -> float:
    tables: dict[str, Any] = {}
    try:
        for other in others:
            if repr(other) not in tables:
                tables[repr(other)] = table_of(setup, build(other))
        pairs = zip(others, setup.folds, strict=True)
        return score_of([tested_run(setup, tables[repr(other)], fold) for other, fold in pairs]).sharpe or 0.0
    except OpenOutcryError:
        return 0.0
