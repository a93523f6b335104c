"""Ranges of params, as what draws from them needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

from openoutcry.research.proposers.draws import Draws

# Steps of a float are decimal: 0.1 + 2 x 0.1 is not 0.3.
_DIGITS = 12
_MOST_STEPS = 2**53


@dataclass(frozen=True)
class Range:
    """The values that a param may take.

    Attributes:
        name: Name of the param.
        kind: `int`, `float` or `categorical`.
        choices: All values, of `categorical`.
        least: The lowest, of a number.
        most: The highest, of a number.
        step: Distance between values; None where all floats between are meant.
        default: What it is where nobody sets it.
    """

    name: str
    kind: str
    default: Any
    choices: tuple[Any, ...] = ()
    least: float = 0
    most: float = 0
    step: float | None = None

    @classmethod
    def of(cls, name: str, spec: Mapping[str, Any]) -> Range:
        """Read a range of `PARAM_RANGES`."""
        kind = spec["type"]
        if kind == "categorical":
            return cls(name, kind, spec.get("default"), choices=tuple(spec["choices"]))
        step = spec.get("step")
        if kind == "int" and step is None:
            step = 1
        return cls(name, kind, spec.get("default"), least=spec["min"], most=spec["max"], step=step)

    @property
    def n_values(self) -> int | None:
        """How many values there are; None for all floats between two."""
        if self.kind == "categorical":
            return len(self.choices)
        if self.step is None:
            return None
        # A step that does not divide the range by a rounding error reaches its end, too.
        return min(floor((self.most - self.least) / self.step + 1e-9) + 1, _MOST_STEPS)

    def value(self, place: int) -> Any:
        """Return the value at a place of a list of all."""
        if self.kind == "categorical":
            return self.choices[place]
        assert self.step is not None
        if self.kind == "int":
            return int(self.least) + place * int(self.step)
        return min(round(float(self.least + place * self.step), _DIGITS), float(self.most))

    def place(self, value: Any) -> int | None:
        """Return the place of a value in the list of all; None if it has none."""
        n = self.n_values
        if n is None:
            return None
        if self.kind == "categorical":
            same = (place for place, choice in enumerate(self.choices) if _is_same(choice, value))
            return next(same, None)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        assert self.step is not None
        place = round((value - self.least) / self.step)
        return place if 0 <= place < n and self.value(place) == value else None

    def draw(self, draws: Draws) -> Any:
        """Return a value, each as likely as any other."""
        n = self.n_values
        if n is not None:
            return self.value(draws.below(n))
        value = self.least + draws.unit() * (self.most - self.least)
        return float(min(value, self.most))


def ranges_of(entry: Mapping[str, Any]) -> tuple[Range, ...]:
    """Return the ranges of a strategy of the catalogue, in its order."""
    return tuple(Range.of(name, spec) for name, spec in entry["ranges"].items())


def _is_same(left: Any, right: Any) -> bool:
    return bool(isinstance(left, bool) == isinstance(right, bool) and left == right)
