"""Per-lane arguments of the vector environment: one value, or one per lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gymnasium.vector import AutoresetMode

from openoutcry.arguments import costs_and_limits, is_frame
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.gym.environment import Market, limits_of, market_of
from openoutcry.openoutcry_py import CostModel, Limits


def datasets_of(
    sizes: tuple[int | Market, int], seed: int, dataset: Market | Sequence[Market] | None, split: str, num_envs: int
) -> tuple[Dataset, ...]:
    """Return the datasets of the lanes; lane i trades the (i mod length)-th."""
    if isinstance(dataset, str) or not isinstance(dataset, Iterable) or is_frame(dataset):
        return (market_of(*sizes, seed, dataset, split),)
    markets = tuple(dataset)
    if not 1 <= len(markets) <= num_envs:
        message = f"`dataset` must be one market, or a sequence of 1 to `num_envs`={num_envs}"
        raise refusal("argument_invalid", f"{message}; received {len(markets)}")
    datasets = {id(market): market_of(*sizes, seed, market, split) for market in markets}
    return tuple(datasets[id(market)] for market in markets)


def lane_terms(
    costs: Any, limits: Any, max_weight: float | None, allow_short: bool | None, num_envs: int
) -> tuple[tuple[CostModel, ...], tuple[Limits, ...]]:
    """Return the costs and the limits of every lane."""
    lists = []
    for name, value in (("costs", costs), ("limits", limits)):
        values = list(value) if isinstance(value, Sequence) else [value] * num_envs
        if len(values) != num_envs:
            message = f"`{name}` must be one value, or a sequence of `num_envs`={num_envs}; received {len(values)}"
            raise refusal("argument_invalid", message)
        lists.append(values)
    if isinstance(costs, Sequence) or isinstance(limits, Sequence):
        pairs = [
            costs_and_limits(cost, limits_of(limit, max_weight, allow_short))
            for cost, limit in zip(*lists, strict=True)
        ]
    else:
        pairs = [costs_and_limits(costs, limits_of(limits, max_weight, allow_short))] * num_envs
    return tuple(cost for cost, _ in pairs), tuple(limit for _, limit in pairs)


def mode_of(value: AutoresetMode | str) -> AutoresetMode:
    """Return the validated autoreset mode."""
    try:
        return AutoresetMode(value)
    except ValueError:
        modes = ", ".join(mode.value for mode in AutoresetMode)
        message = f"`autoreset_mode` must be an AutoresetMode, or one of {modes}; received {value!r}"
        raise refusal("argument_invalid", message) from None
