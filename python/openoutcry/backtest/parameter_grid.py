"""Points of a sweep: combinations of parameter values, or a list of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy.typing as npt

from openoutcry.agents import Agent
from openoutcry.backtest.strategies import Strategy, from_json
from openoutcry.errors import refusal

Params: TypeAlias = dict[str, Any]
Item: TypeAlias = "Agent | Strategy | str | npt.ArrayLike"
Grid: TypeAlias = "Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]"


@dataclass(frozen=True)
class Point:
    """A point of the grid: its params, and its item if the sweep has no function."""

    params: Params
    item: Any = None
    name: str = ""

    @property
    def label(self) -> str:
        """The params as text."""
        return ", ".join(f"{name}={value!r}" for name, value in self.params.items()) or "without params"


def grid_points(weights_or_agents: Any, grid: Any) -> tuple[Callable[..., Item] | None, list[Point]]:
    """Return the function that maps params to an item, or None, and all points."""
    if grid is None:
        if callable(weights_or_agents) or isinstance(weights_or_agents, (str, Mapping)):
            wanted = "`weights_or_agents` must be a list of weights and agents if there is no grid"
            raise refusal("argument_invalid", f"{wanted}; received {type(weights_or_agents).__name__}")
        points = [Point({"item": index}, item) for index, item in enumerate(weights_or_agents)]
        make = None
    else:
        make = weights_or_agents
        if isinstance(make, str):
            make = StrategyOfName(make)
        if not callable(make):
            wanted = "`weights_or_agents` must be a callable that takes the params of a point, or a strategy's name"
            raise refusal("argument_invalid", f"{wanted}; received {type(make).__name__}")
        points = [Point(params, name=", ".join(f"{key}={params[key]}" for key in params)) for params in _params(grid)]
    if not points:
        raise refusal("argument_invalid", "a sweep must have at least one point; received none")
    return make, points


@dataclass(frozen=True)
class StrategyOfName:
    """The library strategies of the points; missing parameters take their defaults."""

    name: str

    def __call__(self, **params: Any) -> Strategy:
        return from_json({"strategy": self.name, "params": params})


def _params(grid: Any) -> list[Params]:
    if isinstance(grid, Mapping):
        if not grid:
            raise refusal("argument_invalid", "`grid` must have at least one parameter; received an empty dict")
        for name, values in grid.items():
            if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
                raise refusal("argument_invalid", f"`grid[{name!r}]` must be a list of values; received {values!r}")
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    points = list(grid)
    for index, params in enumerate(points):
        if not isinstance(params, Mapping):
            raise refusal("argument_invalid", f"`grid[{index}]` must be a dict of params; received {params!r}")
    return [dict(params) for params in points]
