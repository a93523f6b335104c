"""Panels of a tier: one market a seed."""

from __future__ import annotations

from collections.abc import Iterator

from openoutcry.data.dataset import Dataset
from openoutcry.scenarios.scenario import Scenario


def panels_of(tier: str, n_seeds: int) -> Iterator[Dataset]:
    """Yield the market of each training seed of a tier, from seed 0 on.

    Raises:
        OpenOutcryError: no tier or family is called so.
    """
    for seed in range(n_seeds):
        yield Scenario(tier, seed).dataset()
