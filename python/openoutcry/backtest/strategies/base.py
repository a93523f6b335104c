"""The base classes of strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from openoutcry.arguments import whole
from openoutcry.backtest.strategies import parameter_space, rolling_windows
from openoutcry.backtest.strategies.json_agent import StrategyAgent
from openoutcry.backtest.strategies.parameter_space import Ranges, Value
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.errors import refusal

if TYPE_CHECKING:
    from openoutcry.data.dataset import Dataset

MAX_LOOKBACK = 5000
"""Closes that a strategy may need at most."""

_BLOCK_VALUES = 2**22


class Strategy(ABC):
    """Target weights as a pure function of a bounded window of closes.

    A concrete one has a docstring, whose first line describes it, `PARAM_RANGES`, `lookback` and `weights`.

    Args:
        params: Parameters that differ from their defaults.

    Attributes:
        PARAM_RANGES: Ranges of the parameters by name.
        NAME: What it is called where it is one of the library.
        params: All parameters, typed, in the order of their ranges.

    Raises:
        OpenOutcryError: `argument_invalid`: a parameter is unknown, of the wrong type, out of range or off its steps;
            or the class has no docstring or no valid ranges.
    """

    PARAM_RANGES: ClassVar[Ranges]
    NAME: ClassVar[str] = ""

    def __init__(self, **params: Any) -> None:
        kind = type(self)
        if not (kind.__doc__ or "").strip():
            raise refusal("argument_invalid", f"a strategy must have a docstring; received `{kind.__name__}`")
        parameter_space.check_ranges(getattr(kind, "PARAM_RANGES", None))
        self.params: Mapping[str, Any] = MappingProxyType(parameter_space.typed(kind.PARAM_RANGES, params))

    @property
    @abstractmethod
    def lookback(self) -> int:
        """Closes that a decision needs."""

    @abstractmethod
    def weights(self, closes: Array) -> Array:
        """Return target weights, shape `(n_symbols,)`, float64, signed fractions of NAV.

        Args:
            closes: What the observation of a bar shows: shape `(lookback, n_symbols)`, float64, oldest first. NaN where
                a symbol was not yet listed; a symbol that has settled, or never closed, is NaN throughout and has
                weight 0.
        """

    def table(self, dataset: Dataset, start: int = 0, end: int | None = None) -> Array:
        """Return target weights of the bars `[start, end)`.

        Their shape is `(n_bars, n_symbols)`, as `run_backtest` takes them. Row t is decided on the window that ends
        at t. It is NaN, a hold, outside `[start, end)` and while no symbol has shown `lookback` closes.

        Raises:
            OpenOutcryError: `argument_invalid`, `weight_count` or `weight_not_finite`: the weights of a bar are none.
        """
        n_bars = dataset.n_bars
        end = whole("end", n_bars if end is None else end, 0, n_bars, "window_invalid")
        start = whole("start", start, 0, end, "window_invalid")
        lookback = self.checked_lookback()
        table = np.full((n_bars, dataset.n_symbols), np.nan)
        for first, last, closes in rolling_windows.histories(dataset):
            first, last = max(first, start, lookback - 1), min(last, end)
            if first < last:
                self._fill(table[first:last], rolling_windows.windows_of(closes, lookback, first, last))
        return table

    def _fill(self, rows: Array, ends: Array) -> None:
        for row, window in zip(rows, ends, strict=True):
            # A copy: the same layout as an agent's, so that the reductions of numpy add in the same order.
            closes = np.array(window, order="C")
            if has_begun(closes):
                row[:] = self.decide(closes)

    def decide(self, closes: Array) -> Array:
        """Return the weights of a window, checked.

        Raises:
            OpenOutcryError: `weight_count`, `weight_not_finite` or `argument_invalid`: they are none.
        """
        # Before the call, which may write into its window.
        is_shown = np.isfinite(closes[-1])
        return checked(self.weights(closes), is_shown)

    def checked_lookback(self) -> int:
        """Return `lookback`, if that is a number of closes.

        Raises:
            OpenOutcryError: `argument_invalid`: it is none.
        """
        return whole("lookback", self.lookback, 1, MAX_LOOKBACK)

    def agent(self, symbols: Sequence[str]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Return a callable from observation to decision, for one run.

        Observations must show `lookback` closes at least; the callable refuses those that never will.

        Args:
            symbols: All symbols of the market, in its order.
        """
        return StrategyAgent(self.decide, self.checked_lookback(), symbols, self.name)

    @property
    def name(self) -> str:
        """Name in the library, or of the class."""
        return self.NAME or type(self).__name__

    @classmethod
    def describe(cls) -> str:
        """Return the first line of the docstring."""
        return (cls.__doc__ or "").strip().partition("\n")[0]

    @classmethod
    def defaults(cls) -> dict[str, Value]:
        """Return the default of each parameter."""
        return parameter_space.typed(cls.PARAM_RANGES, {})

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters as JSON can carry them.

        Equal strategies return equal values.
        """
        return {"strategy": self.name, "params": dict(self.params)}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Strategy) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def _key(self) -> tuple[tuple[str, type, Any], ...]:
        return tuple((name, type(value), value) for name, value in self.params.items())

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> Any:
        return _again, (type(self), dict(self.params))


class WindowStrategy(Strategy):
    """A strategy that decides many windows at once, each as if it were the only one.

    A concrete one has `weigh` in place of `weights`. No number may depend on how many windows there are: over a window,
    add up by the functions of `openoutcry.backtest.strategies.rolling_windows`.
    """

    @abstractmethod
    def weigh(self, ends: Array) -> Array:
        """Return the weights of windows, shape `(n, n_symbols)`.

        Args:
            ends: Windows, read-only, shape `(n, lookback, n_symbols)`, each as `weights` has it.
        """

    def weights(self, closes: Array) -> Array:
        """Return the weights of one window."""
        row: Array = self.weigh(np.asarray(closes, np.float64)[None])[0]
        return row

    def _fill(self, rows: Array, ends: Array) -> None:
        size = max(1, _BLOCK_VALUES // (ends.shape[1] * ends.shape[2]))
        for at in range(0, len(ends), size):
            block = ends[at : at + size]
            weights = checked(self.weigh(block), np.isfinite(block[:, -1]))
            began = np.isfinite(block[:, 0]).any(axis=1)
            rows[at : at + size][began] = weights[began]


def _again(kind: type[Strategy], params: Mapping[str, Any]) -> Strategy:
    return kind(**params)


def has_begun(closes: Array) -> bool:
    """Return whether a symbol shows a close in every bar of a window."""
    return bool(np.isfinite(closes[0]).any())


def checked(weights: Any, is_shown: rolling_windows.Mask) -> Array:
    """Return weights, if that is what they are.

    They are a finite number a symbol, 0 where it is not shown.

    Raises:
        OpenOutcryError: `weight_count`, `weight_not_finite` or `argument_invalid`.
    """
    try:
        array = np.asarray(weights)
    except Exception as error:
        raise refusal(
            "argument_invalid", f"weights must be an array; received {parameter_space.shown(weights)}"
        ) from error
    if array.dtype.kind not in "fiu":
        raise refusal("argument_invalid", f"weights must be numbers; received {array.dtype}")
    if array.shape != is_shown.shape:
        raise refusal("weight_count", f"expected {is_shown.shape[-1]} weights, one per symbol; received {array.shape}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        place = tuple(np.argwhere(~np.isfinite(array))[0])
        raise refusal("weight_not_finite", f"weights[{place[-1]}] must be finite; received {array[place]}")
    if (array[~is_shown] != 0.0).any():
        index = int(np.argwhere((array != 0.0) & ~is_shown)[0][-1])
        raise refusal("argument_invalid", f"weights[{index}] must be 0, of a symbol without a close; received another")
    found: Array = array
    return found
