"""Panels of a tier: one market a seed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from openoutcry.dataset import Dataset
from openoutcry.errors import refusal


def panels_of(tier: str, n_seeds: int) -> Iterator[Dataset]:
    """Yield the market of each training seed of a tier, from seed 0 on.

    Raises:
        OpenOutcryError: no tier or family is called so.
    """
    scenario = _scenario()
    if scenario is None:
        raise refusal("unknown_dataset", f"this build must have scenarios to make {tier!r}; received one without")
    for seed in range(n_seeds):
        yield scenario(tier, seed=seed, split="train").dataset()


def _scenario() -> Any:
    try:
        return import_module("openoutcry.scenario").Scenario
    except ModuleNotFoundError as error:
        if error.name != "openoutcry.scenario":
            raise
        return None
