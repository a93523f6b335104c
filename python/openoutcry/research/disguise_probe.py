"""Disguise probe: detect decisions that recognise the market.

A table of the future must be indexed by something that tells the bars apart: the price, the digits or signs of returns,
or the time. The probe decides on the market in disguise and trades the decisions on the true market. A rule about
returns decides alike and earns the same; a look-up finds other entries and earns nothing.

- Levels: the closes of each symbol are multiplied by a factor, drawn uniformly in the logarithm from 1/16 to 16.
- Noise: in addition, each close moves by a fifth of the symbol's volatility per bar, which changes every digit.
- Coarse noise: the same with two fifths of the volatility, which changes the sign of a sixth of the returns.
- Gaps: a twentieth of the bars is left out, so a count of bars since an event is soon wrong. A bar that was left out
  keeps the decision of the bar before.
- Order: the true market is decided in blocks of bars in random order, so a count of calls is wrong.

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
from openoutcry.research.code_loader import CodeStrategy
from openoutcry.research.disguised_markets import NOISE, Thinned, disguised, shuffled_spans, thinned
from openoutcry.research.proposers.round_random import seed_for
from openoutcry.research.trial_scores import score_of
from openoutcry.research.walkforward_validation import (
    Table,
    ValidationResult,
    ValidationSetup,
    table_of,
    tested_run,
)

COARSE_NOISE = 0.4
"""Standard deviation of the coarse noise of a close, in standard deviations of the symbol's log return."""
ALLOWANCE = 0.1
"""Loss with coarse noise that does not count, since the noise alone costs an honest rule as much."""
N_DISGUISES = 3
"""Disguises with noise, with coarse noise and with gaps; a loss is that of their mean Sharpe ratio."""
LONGEST_BLOCK = 20
"""Longest block of bars that is decided in order."""
_EARLIER_NAMED = 0.1

_CAUSES = {
    "levels": "price levels",
    "noise": "differences of prices within a fifth of the volatility",
    "coarse": "differences of prices within two fifths of the volatility, such as the signs of single returns",
    "gaps": "consecutive bars, such as a count of bars, a pattern, or trades of a single bar",
    "order": "the number or order of calls, such as a state that it keeps between bars",
}
_EARLIER_CAUSES = {
    "levels": "price levels",
    "noise": "small differences of prices",
    "coarse": "exact patterns of returns",
    "gaps": "the number of bars since an event",
    "order": "the number or order of calls",
}
Build = Callable[[Mapping[str, Any]], Strategy]


