"""Validation of the arrays of views; a view with inconsistent data is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "require_nav", "require_share", "require_values"]

Floats = npt.NDArray[np.float64]


def require_values(name: str, values: npt.NDArray[Any], shape: tuple[int, ...], *, gaps: bool = False) -> None:
    """Refuse an array of another shape, or with a value that is not finite.

    Args:
        name: Name of the array in the message.
        values: The array.
        shape: The shape it must have.
        gaps: Whether NaN is allowed; an infinity never is.
    """
    if values.shape != shape:
        raise ValueError(f"`{name}` must have shape {shape}; received {values.shape}")
    # The sum of finite values is finite, unless it is too large, and is found faster than the values that are not.
    with np.errstate(over="ignore", invalid="ignore"):
        if not gaps and np.isfinite(values.sum()):
            return
    wrong = np.isinf(values) if gaps else ~np.isfinite(values)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"`{name}` must be finite; received {values[index]} at {index}")


def require_nav(name: str, nav: Floats) -> None:
    """Refuse a NAV that does not start at 1, or that is negative."""
    if nav[0] != 1.0:
        raise ValueError(f"`{name}` must start at 1.0; received {nav[0]}")
    if nav.min() < 0.0:
        raise ValueError(f"`{name}` must not be negative; received {nav.min()}")


def require_share(name: str, value: float | None) -> None:
    """Refuse a value outside 0 to 1; `None` is undefined and passes."""
    if value is not None and not 0.0 <= value <= 1.0:
        raise ValueError(f"`{name}` must lie in 0 to 1; received {value}")
