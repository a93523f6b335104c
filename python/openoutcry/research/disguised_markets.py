"""Markets in disguise: other price levels, noise, and bars left out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from openoutcry.data.dataset import Dataset
from openoutcry.research.walkforward_validation import Table

NOISE = 0.2
"""Standard deviation of the noise of a close, in standard deviations of the symbol's log return."""
GAPS = 0.05
"""Share of bars that a market with gaps lacks."""
_LARGEST_FACTOR = 16.0


@dataclass(frozen=True)
class Thinned:
    """A market without some of its bars.

    Attributes:
        dataset: The bars that are left.
        bars: Their places in the complete market.
    """

    dataset: Dataset
    bars: npt.NDArray[np.intp]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return a range of the complete market as a range of the bars that are left."""
        first, last = np.searchsorted(self.bars, [start, end])
        return int(first), int(last)

    def spread(self, table: Table, n_bars: int) -> Table:
        """Return a table for the complete market.

        A bar that was left out keeps the weights of the one before."""
        places = np.searchsorted(self.bars, np.arange(n_bars), side="right") - 1
        rows: Table = np.where((places < 0)[:, None], np.nan, table[np.maximum(places, 0)])
        return rows


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


def thinned(dataset: Dataset, rng: np.random.Generator, n_kept: int, share: float = GAPS) -> Thinned:
    """Return a market without a random share of its bars.

    Bars with a split or a delisting stay.

    Args:
        dataset: The market.
        rng: Draws the bars.
        n_kept: Bars at its start that stay, the history of the first decision.
        share: Probability that a bar is left out.
    """
    stays = rng.random(dataset.n_bars) >= share
    stays[:n_kept] = True
    splits, settled = dataset.splits, dataset.delistings
    if splits is not None:
        stays |= (splits != 1.0).any(axis=1)
    if settled is not None:
        stays |= np.isfinite(settled).any(axis=1)
    bars = np.flatnonzero(stays)
    found = Dataset.from_arrays(
        np.array(dataset.dates)[bars].tolist(),
        dataset.symbols,
        dataset.close[bars],
        splits=None if splits is None else splits[bars],
        delistings=None if settled is None else settled[bars],
        periods_per_year=dataset.periods_per_year,
        name=dataset.name,
    )
    return Thinned(found, bars)


def shuffled_spans(start: int, end: int, rng: np.random.Generator, longest: int) -> list[tuple[int, int]]:
    """Return short ranges of bars that cover a range, in random order.

    Args:
        start: First bar.
        end: Bar after the last.
        rng: Draws the lengths and the order.
        longest: Maximum length; the minimum is half of it.
    """
    cuts = [start]
    while cuts[-1] < end:
        cuts.append(min(end, cuts[-1] + int(rng.integers(longest // 2, longest + 1))))
    spans = list(pairwise(cuts))
    return [spans[place] for place in rng.permutation(len(spans))]


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
