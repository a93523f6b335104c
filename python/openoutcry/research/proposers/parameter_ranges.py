"""Ranges of params, for samplers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openoutcry.backtest.strategies.parameter_space import n_values, value_at
from openoutcry.research.proposers.round_random import Draws


@dataclass(frozen=True)
class Range:
    """The values that a param can have.

    Attributes:
        name: Name of the param.
        spec: Its entry of `PARAM_RANGES`.
    """

    name: str
    spec: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """`int`, `float` or `categorical`."""
        return str(self.spec["type"])

    @property
    def default(self) -> Any:
        """Its default value."""
        return self.spec.get("default")

    @property
    def least(self) -> float:
        """Minimum of a numeric param."""
        return float(self.spec["min"])

    @property
    def most(self) -> float:
        """Maximum of a numeric param."""
        return float(self.spec["max"])

    @property
    def n_values(self) -> int | None:
        """Number of values; None for a continuous range."""
        return n_values(self.spec)

    def value(self, place: int) -> Any:
        """Return the value at an index of the list of values."""
        return value_at(self.spec, place)

    def place(self, value: Any) -> int | None:
        """Return the index of a value in the list of values; None if it is not in it."""
        n = self.n_values
        if n is None:
            return None
        if self.kind == "categorical":
            return next((place for place in range(n) if _is_same(self.value(place), value)), None)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        place = round((value - self.least) / float(self.spec.get("step", 1)))
        return place if 0 <= place < n and self.value(place) == value else None

    def draw(self, draws: Draws) -> Any:
        """Return a uniformly drawn value."""
        n = self.n_values
        if n is not None:
            return self.value(draws.below(n))
        value = self.least + draws.unit() * (self.most - self.least)
        return float(min(value, self.most))


def ranges_of(entry: Mapping[str, Any]) -> tuple[Range, ...]:
    """Return the ranges of a strategy of the catalogue, in its order."""
    return tuple(Range(name, spec) for name, spec in entry["ranges"].items())


def _is_same(left: Any, right: Any) -> bool:
    return bool(isinstance(left, bool) == isinstance(right, bool) and left == right)
