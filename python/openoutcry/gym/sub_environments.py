"""Per-lane arguments of the vector environment: one value, or one per lane."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from openoutcry.arguments import checked_integer, costs_and_limits, is_integer, one_of, seed_of
from openoutcry.errors import refusal
from openoutcry.gym.episodes import Episodes, finite
from openoutcry.gym.market_arguments import limits_of
from openoutcry.gym.settings import INFOS, TERMS, WINDOWS, changed_episodes
from openoutcry.openoutcry_py import CostModel, Limits


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


def lane_seeds(seed: Any, is_reset: npt.NDArray[np.bool_], *, is_seeded: bool) -> list[int | None] | None:
    """Return new seeds of the lanes that are reset.

    None for a lane, or for all, continues their episodes.

    Args:
        seed: Seed of lane 0, where lane i has `seed + i`; or one per lane.
        is_reset: The lanes that are reset.
        is_seeded: Whether all lanes have a seed; otherwise the system draws one.

    Raises:
        OpenOutcryError: `argument_invalid`: the number of seeds is wrong, or a seed is invalid.
    """
    n, resets = is_reset.size, is_reset.tolist()
    if seed is None and is_seeded:
        return None
    if seed is None or is_integer(seed):
        first = secrets.randbelow(2**64 - n + 1) if seed is None else checked_integer("seed", seed, 0, 2**64 - n)
        return [first + i if of else None for i, of in enumerate(resets)]
    seeds = seed.tolist() if isinstance(seed, np.ndarray) else seed
    if not isinstance(seeds, (list, tuple)):
        raise refusal("argument_invalid", f"`seed` must be an integer, a list of seeds or None; received {seeds!r}")
    if len(seeds) != n:
        message = f"`seed` must be an integer, or a list of one seed per lane, `num_envs`={n}; received {len(seeds)}"
        raise refusal("argument_invalid", message)
    given = [None if each is None else seed_of(each) for each in seeds]
    drawn = [None if is_seeded else secrets.randbits(64) for _ in seeds]
    chosen = zip(given, drawn, resets, strict=True)
    return [(new if old is None else old) if of else None for old, new, of in chosen]


def started_streams(streams: Sequence[tuple[int, int]], seeds: Sequence[int | None] | None) -> list[tuple[int, int]]:
    """Return seed and next episode of each lane, after new seeds."""
    new = [None] * len(streams) if seeds is None else seeds
    return [old if seed is None else (seed, 0) for old, seed in zip(streams, new, strict=True)]


def batch_settings(no_trade_band: Any, max_episode_steps: Any, threads: Any, info: Any) -> dict[str, Any]:
    """Return checked settings of a batch by name."""
    most = max_episode_steps
    return {
        "no_trade_band": finite("no_trade_band", no_trade_band),
        "max_episode_steps": None if most is None else checked_integer("max_episode_steps", most, 1, 2**31 - 1),
        "records": one_of("info", info, INFOS) == "full",
        "threads": checked_integer("threads", threads, 1, 32),
    }


def mode_of(value: AutoresetMode | str) -> AutoresetMode:
    """Return the validated autoreset mode."""
    try:
        return AutoresetMode(value)
    except ValueError:
        modes = ", ".join(mode.value for mode in AutoresetMode)
        message = f"`autoreset_mode` must be an AutoresetMode, or one of {modes}; received {value!r}"
        raise refusal("argument_invalid", message) from None


def changed_lanes(
    options: Mapping[str, Any],
    known: tuple[Sequence[CostModel], Sequence[Limits], Episodes],
    mask: npt.NDArray[np.bool_] | None,
) -> tuple[tuple[CostModel, ...], tuple[Limits, ...], Episodes]:
    """Return costs, limits and windows of the lanes after the options of a reset.

    Args:
        options: Checked options; costs and limits are one value, or one per lane.
        known: Costs, limits and windows so far.
        mask: Lanes that are reset; None for all.
    """
    costs, limits, episodes = known
    chosen = np.ones(len(costs), dtype=np.bool_) if mask is None else mask
    if any(name in options for name in (*WINDOWS, "dataset")) and not chosen.all():
        message = "a window or a dataset needs a reset of all lanes, as lanes share markets and their windows"
        raise refusal("argument_invalid", f"{message}; received a mask of {int(chosen.sum())} of {len(chosen)}")
    given = lane_terms(options.get("costs"), options.get("limits"), None, None, len(costs))
    kept: list[tuple[Any, ...]] = [
        tuple(
            new if name in options and is_reset else old for new, old, is_reset in zip(news, olds, chosen, strict=True)
        )
        for name, news, olds in zip(TERMS, given, (costs, limits), strict=True)
    ]
    return kept[0], kept[1], changed_episodes(episodes, options)


def reset_mask(options: Mapping[str, Any], num_envs: int, *, is_seeded: bool) -> npt.NDArray[np.bool_] | None:
    """Return the lanes that a reset selects; None for all.

    Raises:
        OpenOutcryError: the mask is not an array of bool with one element per lane, or selects none; or the first reset
            does not select all.
    """
    if "reset_mask" not in options:
        return None
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.shape != (num_envs,) or mask.dtype != np.bool_:
        received = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
        message = f"`reset_mask` must be an array of bool and shape ({num_envs},); received {received}"
        raise refusal("shape_mismatch", message)
    if not mask.any():
        raise refusal("argument_invalid", "`reset_mask` must select at least one lane; received none")
    if not is_seeded and not mask.all():
        message = "the first `reset` must select all lanes"
        raise refusal("argument_invalid", f"{message}; received a mask of {int(mask.sum())}")
    return mask
