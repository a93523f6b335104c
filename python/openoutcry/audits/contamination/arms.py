"""The three arms of the experiment: named, masked and permuted twins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.audits.contamination.experiment_design import Design, Span
from openoutcry.audits.contamination.permuted_twins import Bars, permuted_bars, twin
from openoutcry.data.dataset import Dataset

Table = npt.NDArray[np.float64]

ARMS = ("named", "masked", "twins")

_KEY_DOMAIN = b"openoutcry/contamination/v1\0"
# Random number streams by purpose.
_ORDER, _RUNS, _TWINS = 1, 2, 3


@dataclass(frozen=True, eq=False)
class ArmReturns:
    """Simple returns of an agent on a window: rows are runs, columns are bars.

    Runs are in the order in which they started.

    Attributes:
        first_date: Date of the first decision.
        dates: Dates of the returns, shape `(n_bars,)`.
        named: Returns on the unchanged window, shape `(n_repeats, n_bars)`, float64.
        masked: Returns on the masked window, shape `(n_repeats, n_bars)`, float64.
        twins: Returns on the twins in their own bar order, shape `(n_twins, n_bars)`, float64.
        sources: Index of the window bar behind each bar of a twin, shape `(n_twins, n_bars)`, int64.
        gross: Mean gross exposure at the closes by arm, a fraction of NAV.
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
        """Returns on the twins in the bar order of the window.

        Shape `(n_twins, n_bars)`, float64.
        """
        earned = np.empty_like(self.twins)
        np.put_along_axis(earned, self.sources, self.twins, axis=1)
        return earned


@dataclass(frozen=True, eq=False)
class WindowMarket:
    """A market cut to a window and the lookback before it."""

    market: Dataset
    start: int
    end: int

    @classmethod
    def cut(cls, market: Dataset, span: Span, lookback: int) -> WindowMarket:
        """Cut a window out of a market, without news and fundamentals."""
        start, end = span
        first = max(0, start - lookback + 1)
        columns = market._columns() | {"fundamentals": (), "news": ()}
        for name, values in columns.items():
            if name == "dates" or isinstance(values, np.ndarray):
                columns[name] = values[first:end]
        if first > 0:
            _clear_first_bar(columns)
        dataset = Dataset.from_arrays(**columns, name=market.name, notices=market.notices)
        return cls(dataset, start - first, end - first)


def _clear_first_bar(columns: dict[str, Any]) -> None:
    """Remove the corporate actions of the first bar, which has no previous close."""
    for name, neutral in (("dividends", 0.0), ("splits", 1.0), ("delistings", np.nan)):
        if columns[name] is not None:
            columns[name] = columns[name].copy()
            columns[name][0] = neutral


@dataclass(frozen=True, eq=False)
class Job:
    """A scheduled run.

    Attributes:
        window: Index of the window.
        arm: One of `ARMS`.
        number: Number of the run within its arm and window.
        seed: Seed of random baselines and slippage noise.
        market: Builds the market of the run.
        sources: Bar of the window behind each bar of a twin; None for other arms.
    """

    window: int
    arm: str
    number: int
    seed: int
    market: Callable[[], Dataset]
    sources: Bars | None = None


def jobs_of(windows: Sequence[WindowMarket], design: Design) -> list[Job]:
    """Return all runs in a random order that the seed determines."""
    jobs = [job for window, cut in enumerate(windows) for job in _jobs(window, cut, design)]
    order = np.random.default_rng([design.seed, _ORDER]).permutation(len(jobs))
    return [jobs[index] for index in order]


def _jobs(window: int, cut: WindowMarket, design: Design) -> Iterator[Job]:
    seeds = iter(np.random.SeedSequence([design.seed, window, _RUNS]).generate_state(design.runs_a_window).tolist())
    for number in range(design.n_repeats):
        key = hashlib.sha256(_KEY_DOMAIN + f"{design.seed}\0{window}\0{number}".encode()).digest()
        yield Job(window, "named", number, next(seeds), lambda: cut.market)
        yield Job(window, "masked", number, next(seeds), partial(cut.market.masked, key, design.masking))
    for number in range(design.n_twins):
        rng = np.random.default_rng([design.seed, window, number, _TWINS])
        bars = permuted_bars(rng, cut.start + 1, cut.end, design.block_bars)
        yield Job(window, "twins", number, next(seeds), partial(twin, cut.market, cut.start, bars), bars)
