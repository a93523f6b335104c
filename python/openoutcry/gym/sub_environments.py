"""Arguments of a vector environment: one for all lanes, or one a lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from gymnasium.vector import AutoresetMode

from openoutcry.arguments import costs_and_limits
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.gym.environment import limits_of, market_of
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

Market: TypeAlias = Dataset | Scenario | ScenarioSpec | str


def datasets_of(
    sizes: tuple[int, int], seed: int, dataset: Market | Sequence[Market] | None, split: str, num_envs: int
) -> tuple[Dataset, ...]:
    """Return the markets of the lanes; the (i mod their number)-th is lane i's."""
    if isinstance(dataset, str) or not isinstance(dataset, Iterable):
        return (market_of(*sizes, seed, dataset, split),)
    given = tuple(dataset)
    if not 1 <= len(given) <= num_envs:
        message = f"`dataset` must be one, or a sequence of 1 to {num_envs}, the number of lanes"
        raise refusal("argument_invalid", f"{message}; received {len(given)}")
    made = {id(each): market_of(*sizes, seed, each, split) for each in given}
    return tuple(made[id(each)] for each in given)


def lane_terms(
    costs: Any, limits: Any, max_weight: float | None, allow_short: bool | None, num_envs: int
) -> tuple[tuple[CostModel, ...], tuple[Limits, ...]]:
    """Return the costs and the limits of every lane."""
    lists = []
    for name, given in (("costs", costs), ("limits", limits)):
        each = list(given) if isinstance(given, Sequence) else [given] * num_envs
        if len(each) != num_envs:
            message = f"`{name}` must be one, or a sequence of {num_envs}, one a lane; received {len(each)}"
            raise refusal("argument_invalid", message)
        lists.append(each)
    if isinstance(costs, Sequence) or isinstance(limits, Sequence):
        pairs = [costs_and_limits(c, limits_of(each, max_weight, allow_short)) for c, each in zip(*lists, strict=True)]
    else:
        pairs = [costs_and_limits(costs, limits_of(limits, max_weight, allow_short))] * num_envs
    return tuple(c for c, _ in pairs), tuple(each for _, each in pairs)


def mode_of(value: AutoresetMode | str) -> AutoresetMode:
    """Return what happens to a lane whose episode has ended."""
    try:
        return AutoresetMode(value)
    except ValueError:
        modes = ", ".join(mode.value for mode in AutoresetMode)
        message = f"`autoreset_mode` must be an AutoresetMode, or one of {modes}; received {value!r}"
        raise refusal("argument_invalid", message) from None
