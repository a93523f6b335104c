"""Action schemes: how an action becomes target weights.

One function reads the actions of a single environment and of all lanes, so that both have the same weights to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from openoutcry.arguments import is_bool, is_frame, one_of, unmasked_array
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import MAX_ABS_WEIGHT, Limits

ACTIONS = ("weights", "parts", "softmax", "discrete", "multi-discrete", "bracket")
HOLD = "hold"
"""The level that keeps a position."""
SPAN = 5.0
"""Score of a softmax action of 1: the ratio of two weights is at most e^10, or 22,026."""
FLAT = 1e-4
"""Softmax weights below this are 0, so that a policy can close a position."""

_Numbers: TypeAlias = npt.NDArray[Any]
_Read: TypeAlias = "tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_] | None]"


class ActionScheme(Protocol):
    """Reads actions as target weights."""

    @property
    def space(self) -> spaces.Space[Any]:
        """Space of the action of one environment."""

    @property
    def brackets(self) -> npt.NDArray[np.float64] | None:
        """Distances of the exits of the actions read last.

        Shape `(n_lanes, n, 2)`; None without exits.
        """

    def read(self, actions: Any, n_lanes: int) -> _Read:
        """Return target weights, and the symbols to hold or None; both `(n_lanes, n)`.

        Raises:
            OpenOutcryError: the actions have the wrong shape or type, or a level is unknown.
        """

    def masks(self, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the valid choices of every lane, as MaskablePPO reads them.

        Args:
            listed: The symbols that can be traded, shape `(n_lanes, n)`.
        """


