"""Actions of lanes in forms that the native batch does not read.

They are lists, integers, arrays with other layouts, and invalid numbers.
"""

from __future__ import annotations

import secrets
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry.arguments import checked_integer, is_frame, is_integer, seed_of, unmasked_array
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

_Flags: TypeAlias = npt.NDArray[np.bool_]


def readable(error: OpenOutcryError, actions: Any, hold: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Return actions and holds as C-contiguous arrays of float64 and bool.

    Args:
        error: Error of the batch; raised if the arrays are not numbers of the shape, or already have that form.
        actions: Target weights.
        hold: Symbols to hold, or None.
        shape: Lanes and symbols.
    """
    weights, mask = _array(error, actions, shape, "fiu"), None if hold is None else _array(error, hold, shape, "b")
    is_read = weights is actions and actions.dtype in (np.float32, np.float64) and actions.flags.c_contiguous
    if is_read and (mask is None or (mask is hold and mask.flags.c_contiguous)):
        raise error
    # Widening is exact: the weights equal those of the scalar environment.
    kept = weights if is_read else np.ascontiguousarray(weights, dtype=np.float64)
    return kept, None if mask is None else np.ascontiguousarray(mask)


def hold_mask(hold: Any, shape: tuple[int, ...]) -> _Flags:
    """Return the symbols to hold as an array of bool.

    Raises:
        OpenOutcryError: `shape_mismatch`: the array has another shape or type.
    """
    mask = unmasked_array("hold", hold)
    if mask.shape != shape or mask.dtype != np.bool_:
        message = f"`hold` must be booleans of shape {shape}; received {mask.dtype} {mask.shape}"
        raise refusal("shape_mismatch", message)
    return mask


def one_lane(action: npt.NDArray[Any], space: spaces.Space[Any]) -> npt.NDArray[Any]:
    """Return an action as that of one lane; the index of a level may have an axis."""
    if isinstance(space, spaces.Discrete) and action.shape == (1,):
        return action
    return action[np.newaxis]


def with_holds(actions: npt.NDArray[Any], hold: _Flags | None) -> tuple[npt.NDArray[Any], _Flags, _Flags]:
    """Return actions that hold lanes with an invalid number, the holds, and the lanes."""
    invalid: _Flags = ~np.isfinite(actions).all(axis=1)
    rows = invalid[:, np.newaxis]
    weights = np.where(rows, actions.dtype.type(0), actions)
    return weights, np.broadcast_to(rows, actions.shape) | (False if hold is None else hold), invalid


def lane_seeds(seed: Any, is_reset: _Flags, *, is_seeded: bool) -> list[int | None] | None:
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
        message = f"`seed` must be an integer, or a list of `num_envs`={n} seeds; received {len(seeds)}"
        raise refusal("argument_invalid", message)
    given = [None if each is None else seed_of(each) for each in seeds]
    drawn = [None if is_seeded else secrets.randbits(64) for _ in seeds]
    chosen = zip(given, drawn, resets, strict=True)
    return [(new if old is None else old) if of else None for old, new, of in chosen]


def _array(error: OpenOutcryError, values: Any, shape: tuple[int, int], kinds: str) -> npt.NDArray[Any]:
    if is_frame(values):
        raise error
    array = unmasked_array("actions", values)
    if array.shape != shape or array.dtype.kind not in kinds:
        raise error
    return array


__all__ = ["hold_mask", "lane_seeds", "one_lane", "readable", "with_holds"]
