"""Reference bands of the stylized facts for each tier, read from `bands.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from openoutcry.errors import refusal


@dataclass(frozen=True)
class Band:
    """Central 95 % range of a fact over ten years of real data.

    Attributes:
        low: Lower end.
        high: Upper end.
        source: Data that the band was measured on, or the literature.
        quantiles: Quantiles of the bootstrap draws at `levels()`; empty for a band from the literature.
    """

    low: float
    high: float
    source: str
    quantiles: tuple[float, ...] = ()

    def holds(self, value: float) -> bool:
        """Return whether a value lies inside."""
        return self.low <= value <= self.high

    def p_value(self, value: float) -> float | None:
        """Return the two-sided p-value of a value under the bootstrap draws.

        It is interpolated between the stored quantiles, so it is never below twice the outermost level. None for a
        band from the literature, which has no draws.
        """
        if not self.quantiles:
            return None
        below = float(np.interp(value, self.quantiles, levels()))
        return min(1.0, 2.0 * min(below, 1.0 - below))


def bands_of(tier: str) -> dict[str, Band]:
    """Return the bands of a tier by fact.

    Raises:
        OpenOutcryError: `argument_invalid`: the tier is unknown.
    """
    tiers = document()["tiers"]
    if tier not in tiers:
        raise refusal("argument_invalid", f"`tier` must be one of {', '.join(tiers)}; received {tier!r}")
    facts = tiers[tier]["facts"]
    return {
        fact: Band(each["low"], each["high"], each["source"], tuple(each.get("quantiles", ())))
        for fact, each in facts.items()
    }


def tiers() -> tuple[str, ...]:
    """Return the tiers that have bands."""
    return tuple(document()["tiers"])


def levels() -> tuple[float, ...]:
    """Return the levels of the quantiles of a band."""
    return tuple(document()["levels"])


@cache
def document() -> dict[str, Any]:
    """Return `bands.json`: script, seed, draws, sources and tiers."""
    content: dict[str, Any] = json.loads(files(__package__).joinpath("bands.json").read_text(encoding="utf-8"))
    return content
