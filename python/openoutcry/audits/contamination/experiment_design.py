"""How an agent is tried: which windows, how often, against what."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from openoutcry.arguments import lookback_of, seed_of, whole
from openoutcry.data.dataset import Dataset
from openoutcry.data.masking import LEVELS
from openoutcry.data.window import as_window
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import DEFAULT_LOOKBACK

Span = tuple[int, int]


@dataclass(frozen=True)
class Design:
    """How an agent is tried.

    Attributes:
        n_repeats: Runs of a window as it is, and as many in disguise, each under a key of its own.
        n_twins: Twins of a window, each run once.
        block_bars: Bars of a block of a twin, on average.
        masking: Level of the disguise, one of `masking.LEVELS`.
        level: How often a clean agent may be taken for a contaminated one, by the two tests together.
        lookback: Closes that an agent is shown of a symbol at most.
        seed: Fixes disguises, twins, the order of runs and resamples. It is drawn by default: who computes rather than
            remembers could scan those that anyone would guess.
        n_draws: Resamples of the intervals.
    """

    n_repeats: int = 2
    n_twins: int = 9
    block_bars: float = 5.0
    masking: str = "full"
    level: float = 0.05
    lookback: int = DEFAULT_LOOKBACK
    # Readers of JSON in other languages know integers to 53 bits.
    seed: int = field(default_factory=partial(secrets.randbits, 53))
    n_draws: int = 2_000

    def __post_init__(self) -> None:
        whole("n_repeats", self.n_repeats, 1, 1_000)
        whole("n_twins", self.n_twins, 1, 1_000)
        whole("n_draws", self.n_draws, 100, 1_000_000)
        lookback_of(self.lookback)
        seed_of(self.seed)
        if self.masking not in LEVELS:
            raise refusal(
                "argument_invalid", f"`masking` must be one of {', '.join(LEVELS)}; received {self.masking!r}"
            )
        if not (_is_number(self.level) and 0.0 < self.level < 0.5):
            raise refusal("argument_invalid", f"`level` must be above 0 and below 0.5; received {self.level!r}")
        if not (_is_number(self.block_bars) and self.block_bars >= 1.0):
            wanted = "`block_bars` must be a number of at least 1"
            raise refusal("argument_invalid", f"{wanted}; received {self.block_bars!r}")

    @property
    def runs_a_window(self) -> int:
        """Runs of an agent on each window."""
        return 2 * self.n_repeats + self.n_twins

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, as JSON has them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def spread(market: Dataset, n_windows: int, n_bars: int, lookback: int = DEFAULT_LOOKBACK) -> list[Span]:
    """Return windows of `n_bars` bars, evenly spread over a market.

    The first begins where an agent can be shown all of its lookback, the last ends with the market.

    Raises:
        OpenOutcryError: `window_invalid`: the market is too short for so many.
    """
    n_windows, n_bars = whole("n_windows", n_windows, 1, 10_000), whole("n_bars", n_bars, 3, 2**31 - 1)
    first = lookback_of(lookback) - 1
    room = market.n_bars - first
    if n_windows * (n_bars - 1) + 1 > room:
        wanted = f"{n_windows} windows of {n_bars} bars, and {first} bars before, must be in the market"
        raise refusal("window_invalid", f"{wanted}; received {market.n_bars} bars")
    starts = np.rint(np.linspace(first, market.n_bars - n_bars, n_windows)).astype(int).tolist()
    return [(start, start + n_bars) for start in starts]


def resolved(market: Dataset, windows: Iterable[Any], lookback: int) -> list[Span]:
    """Return windows as bars, first bar first.

    Raises:
        OpenOutcryError: `window_invalid`: one leaves the data, has fewer than three bars, lacks a close, or shares a
            return with another.
    """
    spans = sorted(as_window(each).resolve(market, lookback) for each in windows)
    if not spans:
        raise refusal("window_invalid", "at least one window is required; received none")
    for (_, end), (start, _) in pairwise(spans):
        if start < end - 1:
            message = f"windows must share no return; received one to bar {end} and one from bar {start}"
            raise refusal("window_invalid", message)
    for start, end in spans:
        if end - start < 3:
            raise refusal("window_invalid", f"a window must have at least 3 bars; received {end - start}")
        missing = np.argwhere(~np.isfinite(market.close[start:end]))
        if len(missing):
            bar, column = missing[0]
            wanted = "every symbol must close in every bar of a window, as its twins have all of them"
            received = f"{market.symbols[column]} without a close on {market.dates[start + bar]}"
            raise refusal("window_invalid", f"{wanted}; received {received}; hint: leave out the symbol, or the window")
    return spans


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
