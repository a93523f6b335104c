"""Design of the contamination experiment: windows, repeats, twins and masking."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from openoutcry.arguments import checked_integer, lookback_of, seed_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.masking import LEVELS
from openoutcry.data.window import as_window
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import DEFAULT_LOOKBACK
from openoutcry.untrusted.counted_nouns import counted

Span = tuple[int, int]


@dataclass(frozen=True)
class Design:
    """Design of a contamination experiment.

    Attributes:
        n_repeats: Number of named runs, and of masked runs with different keys, for each window.
        n_twins: Number of twins for each window, each run once.
        block_bars: Mean block length of a twin, in bars.
        masking: Masking level, one of `masking.LEVELS`.
        level: False positive rate of the two tests together.
        lookback: Maximum number of closes of a symbol in an observation.
        seed: Seed of masking keys, twins, run order and bootstrap. Random by default, because an agent could search
            the masked markets of a predictable seed.
        n_draws: Number of bootstrap resamples.
    """

    n_repeats: int = 2
    n_twins: int = 9
    block_bars: float = 5.0
    masking: str = "full"
    level: float = 0.05
    lookback: int = DEFAULT_LOOKBACK
    # JSON readers in other languages represent integers up to 53 bits.
    seed: int = field(default_factory=partial(secrets.randbits, 53))
    n_draws: int = 2_000

    def __post_init__(self) -> None:
        checked_integer("n_repeats", self.n_repeats, 1, 1_000)
        checked_integer("n_twins", self.n_twins, 1, 1_000)
        checked_integer("n_draws", self.n_draws, 100, 1_000_000)
        lookback_of(self.lookback)
        seed_of(self.seed)
        if self.masking not in LEVELS:
            raise refusal(
                "argument_invalid", f"`masking` must be one of {', '.join(LEVELS)}; received {self.masking!r}"
            )
        if not (_is_number(self.level) and 0.0 < self.level < 0.5):
            raise refusal("argument_invalid", f"`level` must be above 0 and below 0.5; received {self.level!r}")
        if not (_is_number(self.block_bars) and self.block_bars >= 1.0):
            raise refusal("argument_invalid", f"`block_bars` must be at least 1; received {self.block_bars!r}")

    @property
    def runs_a_window(self) -> int:
        """Number of runs on each window."""
        return 2 * self.n_repeats + self.n_twins

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def spread_windows(market: Dataset, n_windows: int, n_bars: int, lookback: int = DEFAULT_LOOKBACK) -> list[Span]:
    """Return windows of `n_bars` bars, evenly spaced over a market.

    The first window starts after a full lookback, and the last ends with the market.

    Raises:
        OpenOutcryError: `window_invalid`: the market is too short.
    """
    n_windows, n_bars = (
        checked_integer("n_windows", n_windows, 1, 10_000),
        checked_integer("n_bars", n_bars, 3, 2**31 - 1),
    )
    first = lookback_of(lookback) - 1
    room = market.n_bars - first
    if n_windows * (n_bars - 1) + 1 > room:
        required = f"the market must contain {counted(n_windows, 'window')} of {n_bars} bars"
        required += f", and {counted(first, 'bar')} before them"
        raise refusal("window_invalid", f"{required}; received {market.n_bars} bars")
    starts = np.rint(np.linspace(first, market.n_bars - n_bars, n_windows)).astype(int).tolist()
    return [(start, start + n_bars) for start in starts]


def resolve_windows(market: Dataset, windows: Iterable[Any], lookback: int) -> list[Span]:
    """Convert windows to sorted bar ranges.

    Raises:
        OpenOutcryError: `window_invalid`: a window leaves the data, has fewer than three bars, lacks a close, or
            overlaps another.
    """
    spans = sorted(as_window(each).resolve(market, lookback) for each in windows)
    if not spans:
        raise refusal("window_invalid", "at least one window is required; received none")
    for (_, end), (start, _) in pairwise(spans):
        if start < end - 1:
            message = f"windows must not overlap; received one to bar {end} and one from bar {start}"
            raise refusal("window_invalid", message)
    for start, end in spans:
        if end - start < 3:
            raise refusal("window_invalid", f"a window must have at least 3 bars; received {end - start}")
        missing = np.argwhere(~np.isfinite(market.close[start:end]))
        if len(missing):
            bar, column = missing[0]
            required = "every symbol must have a close in every bar of a window, because twins reorder the bars"
            received = f"{market.symbols[column]} without a close on {market.dates[start + bar]}"
            raise refusal("window_invalid", f"{required}; received {received}; hint: remove the symbol or the window")
    return spans


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
