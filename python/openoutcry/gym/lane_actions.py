"""Actions of lanes in forms that the native batch does not read.

They are lists, integers, arrays with other layouts, and invalid numbers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry.arguments import is_frame, unmasked_array
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


def joined_holds(held: _Flags | None, hold: Any, shape: tuple[int, ...]) -> _Flags | None:
    """Return the symbols that an action or the caller holds; None for none.

    Raises:
        OpenOutcryError: `shape_mismatch`: the array of the caller has another shape or type.
    """
    if hold is None:
        return held
    mask = unmasked_array("hold", hold)
    if mask.shape != shape or mask.dtype != np.bool_:
        message = f"`hold` must be booleans of shape {shape}; received {mask.dtype} {mask.shape}"
        raise refusal("shape_mismatch", message)
    return mask if held is None else held | mask


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


def _array(error: OpenOutcryError, values: Any, shape: tuple[int, int], kinds: str) -> npt.NDArray[Any]:
    if is_frame(values):
        raise error
    array = unmasked_array("actions", values)
    if array.shape != shape or array.dtype.kind not in kinds:
        raise error
    return array


__all__ = ["joined_holds", "one_lane", "readable", "with_holds"]
