"""Markets of an environment, and the one of each episode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import is_frame, is_integer
from openoutcry.data.dataset import Dataset
from openoutcry.data.padding import padded
from openoutcry.errors import refusal
from openoutcry.gym.episodes import Episodes
from openoutcry.gym.market_arguments import Market, has_listing_changes, is_split, market_of

Draw: TypeAlias = "str | Callable[[int, int], int]"
KINDS = ("cycle", "random")


@dataclass(frozen=True)
class EpisodeMarkets:
    """Markets of the same number of symbols, and the rule for the one of each episode.

    Attributes:
        datasets: The markets; smaller ones are padded.
        kind: `cycle`, `random`, `given` by the function, or `fixed`.
        function: Returns the index of the market of an episode, from the seed of its stream and its number.
        split: Streams of different splits share no draw.
        is_padded: Whether a market has fewer symbols than another.
        has_listing_changes: Whether symbols may come and go, within a market or between episodes.
        is_split: Whether the split selects a market or a draw.
    """

    datasets: tuple[Dataset, ...]
    kind: str
    function: Callable[[int, int], int] | None
    split: str
    is_padded: bool
    has_listing_changes: bool
    is_split: bool

    @property
    def n_symbols(self) -> int:
        """Symbols of each market."""
        return self.datasets[0].n_symbols

    @property
    def n_bars(self) -> int:
        """Bars of the longest market."""
        return max(market.n_bars for market in self.datasets)

    @property
    def changes(self) -> bool:
        """Whether episodes have different markets."""
        return self.kind != "fixed"

    def of_episode(self, seed: int, episode: int) -> int:
        """Return the index of the market of an episode.

        Raises:
            OpenOutcryError: `argument_invalid`: the function returned no index.
        """
        n = len(self.datasets)
        if self.function is None:
            return native.episode_market(self.kind, self.split, seed, episode, n) if self.changes else 0
        index = self.function(seed, episode)
        if not is_integer(index) or not 0 <= index < n:
            message = f"the function `datasets` must return the index of a dataset, 0 to {n - 1}"
            raise refusal("argument_invalid", f"{message}; received {index!r}")
        return int(index)

    def of_lanes(
        self, lanes: npt.NDArray[np.bool_], streams: Sequence[tuple[int, int]], ahead: int
    ) -> list[tuple[int, int]]:
        """Return pairs of a lane and the market of a later episode.

        None, unless a function draws it.

        Args:
            lanes: The lanes, shape `(num_envs,)`.
            streams: Seed of each lane, and the index of its next episode.
            ahead: Number of episodes after the next one.
        """
        if self.function is None:
            return []
        places = [(lane, *streams[lane]) for lane in np.flatnonzero(lanes).tolist()]
        return [(lane, self.of_episode(seed, episode + ahead)) for lane, seed, episode in places]


def episode_markets(
    sizes: tuple[int | Market, int],
    seed: int,
    dataset: Any,
    split: str,
    datasets: Draw | None,
    num_envs: int | None,
    least_symbols: int = 1,
) -> EpisodeMarkets:
    """Return the markets of an environment.

    Args:
        sizes: Numbers of symbols and of days of the synthetic market.
        seed: Seed of synthetic markets and scenarios.
        dataset: One market, or several.
        split: Split of scenarios and draws.
        datasets: Rule for the market of an episode; None for one market per lane.
        num_envs: Number of lanes; None for a single environment.
        least_symbols: Number of symbols that smaller markets are padded to, also if all are smaller.

    Raises:
        OpenOutcryError: an argument is invalid.
    """
    is_one = isinstance(dataset, (str, Dataset)) or not isinstance(dataset, Iterable) or is_frame(dataset)
    given: Sequence[Any] = [dataset] if is_one else tuple(dataset)
    _check(len(given), datasets, num_envs, is_one=is_one)
    made = {id(market): market_of(*sizes, seed, market, split) for market in given}
    markets = [made[id(market)] for market in given]
    counts = [market.n_symbols for market in markets]
    most = max(least_symbols, *counts)
    wide = {id(market): padded(market, most) for market in markets}
    shown = tuple(wide[id(market)] for market in markets)
    kind = "fixed" if datasets is None else datasets if isinstance(datasets, str) else "given"
    has_changes = kind != "fixed" or any(has_listing_changes(market, 0) for market in shown)
    is_drawn = kind == "random" or any(is_split(market) for market in (sizes[0], *given))
    function = datasets if callable(datasets) else None
    return EpisodeMarkets(shown, kind, function, split, min(counts) < most, has_changes, is_drawn)


def check_split(episodes: Episodes, markets: EpisodeMarkets) -> None:
    """Check that a split other than the default has an effect.

    Raises:
        OpenOutcryError: `argument_invalid`: neither windows nor markets depend on it.
    """
    if episodes.split == Episodes.split or episodes.is_random or markets.is_split:
        return
    message = f"`split` must be {Episodes.split} with one fixed window, one fixed market and no scenario by name"
    raise refusal("argument_invalid", f"{message}; received {episodes.split!r}; hint: window='random' draws by split")


def _check(n_given: int, datasets: Any, num_envs: int | None, *, is_one: bool) -> None:
    """Check the number of markets and the rule."""
    if datasets is not None and not callable(datasets) and not (isinstance(datasets, str) and datasets in KINDS):
        message = "`datasets` must be cycle, random, a function of seed and episode, or None"
        raise refusal("argument_invalid", f"{message}; received {datasets!r}")
    if datasets is not None and is_one:
        message = "`dataset` must be a list of markets with `datasets`, the rule that draws one per episode"
        raise refusal("argument_invalid", f"{message}; received one market")
    if n_given == 0:
        raise refusal("argument_invalid", "`dataset` must be a market, or a list of at least one; received none")
    if datasets is None and num_envs is None and not is_one:
        hint = "hint: datasets='cycle' or datasets='random' draws one per episode"
        raise refusal("argument_invalid", f"`dataset` must be one market; received {n_given}; {hint}")
    if datasets is None and num_envs is not None and n_given > num_envs:
        message = f"`dataset` must be one market, or a sequence of 1 to `num_envs`={num_envs}"
        hint = "hint: datasets='cycle' or datasets='random' draws one per episode"
        raise refusal("argument_invalid", f"{message}; received {n_given}; {hint}")


__all__ = ["Draw", "EpisodeMarkets", "check_split", "episode_markets"]
