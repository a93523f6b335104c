"""Markets of a scenario tier, one for each seed."""

from __future__ import annotations

from collections.abc import Iterator

from openoutcry.data.dataset import Dataset
from openoutcry.scenarios.scenario import Scenario


def panels_of(tier: str, n_seeds: int) -> Iterator[Dataset]:
    """Yield the market of each training seed of a tier, starting at seed 0.

    Raises:
        OpenOutcryError: the tier or family is unknown.
    """
    for seed in range(n_seeds):
        yield Scenario(tier, seed).dataset()
