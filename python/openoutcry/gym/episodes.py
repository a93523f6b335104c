"""Episodes of a learner: the bars of one, and what a step of it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from openoutcry import openoutcry_py as native
from openoutcry.arguments import is_truth, whole
from openoutcry.data.window import as_window
from openoutcry.errors import refusal

if TYPE_CHECKING:
    from openoutcry.data.dataset import Dataset

RANDOM = "random"
SPLITS = ("train", "validation", "test")
EPISODE_BARS = 252

# What a scheme takes where its rate or penalty is not given: the rate of Moody and Saffell, a loss counted once more
# while it deepens a drawdown, and 10 bps of what is traded.
_PARAMETERS = {"differential-sharpe": 0.01, "drawdown": 1.0, "turnover": 0.001}


@dataclass(frozen=True)
class Episodes:
    """How windows of episodes are chosen: one for all, or each drawn from a range.

    Args:
        window: The bars of every episode, or `random`.
        within: The range that random windows are drawn from; None for what `window=None` would be.
        episode_bars: Bars of a random window; None for 252.
        split: `train`, `validation` or `test`: streams of different splits share no draw, whatever their seeds.
    """

    window: Any = None
    within: Any = None
    episode_bars: int | None = None
    split: str = "train"

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise refusal("argument_invalid", f"`split` must be one of {', '.join(SPLITS)}; received {self.split!r}")
        if self.is_random:
            return
        for name in ("within", "episode_bars"):
            if getattr(self, name) is not None:
                message = f"`{name}` must be None unless `window` is 'random'; received {getattr(self, name)!r}"
                raise refusal("argument_invalid", message)

    @property
    def is_random(self) -> bool:
        """Whether every episode has a window of its own."""
        return isinstance(self.window, str) and self.window == RANDOM

    def on(self, dataset: Dataset, lookback: int) -> tuple[int, int, int | None, str]:
        """Return the range of a dataset, the bars of an episode, and the split.

        The bars of an episode are None for all of the range.

        Raises:
            OpenOutcryError: `window_invalid`: the range leaves the data, or is shorter than an episode.
        """
        start, end = as_window(self.within if self.is_random else self.window).resolve(dataset, lookback)
        if not self.is_random:
            return start, end, None, self.split
        given = EPISODE_BARS if self.episode_bars is None else self.episode_bars
        return start, end, whole("episode_bars", given, 2, end - start, "window_invalid"), self.split


def scheme_of(reward: Any, parameter: Any) -> tuple[str, float]:
    """Return the name of a reward scheme and its rate or penalty."""
    if reward not in native.REWARDS:
        names = ", ".join(native.REWARDS)
        raise refusal("argument_invalid", f"`reward` must be one of {names}; received {reward!r}")
    if reward not in _PARAMETERS:
        if parameter is not None:
            message = f"`reward_parameter` must be None beside the reward {reward}, which has none"
            raise refusal("argument_invalid", f"{message}; received {parameter!r}")
        return reward, 0.0
    number = _PARAMETERS[reward] if parameter is None else finite("reward_parameter", parameter)
    if reward == "differential-sharpe" and not 0.0 < number < 1.0:
        message = f"`reward_parameter` must be above 0 and below 1, as a rate; received {parameter!r}"
        raise refusal("argument_invalid", message)
    return reward, number


def finite(name: str, value: Any) -> float:
    """Return a finite number of at least 0."""
    try:
        number = float("nan") if is_truth(value) or isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number) or number < 0.0:
        raise refusal("argument_invalid", f"`{name}` must be a finite number of at least 0; received {value!r}")
    return number