@dataclass(frozen=True)
class DisguiseResult:
    """Relative losses of the stitched Sharpe ratio on the market in disguise.

    Attributes:
        levels: Loss with other price levels.
        noise: Loss with other price levels and noise.
        coarse: Loss with other price levels and coarse noise, less `ALLOWANCE`; None before gates version 5.
        gaps: Loss without some of the bars; None like `coarse`.
        order: Loss when blocks of bars are decided in random order; None like `coarse`.
    """

    levels: float
    noise: float
    coarse: float | None = None
    gaps: float | None = None
    order: float | None = None

    @property
    def loss(self) -> float:
        """The largest loss."""
        return max(self.to_json().values())

    def remark(self, most: float | None) -> str:
        """Return the losses, and what the decisions may depend on.

        Args:
            most: Loss that the gate allows, below which nothing is named; None if the gate is off.
        """
        named = [name for name, value in self.to_json().items() if most is not None and value > most]
        # Noise moves levels too, and coarse noise all that noise moves.
        nested = ("levels", "noise", "coarse")
        first = [name for name in nested if name in named][:1]
        causes = [_CAUSES[name] for name in (*first, *(name for name in named if name not in nested))]
        return f"{self._losses}: the decisions may depend on {'; or on '.join(causes)}" if causes else self._losses

    @property
    def earlier_remark(self) -> str:
        """The remark of gates before version 6, which journals hold."""
        if self.loss < _EARLIER_NAMED:
            return self._losses
        first = next(name for name, value in self.to_json().items() if value >= 0.5 * self.loss)
        return f"{self._losses}: the decisions may depend on {_EARLIER_CAUSES[first]}"

    @property
    def _losses(self) -> str:
        text = f"{self.levels:.2f} with other price levels, {self.noise:.2f} with noise too"
        if self.coarse is not None:
            text += f", {self.coarse:.2f} with coarse noise, {self.gaps:.2f} with gaps, {self.order:.2f} out of order"
        return text

    def to_json(self) -> dict[str, float]:
        """Return the losses as plain values."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def disguise_probe(setup: ValidationSetup, validation: ValidationResult, build: Build, seed: int) -> DisguiseResult:
    """Return the losses of a strategy on the market in disguise.

    They are 0 if the strategy has no profit to lose.

    Args:
        setup: Market, folds, costs and limits.
        validation: Walk-forward result of the strategy.
        build: Returns the strategy of params.
        seed: Seed of the disguises.
    """
    earlier = earlier_disguise_probe(setup, validation, build, seed)
    probe = _Probe(setup, validation, build)
    if probe.has_nothing_to_lose:
        return replace(earlier, coarse=0.0, gaps=0.0, order=0.0)
    rng = np.random.default_rng(seed_for("disguise of time", seed, setup.dataset.fingerprint))
    coarse = [probe.on_market(disguised(setup.dataset, rng, COARSE_NOISE)) for _ in range(N_DISGUISES)]
    gaps = [probe.on_thinned(rng) for _ in range(N_DISGUISES)]
    return replace(
        earlier,
        coarse=probe.loss(coarse, ALLOWANCE),
        gaps=probe.loss(gaps),
        order=probe.loss([probe.out_of_order(rng)]),
    )


def earlier_disguise_probe(
    setup: ValidationSetup, validation: ValidationResult, build: Build, seed: int
) -> DisguiseResult:
    """Return the losses with other levels and with noise, as before gates version 5.

    Args:
        setup: Market, folds, costs and limits.
        validation: Walk-forward result of the strategy.
        build: Returns the strategy of params.
        seed: Seed of the disguises.
    """
    probe = _Probe(setup, validation, build)
    if probe.has_nothing_to_lose:
        return DisguiseResult(0.0, 0.0)
    rng = np.random.default_rng(seed_for("disguise", seed, setup.dataset.fingerprint))
    levels = [probe.on_market(disguised(setup.dataset, rng, 0.0))]
    noise = [probe.on_market(disguised(setup.dataset, rng, NOISE)) for _ in range(N_DISGUISES)]
    return DisguiseResult(probe.loss(levels), probe.loss(noise))


class _Probe:
    """Strategies decided in disguise and traded on the true market."""

    def __init__(self, setup: ValidationSetup, validation: ValidationResult, build: Build) -> None:
        self._setup, self._base = setup, validation.oos.sharpe
        self._keys = [repr(sorted(params.items())) for params in validation.params]
        self._made: dict[str, Strategy] = {}
        if not self.has_nothing_to_lose:
            named = dict(zip(self._keys, validation.params, strict=True))
            self._made = {key: build(params) for key, params in named.items()}

    @property
    def has_nothing_to_lose(self) -> bool:
        return self._base is None or self._base <= 0.0

    def loss(self, sharpes: list[float], allowance: float = 0.0) -> float:
        return max(0.0, 1.0 - allowance - float(np.mean(sharpes)) / (self._base or 1.0))

    def on_market(self, market: Dataset) -> float:
        hidden = replace(self._setup, dataset=market)
        return self._traded(lambda strategy: table_of(hidden, strategy))

    def on_thinned(self, rng: np.random.Generator) -> float:
        first, end = self._setup.folds[0].train[0], self._setup.folds[-1].test[1]
        n_history = max(strategy.lookback for strategy in self._made.values())
        found: Thinned = thinned(self._setup.dataset, rng, first + n_history)
        n_bars = self._setup.dataset.n_bars

        def decided(strategy: Strategy) -> Table:
            return found.spread(strategy.table(found.dataset, *found.span(first, end)), n_bars)

        return self._traded(decided)

    def out_of_order(self, rng: np.random.Generator) -> float:
        folds = self._setup.folds
        spans = shuffled_spans(folds[0].test[0], folds[-1].test[1], rng, LONGEST_BLOCK)
        return self._traded(lambda strategy: _in_blocks(strategy, self._setup.dataset, spans))

    def _traded(self, decided: Callable[[Strategy], Table]) -> float:
        tables = {key: decided(strategy) for key, strategy in self._made.items()}
        folds = zip(self._keys, self._setup.folds, strict=True)
        return score_of([tested_run(self._setup, tables[key], fold) for key, fold in folds]).sharpe or 0.0


def _in_blocks(strategy: Strategy, dataset: Dataset, spans: list[tuple[int, int]]) -> Table:
    """Return the weights of ranges of bars, decided in turn by one worker."""
    table = np.full((dataset.n_bars, dataset.n_symbols), np.nan)
    if isinstance(strategy, CodeStrategy):
        parts = strategy.tables(dataset, spans)
    else:
        parts = [strategy.table(dataset, start, end) for start, end in spans]
    for (start, end), part in zip(spans, parts, strict=True):
        table[start:end] = part[start:end]
    return table
