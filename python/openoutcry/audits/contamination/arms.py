"""The three arms: a window as it is, in disguise, and its twins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.audits.contamination.experiment_design import Design, Span
from openoutcry.audits.contamination.permuted_twins import Bars, reordered, twin
from openoutcry.data.dataset import Dataset

Table = npt.NDArray[np.float64]

ARMS = ("named", "masked", "twins")

_KEY_DOMAIN = b"openoutcry/contamination/v1\0"
# Streams of random numbers, one a purpose.
_ORDER, _RUNS, _TWINS = 1, 2, 3


@dataclass(frozen=True, eq=False)
class Tracks:
    """What an agent earned on a window, a row a run, a column a bar.

    All are simple returns; runs are in the order in which they were begun.

    Attributes:
        first_date: Of the first decision.
        dates: Of the bars that were earned on, shape `(n_bars,)`.
        named: On the window as it is. Shape `(n_repeats, n_bars)`.
        masked: In disguise. Shape `(n_repeats, n_bars)`.
        twins: On its twins, by their own bars. Shape `(n_twins, n_bars)`.
        sources: Place in the window of each bar of a twin. Shape `(n_twins, n_bars)`.
        gross: Mean gross exposure at the closes, by arm, as a share of NAV.
    """

    first_date: str
    dates: tuple[str, ...]
    named: Table
    masked: Table
    twins: Table
    sources: Bars
    gross: dict[str, float]

    @property
    def twins_by_source(self) -> Table:
        """What was earned on the twins, by the bar of the window that moved them.

        Shape `(n_twins, n_bars)`.
        """
        earned = np.empty_like(self.twins)
        np.put_along_axis(earned, self.sources, self.twins, axis=1)
        return earned


@dataclass(frozen=True, eq=False)
class Place:
    """A window in a market of its own, which begins with what an agent is shown first."""

    market: Dataset
    start: int
    end: int

    @classmethod
    def of(cls, market: Dataset, span: Span, lookback: int) -> Place:
        """Cut a window out, without news and fundamentals."""
        start, end = span
        first = max(0, start - lookback + 1)
        columns = market._columns() | {"fundamentals": (), "news": ()}
        for name, values in columns.items():
            if name == "dates" or isinstance(values, np.ndarray):
                columns[name] = values[first:end]
        if first > 0:
            _begin(columns)
        cut = Dataset.from_arrays(**columns, name=market.name, notices=market.notices)
        return cls(cut, start - first, end - first)


def _begin(columns: dict[str, Any]) -> None:
    """Leave out what happens on the first bar: it has no close before."""
    for name, nothing in (("dividends", 0.0), ("splits", 1.0), ("delistings", np.nan)):
        if columns[name] is not None:
            columns[name] = columns[name].copy()
            columns[name][0] = nothing


@dataclass(frozen=True, eq=False)
class Job:
    """A run to be made.

    Attributes:
        window: Place of its window.
        arm: One of `ARMS`.
        number: Which of the runs of that arm on that window.
        seed: Of what is drawn in it: by a baseline that draws, and by slippage that varies.
        market: Makes its market.
        sources: Of a twin, the bar that moves each of its bars.
    """

    window: int
    arm: str
    number: int
    seed: int
    market: Callable[[], Dataset]
    sources: Bars | None = None


def jobs_of(places: Sequence[Place], design: Design) -> list[Job]:
    """Return all runs in an order that the seed fixes."""
    jobs = [job for window, place in enumerate(places) for job in _jobs(window, place, design)]
    order = np.random.default_rng([design.seed, _ORDER]).permutation(len(jobs))
    return [jobs[place] for place in order]


def _jobs(window: int, place: Place, design: Design) -> Iterator[Job]:
    seeds = iter(np.random.SeedSequence([design.seed, window, _RUNS]).generate_state(design.runs_a_window).tolist())
    for number in range(design.n_repeats):
        key = hashlib.sha256(_KEY_DOMAIN + f"{design.seed}\0{window}\0{number}".encode()).digest()
        yield Job(window, "named", number, next(seeds), lambda: place.market)
        yield Job(window, "masked", number, next(seeds), partial(place.market.masked, key, design.masking))
    for number in range(design.n_twins):
        rng = np.random.default_rng([design.seed, window, number, _TWINS])
        bars = reordered(rng, place.start + 1, place.end, design.block_bars)
        yield Job(window, "twins", number, next(seeds), partial(twin, place.market, place.start, bars), bars)
