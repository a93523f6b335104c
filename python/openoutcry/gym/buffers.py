"""Output buffers of the vector environment and their native bindings."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

_Flags: TypeAlias = npt.NDArray[np.bool_]

# The native binding of a buffer set, and its arrays: observation, rewards, terminations, truncations and resets.
# A plain tuple: Python unpacks it three times as fast as a named one.
BufferSet: TypeAlias = tuple[native.Buffers, Any, npt.NDArray[np.float64], _Flags, _Flags, _Flags]
# The parts of a buffer set, and the rotating set that the next step writes into.
RotatingSet: TypeAlias = list[Any]

_PARTS = ("closes", "listed", "positions", "cash")
_OPTIONAL = ("history", "features", "market_features")
# Bytes of a cache line.
_LINE = 64


def allocate_buffers(kind: str, lanes: int, space: spaces.Space[Any], out: Any = None) -> BufferSet:
    """Return a buffer set for a step; `out` is the observation, or None for a new one.

    Raises:
        OpenOutcryError: `shape_mismatch`: `out` does not fit the observation space.
    """
    results = _results(lanes)
    if out is not None:
        _check_out(out, lanes, space)
    elif isinstance(space, spaces.Dict):
        out = {name: np.zeros((lanes, *(part.shape or ())), part.dtype) for name, part in space.spaces.items()}
    else:
        out = np.zeros((lanes, *(space.shape or ())), space.dtype)
    if kind == "flat":
        bound = native.Buffers.flat(out, results)
    elif kind == "cursor":
        bound = native.Buffers.cursor(out["cursor"], out["account"], results)
    else:
        shape = out["closes"].shape
        # The mask is written in any case.
        parts = [out.get(name, np.empty(shape, np.int8)) for name in _PARTS]
        optional = [out.get(name) for name in _OPTIONAL]
        if optional[0] is not None:
            optional[0] = optional[0].reshape(lanes, optional[0].shape[1], -1)
        bound = native.Buffers.dict(parts, optional, results)
    return bound, out, *results


def allocate_rotating_sets(
    core: native.Batch, kind: str, lanes: int, space: spaces.Space[Any], *, slides: bool
) -> RotatingSet:
    """Return the first of the buffer sets that steps write into in rotation.

    There are two groups of arrays, so that a learner can still read one while the other is written. Flat observations
    slide over longer rows if every lane keeps its market.
    """
    groups = [
        _sliding_buffers(core, lanes, space) if kind == "flat" and slides else [allocate_buffers(kind, lanes, space)]
        for _ in range(2)
    ]
    sets: list[RotatingSet] = [[*buffers] for pair in zip(*groups, strict=True) for buffers in pair]
    for buffers, following in zip(sets, sets[1:] + sets[:1], strict=True):
        buffers.append(following)
    return sets[0]


def _sliding_buffers(core: native.Batch, lanes: int, space: spaces.Space[Any]) -> list[BufferSet]:
    """Return buffer sets over one array, with sliding windows as observations."""
    (row_len, starts), (width,) = core.sliding_layout, space.shape or ()
    # Rows are aligned to cache lines.
    memory = np.empty(lanes * row_len + _LINE // 4 - 1, dtype=np.float32)
    skipped = -memory.ctypes.data % _LINE // 4
    rows = memory[skipped : skipped + lanes * row_len].reshape(lanes, row_len)
    results = _results(lanes)
    sets: list[BufferSet] = []
    for start, bound in zip(starts, native.Buffers.sliding(core, rows, results), strict=True):
        observation = rows[:, start : start + width]
        # Later observations share most of this memory: normalizing it in place would change them.
        observation.flags.writeable = False
        sets.append((bound, observation, *results))
    return sets


def _results(lanes: int) -> tuple[npt.NDArray[np.float64], _Flags, _Flags, _Flags]:
    """Return new arrays of rewards, terminations, truncations and resets."""
    terminations, truncations, reset = (np.zeros(lanes, dtype=np.bool_) for _ in range(3))
    return np.zeros(lanes), terminations, truncations, reset


def _check_out(out: Any, lanes: int, space: spaces.Space[Any]) -> None:
    parts = dict(space.spaces) if isinstance(space, spaces.Dict) else {"": space}
    given = out if isinstance(space, spaces.Dict) else {"": out}
    if not isinstance(given, dict) or set(given) != set(parts):
        names = ", ".join(parts)
        received = ", ".join(map(str, given)) if isinstance(given, dict) else type(given).__name__
        raise refusal("shape_mismatch", f"`out` must be a dict of {names}; received {received}")
    for name, part in parts.items():
        array, wanted = given[name], (lanes, *(part.shape or ()))
        shown = f"`out[{name!r}]`" if name else "`out`"
        if not isinstance(array, np.ndarray) or array.shape != wanted or array.dtype != part.dtype:
            received = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            message = f"{shown} must be an array of {part.dtype} and shape {wanted}; received {received}"
            raise refusal("shape_mismatch", message)


__all__ = ["BufferSet", "RotatingSet", "allocate_buffers", "allocate_rotating_sets"]