class Bracket:
    """Weight, stop distance and profit distance of each symbol.

    The distances are fractions of the last close in [-1, 1), 0 or less for none. A long position has its stop loss
    below the close and its take profit above it, a short one the reverse.

    Args:
        weights: Space of the weights.
    """

    def __init__(self, weights: spaces.Box) -> None:
        self._n = weights.shape[0]
        below_one = np.nextafter(np.float32(1.0), np.float32(0.0))
        low, high = (np.tile(np.array([[0.0, of, of]], np.float32), (self._n, 1)) for of in (-1.0, below_one))
        low[:, 0], high[:, 0] = weights.low, weights.high
        self.space = spaces.Box(low, high, (self._n, 3), np.float32)
        self.brackets: npt.NDArray[np.float64] | None = None

    def read(self, actions: Any, n_lanes: int) -> _Read:
        """Return the weights of actions of shape `(n_lanes, n, 3)`."""
        numbers = _numbers(actions, (n_lanes, self._n, 3))
        self.brackets = np.ascontiguousarray(numbers[:, :, 1:])
        return np.ascontiguousarray(numbers[:, :, 0]), None

    def masks(self, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Raise an error."""
        raise _without_masks("bracket")


class Parts:
    """Numbers in [-1, 1], in units of an equal part of NAV.

    The weight of a symbol is its number over the number of symbols, so that the gross is at most 1.
    """

    brackets = None

    def __init__(self, n_symbols: int, *, allows_short: bool) -> None:
        self._n = n_symbols
        self.space = spaces.Box(-1.0 if allows_short else 0.0, 1.0, (n_symbols,), np.float32)

    def read(self, actions: Any, n_lanes: int) -> _Read:
        """Return the weights of actions of shape `(n_lanes, n)`."""
        return _numbers(actions, (n_lanes, self._n)) / self._n, None

    def masks(self, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Raise an error."""
        raise _without_masks("parts")


class Softmax:
    """Weights of all symbols and of cash, cash last: at least 0, with the sum 1.

    They are proportional to the exponential of `SPAN` times the action.
    """

    brackets = None

    def __init__(self, n_symbols: int) -> None:
        self._n = n_symbols
        self.space = spaces.Box(-1.0, 1.0, (n_symbols + 1,), np.float32)

    def read(self, actions: Any, n_lanes: int) -> _Read:
        """Return the weights of actions of shape `(n_lanes, n + 1)`."""
        with np.errstate(over="ignore"):
            scores = SPAN * _numbers(actions, (n_lanes, self._n + 1))
        # The engine refuses NaN.
        scores[~np.isfinite(scores).all(axis=1)] = np.nan
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = powers[:, :-1] / powers.sum(axis=1, keepdims=True)
        weights[weights < FLAT] = 0.0
        return weights, None

    def masks(self, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Raise an error."""
        raise _without_masks("softmax")


class Levels:
    """Choices among levels.

    The weight of a symbol is its level over the number of symbols.

    Args:
        levels: Numbers, and at most one `hold`.
        n_symbols: Number of symbols.
        is_single: Whether an action is the level of the only symbol, without an axis of symbols.
    """

    brackets = None

    def __init__(self, levels: Sequence[float | str], n_symbols: int, *, is_single: bool) -> None:
        self._shape = () if is_single else (n_symbols,)
        self._n, self._hold = n_symbols, levels.index(HOLD) if HOLD in levels else None
        self._weights = np.array([0.0 if level == HOLD else float(level) / n_symbols for level in levels])
        n_levels = len(levels)
        self.space: spaces.Space[Any] = (
            spaces.Discrete(n_levels) if is_single else spaces.MultiDiscrete([n_levels] * n_symbols)
        )

    def read(self, actions: Any, n_lanes: int) -> _Read:
        """Return the weights of indices of levels, shape `(n_lanes,)` or `(n_lanes, n)`."""
        chosen, shape = _array(actions), (n_lanes, *self._shape)
        if chosen.dtype.kind not in "iu" or chosen.shape != shape:
            raise refusal("shape_mismatch", f"`actions` must be integers of shape {shape}; received {_shown(chosen)}")
        most = self._weights.size - 1
        if chosen.min() < 0 or chosen.max() > most:
            wrong = chosen[(chosen < 0) | (chosen > most)].flat[0]
            raise refusal("argument_invalid", f"`actions` must be indices of levels, 0 to {most}; received {wrong}")
        chosen = chosen.reshape(n_lanes, self._n)
        return self._weights[chosen], None if self._hold is None else chosen == self._hold

    def masks(self, listed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the valid levels, shape `(n_lanes, n * n_levels)`.

        A symbol that is not listed has one: `hold`, or else the level nearest to 0.
        """
        kept = int(np.abs(self._weights).argmin()) if self._hold is None else self._hold
        valid = np.repeat(listed[:, :, np.newaxis], self._weights.size, axis=2)
        valid[:, :, kept] = True
        return valid.reshape(len(listed), -1)


def brackets_of(scheme: ActionScheme | None) -> npt.NDArray[np.float64] | None:
    """Return the distances of the only lane that a scheme has read last.

    None without exits.
    """
    return None if scheme is None or scheme.brackets is None else scheme.brackets[0]


def weight_space(n_symbols: int, limits: Sequence[Limits]) -> spaces.Box:
    """Return the space of target weights within the widest of the limits."""
    top = _float32_below(min(max(each.max_weight for each in limits), MAX_ABS_WEIGHT))
    low = -top if any(each.allow_short for each in limits) else np.float32(0.0)
    return spaces.Box(low, top, (n_symbols,), np.float32)


def _float32_below(bound: float) -> np.float32:
    """Return the largest float32 that is at most `bound`.

    The nearest float32 may be above `bound`, and the engine would limit such a weight.
    """
    nearest = np.float32(bound)
    below: np.float32 = np.nextafter(nearest, np.float32(0.0))
    return nearest if float(nearest) <= bound else below


def action_scheme(action: Any, levels: Any, n_symbols: int, limits: Sequence[Limits]) -> ActionScheme | None:
    """Return the scheme of `action` and `levels`; None for target weights.

    Args:
        action: One of `ACTIONS`.
        levels: Levels of discrete actions; None for the widest that the limits allow: short, flat and long.
        n_symbols: Number of symbols.
        limits: Limits of the lanes.

    Raises:
        OpenOutcryError: an argument is invalid, or a level exceeds the limits.
    """
    kind = one_of("action", action, ACTIONS)
    if kind not in ("discrete", "multi-discrete"):
        if levels is not None:
            message = f"`levels` must be None unless `action` is discrete or multi-discrete; received {kind}"
            raise refusal("argument_invalid", message)
        if kind == "softmax":
            return Softmax(n_symbols)
        if kind == "bracket":
            return Bracket(weight_space(n_symbols, limits))
        return Parts(n_symbols, allows_short=any(each.allow_short for each in limits)) if kind == "parts" else None
    if kind == "discrete" and n_symbols != 1:
        hint = 'hint: action="multi-discrete" has one level per symbol'
        message = f"a discrete action needs a market of one symbol; received {n_symbols} symbols; {hint}"
        raise refusal("argument_invalid", message)
    return Levels(_levels(levels, n_symbols, limits), n_symbols, is_single=kind == "discrete")


def _levels(levels: Any, n_symbols: int, limits: Sequence[Limits]) -> list[float | str]:
    most = n_symbols * max(min(each.max_weight, each.max_gross) for each in limits)
    least = -most if any(each.allow_short for each in limits) else 0.0
    bounds = {(min(each.max_weight, each.max_gross), each.allow_short) for each in limits}
    if levels is None and len(bounds) > 1:
        message = "`levels` must be given if the limits of lanes differ, as their widest levels do"
        raise refusal("argument_invalid", f"{message}; received none; hint: levels=(0, 1)")
    if levels is None:
        levels = [0.0, min(most, 1.0)] if least == 0.0 else [max(least, -1.0), 0.0, min(most, 1.0)]
    if isinstance(levels, (str, bytes)) or not isinstance(levels, (Sequence, np.ndarray)):
        message = "`levels` must be a list of numbers, and at most one 'hold'"
        raise refusal("argument_invalid", f"{message}; received {levels!r}")
    found: list[float | str] = [each if isinstance(each, str) else _level(each) for each in levels]
    if len(set(found)) < len(found) or len(found) < 2 or {each for each in found if isinstance(each, str)} - {HOLD}:
        message = "`levels` must be at least two different numbers, one of them may be 'hold'"
        raise refusal("argument_invalid", f"{message}; received {levels!r}")
    for level in found:
        if not isinstance(level, str) and not least <= level <= most:
            message = f"`levels` must be {least:g} to {most:g}, the number of symbols times the limits on a weight"
            raise refusal("argument_invalid", f"{message}; received {level!r}")
    return found


def _level(value: Any) -> float:
    number = float(value) if not is_bool(value) and isinstance(value, (int, float, np.number)) else float("nan")
    if not np.isfinite(number):
        raise refusal("argument_invalid", f"`levels` must be finite numbers or 'hold'; received {value!r}")
    return number


def _array(actions: Any) -> _Numbers:
    if is_frame(actions):
        message = "`actions` must be an array; received a frame"
        raise refusal("shape_mismatch", message)
    return unmasked_array("actions", actions)


def _numbers(actions: Any, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    array = _array(actions)
    if array.dtype.kind not in "fiu" or array.shape != shape:
        raise refusal("shape_mismatch", f"`actions` must be numbers of shape {shape}; received {_shown(array)}")
    return array.astype(np.float64)


def _shown(array: _Numbers) -> str:
    return f"{array.dtype} {array.shape}"


def _without_masks(kind: str) -> Exception:
    message = f"`action_masks` needs discrete or multi-discrete actions; received {kind}"
    return refusal("argument_invalid", message)


__all__ = ["ACTIONS", "HOLD", "ActionScheme", "action_scheme"]
