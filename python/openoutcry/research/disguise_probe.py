"""Disguise probe: detect decisions that recognise the market.

A table of the future must be indexed by something that tells the bars apart: the price itself, or the digits of a
return. The probe decides on the market in disguise and trades the decisions on the true market. A rule about returns
decides alike and earns the same; a look-up finds other entries and earns nothing.

- Levels: the closes of each symbol are multiplied by a factor, drawn uniformly in the logarithm from 1/16 to 16.
- Noise: in addition, each close moves by a fifth of the symbol's volatility per bar, which changes every digit.

A worker receives closes alone, no dates and no names, so there are none to hide. Costs and lots are those of the true
market, since the decisions are traded there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from openoutcry.backtest.strategies import Strategy
from openoutcry.data.dataset import Dataset
from openoutcry.research.proposers.round_random import seed_for
from openoutcry.research.trial_scores import score_of
from openoutcry.research.walkforward_validation import (
    Table,
    ValidationResult,
    ValidationSetup,
    table_of,
    tested_run,
)

NOISE = 0.2
"""Standard deviation of the noise of a close, in standard deviations of the symbol's log return."""
N_DISGUISES = 3
"""Disguises with noise; the loss is that of their mean Sharpe ratio."""
LEAST_NAMED = 0.1
"""Loss from which the remark names a cause."""
_LARGEST_FACTOR = 16.0


@dataclass(frozen=True)
class DisguiseResult:
    """Relative losses of the stitched Sharpe ratio on the market in disguise.

    Attributes:
        levels: Loss with other price levels.
        noise: Loss with other price levels and noise.
    """

    levels: float
    noise: float

    @property
    def loss(self) -> float:
        """The larger loss."""
        return max(self.levels, self.noise)

    @property
    def remark(self) -> str:
        """The losses, and what the decisions may depend on."""
        text = f"{self.levels:.2f} with other price levels, {self.noise:.2f} with noise too"
        if self.loss < LEAST_NAMED:
            return text
        what = "price levels" if self.levels >= 0.5 * self.loss else "small differences of prices"
        return f"{text}: the decisions may depend on {what}"

    def to_json(self) -> dict[str, float]:
        """Return the losses as plain values."""
        return asdict(self)


def disguise_probe(
    setup: ValidationSetup, validation: ValidationResult, build: Callable[[Mapping[str, Any]], Strategy], seed: int
) -> DisguiseResult:
    """Return the loss of a strategy on the market in disguise.

    It is 0 if the strategy has no profit to lose.

    Args:
        setup: Market, folds, costs and limits.
        validation: Walk-forward result of the strategy.
        build: Returns the strategy of params.
        seed: Seed of the disguises.
    """
    base = validation.oos.sharpe
    if base is None or base <= 0.0:
        return DisguiseResult(0.0, 0.0)
    rng = np.random.default_rng(seed_for("disguise", seed, setup.dataset.fingerprint))
    keys = [repr(sorted(params.items())) for params in validation.params]
    made = {key: build(params) for key, params in zip(keys, validation.params, strict=True)}
    found = []
    for noise in (0.0, *[NOISE] * N_DISGUISES):
        hidden = replace(setup, dataset=disguised(setup.dataset, rng, noise))
        tables = {key: table_of(hidden, strategy) for key, strategy in made.items()}
        runs = [tested_run(setup, tables[key], fold) for key, fold in zip(keys, setup.folds, strict=True)]
        found.append(score_of(runs).sharpe or 0.0)
    levels, noisy = found[0], float(np.mean(found[1:]))
    return DisguiseResult(max(0.0, 1.0 - levels / base), max(0.0, 1.0 - noisy / base))


def disguised(dataset: Dataset, rng: np.random.Generator, noise: float = NOISE) -> Dataset:
    """Return the closes of a market at other levels, with noise.

    Splits and delistings keep their bars. The other columns are left out, since no strategy receives them.

    Args:
        dataset: The market.
        rng: Draws the factors and the noise.
        noise: Standard deviation of the noise of a close, in standard deviations of the symbol's log return.
    """
    reach = np.log(_LARGEST_FACTOR)
    factor = np.exp(rng.uniform(-reach, reach, dataset.n_symbols))
    moves = noise * _volatility(dataset) * rng.standard_normal(dataset.close.shape)
    settled = dataset.delistings
    return Dataset.from_arrays(
        dataset.dates,
        dataset.symbols,
        dataset.close * factor * np.exp(moves),
        splits=dataset.splits,
        delistings=None if settled is None else settled * factor,
        periods_per_year=dataset.periods_per_year,
        name=dataset.name,
    )


def _volatility(dataset: Dataset) -> Table:
    """Return the volatility of each symbol, without the days of its splits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.diff(np.log(dataset.close), axis=0)
    if dataset.splits is not None:
        steps[dataset.splits[1:] != 1.0] = np.nan
    steps[~np.isfinite(steps)] = np.nan
    counts = np.isfinite(steps).sum(axis=0)
    centred = np.nan_to_num(steps - np.nansum(steps, axis=0) / np.maximum(counts, 1))
    volatility: Table = np.sqrt((centred**2).sum(axis=0) / np.maximum(counts - 1, 1))
    return volatility
