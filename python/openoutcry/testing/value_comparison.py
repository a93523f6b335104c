"""Messages for values that do not match a space or another value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

Array = npt.NDArray[Any]
_ARRAYS = (spaces.Box, spaces.MultiBinary, spaces.MultiDiscrete)


def space_mismatch(space: spaces.Space[Any], value: Any, name: str) -> str | None:
    """Return how a value is outside a space, or None."""
    if isinstance(space, spaces.Dict):
        if not isinstance(value, Mapping):
            return f"{name} must be a dict; received {type_name(value)}"
        if set(value) != set(space.spaces):
            return f"{name} must have the keys {sorted(space.spaces)}; received {sorted(value)}"
        return first_fault(space_mismatch(each, value[key], f"{name}[{key!r}]") for key, each in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        if not isinstance(value, tuple) or len(value) != len(space.spaces):
            return f"{name} must be a tuple of {len(space.spaces)}; received {type_name(value)}"
        return first_fault(space_mismatch(each, value[i], f"{name}[{i}]") for i, each in enumerate(space.spaces))
    if isinstance(space, _ARRAYS):
        if (fault := array_mismatch(value, space.dtype, space.shape, name)) is not None:
            return fault
        if isinstance(space, spaces.Box):
            inside = (value >= space.low) & (value <= space.high)
            if not inside.all():
                at = tuple(int(i) for i in np.argwhere(~inside)[0])
                bounds = f"from {space.low[at]} to {space.high[at]}"
                return f"{name}{list(at)} must be {bounds}, the bounds of its space; received {value[at]}"
    return None if space.contains(value) else f"{name} must be of {space}; received {value!r}"


def array_mismatch(value: Any, dtype: npt.DTypeLike, shape: tuple[int, ...], name: str) -> str | None:
    """Return how a value differs from an array of a dtype and shape, or None."""
    if isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape:
        return None
    return f"{name} must be an array {np.dtype(dtype).name} {shape}; received {type_name(value)}"


def difference(wanted: Any, received: Any, name: str) -> str | None:
    """Return where two values differ, to the bit, or None; NaN equals NaN."""
    if isinstance(wanted, Mapping) and isinstance(received, Mapping):
        if set(wanted) != set(received):
            return f"{name} must have the keys {sorted(wanted)}; received {sorted(received)}"
        return first_fault(difference(wanted[key], received[key], f"{name}[{key!r}]") for key in wanted)
    if isinstance(wanted, tuple | list) and isinstance(received, tuple | list):
        if len(wanted) != len(received):
            return f"{name} must have {len(wanted)} items; received {len(received)}"
        return first_fault(difference(wanted[i], received[i], f"{name}[{i}]") for i in range(len(wanted)))
    if isinstance(wanted, np.ndarray) and wanted.dtype == object:
        return difference(list(wanted), list(received), name)
    if isinstance(wanted, np.ndarray) and wanted.ndim:
        return array_mismatch(received, wanted.dtype, wanted.shape, name) or _first_unequal(wanted, received, name)
    same = np.array_equal(wanted, received) or (wanted != wanted and received != received)
    return None if same else f"{name} must be {wanted}; received {received}"


def runs_difference(wanted: Iterable[Mapping[str, Any]], received: Iterable[Mapping[str, Any]], run: str) -> str | None:
    """Return where two rollouts differ, or None; each call is a dict of its results."""
    for t, (a, b) in enumerate(zip_longest(wanted, received)):
        if a is None or b is None:
            return f"{run} must have the same length; received an end at call {t}"
        if set(a) != set(b):
            return f"call {t} of {run} must return {', '.join(a)}; received {', '.join(b)}"
        if (fault := first_fault(difference(a[key], b[key], key) for key in a)) is not None:
            return f"in call {t} of {run}, {fault}"
    return None


def _first_unequal(wanted: Array, received: Array, name: str) -> str | None:
    unequal = ~((wanted == received) | ((wanted != wanted) & (received != received)))
    if not unequal.any():
        return None
    at = tuple(int(i) for i in np.argwhere(unequal)[0])
    return f"{name}{list(at)} must be {wanted[at]}; received {received[at]}"


def arrays(value: Any, name: str) -> Iterator[tuple[str, Array]]:
    """Yield the arrays in nested dicts and tuples, with their names."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from arrays(each, f"{name}[{key!r}]")
    elif isinstance(value, tuple | list):
        for i, each in enumerate(value):
            yield from arrays(each, f"{name}[{i}]")


def type_name(value: Any) -> str:
    """Return the type of a value as text; for an array also dtype and shape."""
    return f"an array {value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def first_fault(faults: Iterator[str | None]) -> str | None:
    """Return the first fault of several, or None."""
    return next((fault for fault in faults if fault is not None), None)
