"""Episodes of an environment: their windows."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from openoutcry.arguments import checked_integer, is_bool, is_integer, one_of
from openoutcry.data.window import as_window
from openoutcry.errors import refusal

if TYPE_CHECKING:
    from openoutcry.data.dataset import Dataset

RANDOM = "random"
SPLITS = ("train", "validation", "test")
EPISODE_BARS = 252


@dataclass(frozen=True)
class Episodes:
    """Choice of episode windows: one fixed window, or a random window per episode.

    Args:
        window: The bars of every episode, or `random`.
        within: Range that random windows are drawn from; None for the range of `window=None`.
        episode_bars: Number of bars of a random window; None for 252.
        split: `train`, `validation` or `test`; different splits have independent random windows for every seed.
    """

    window: Any = None
    within: Any = None
    episode_bars: int | None = None
    split: str = "train"

    def __post_init__(self) -> None:
        for name in ("window", "within"):
            # The spec of an environment in JSON has a list.
            if isinstance(pair := getattr(self, name), list):
                object.__setattr__(self, name, tuple(pair))
        one_of("split", self.split, SPLITS)
        if self.is_random:
            return
        for name in ("within", "episode_bars"):
            if getattr(self, name) is not None:
                message = f"`{name}` must be None unless `window` is 'random'; received {getattr(self, name)!r}"
                raise refusal("argument_invalid", message)

    @property
    def is_random(self) -> bool:
        """Whether every episode has a random window."""
        return isinstance(self.window, str) and self.window == RANDOM

    def on(self, dataset: Dataset, lookback: int) -> tuple[int, int, int | None, str]:
        """Return start and end of the range, the bars per episode, and the split.

        The bars per episode are None if an episode is the complete range.

        Raises:
            OpenOutcryError: `window_invalid`: the range exceeds the data, or is shorter than an episode.
        """
        start, end = as_window(self.within if self.is_random else self.window).resolve(dataset, lookback)
        if not self.is_random:
            return start, end, None, self.split
        n_bars = EPISODE_BARS if self.episode_bars is None else self.episode_bars
        n_most = end - start
        if is_integer(n_bars) and n_bars > n_most:
            message = f"`episode_bars` must be an integer from 2 to {n_most}; received {n_bars}"
            hint = f"hint: episode_bars={n_most} or fewer, or window=None for one episode of all bars"
            raise refusal("window_invalid", f"{message}; {hint}")
        return start, end, checked_integer("episode_bars", n_bars, 2, n_most, "window_invalid"), self.split


def finite(name: str, value: Any) -> float:
    """Return a finite number of at least 0."""
    try:
        number = float("nan") if is_bool(value) or isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number) or number < 0.0:
        raise refusal("argument_invalid", f"`{name}` must be a finite number of at least 0; received {value!r}")
    return number
