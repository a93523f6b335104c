"""Arrays that the steps of a batch are written into, and their bindings."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

_Flags: TypeAlias = npt.NDArray[np.bool_]

# The binding of arrays that a step writes into, and the arrays: observation, rewards, terminations, truncations and
# resets. A bare tuple: Python takes a named one apart at a third of the speed.
Slot: TypeAlias = tuple[native.Buffers, Any, npt.NDArray[np.float64], _Flags, _Flags, _Flags]
# The same with the place of the one that is written after it.
Turn: TypeAlias = tuple[native.Buffers, Any, npt.NDArray[np.float64], _Flags, _Flags, _Flags, int]

_PARTS = ("closes", "listed", "positions", "cash")
# Bytes of a line of the caches.
_LINE = 64


def slot_of(kind: str, lanes: int, space: spaces.Space[Any], out: Any = None) -> Slot:
    """Return arrays that a step can write into, `out` being those of the observation.

    Raises:
        OpenOutcryError: `out` does not fit.
    """
    results = _results(lanes)
    if out is not None:
        _check(out, lanes, space)
    elif isinstance(space, spaces.Dict):
        out = {name: np.zeros((lanes, *(part.shape or ())), part.dtype) for name, part in space.spaces.items()}
    else:
        out = np.zeros((lanes, *(space.shape or ())), space.dtype)
    if kind == "flat":
        bound = native.Buffers.flat(out, results)
    elif kind == "cursor":
        bound = native.Buffers.cursor(out["cursor"], out["account"], results)
    else:
        bound = native.Buffers.dict([out[name] for name in _PARTS], out.get("history"), results)
    return bound, out, *results


def turns_of(core: native.Batch, kind: str, lanes: int, space: spaces.Space[Any]) -> list[Turn]:
    """Return slots to write by turns.

    They are of two sets of arrays: one is written while the other is still looked at.
    """
    sets = [_sliding(core, lanes, space) if kind == "flat" else [slot_of(kind, lanes, space)] for _ in range(2)]
    slots = [slot for pair in zip(*sets, strict=True) for slot in pair]
    return [(*slot, (i + 1) % len(slots)) for i, slot in enumerate(slots)]


def _sliding(core: native.Batch, lanes: int, space: spaces.Space[Any]) -> list[Slot]:
    """Return a slot a turn, of one set of arrays that flat observations slide along."""
    (row_len, begins), (width,) = core.slides, space.shape or ()
    # Rows begin where lines of the caches do.
    room = np.empty(lanes * row_len + _LINE // 4 - 1, dtype=np.float32)
    skipped = -room.ctypes.data % _LINE // 4
    rows = room[skipped : skipped + lanes * row_len].reshape(lanes, row_len)
    results = _results(lanes)
    slots: list[Slot] = []
    for begin, bound in zip(begins, native.Buffers.sliding(core, rows, results), strict=True):
        seen = rows[:, begin : begin + width]
        # Most of it is seen again: who normalises in place would change what later steps show.
        seen.flags.writeable = False
        slots.append((bound, seen, *results))
    return slots


def _results(lanes: int) -> tuple[npt.NDArray[np.float64], _Flags, _Flags, _Flags]:
    """Return arrays of rewards, terminations, truncations and resets."""
    terminations, truncations, reset = (np.zeros(lanes, dtype=np.bool_) for _ in range(3))
    return np.zeros(lanes), terminations, truncations, reset


def _check(out: Any, lanes: int, space: spaces.Space[Any]) -> None:
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


__all__ = ["Slot", "Turn", "slot_of", "turns_of"]
