"""The base classes of strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from openoutcry.arguments import check_row_names, checked_integer
from openoutcry.backtest.strategies import parameter_space, rolling_windows
from openoutcry.backtest.strategies.json_agent import StrategyAgent
from openoutcry.backtest.strategies.parameter_space import Ranges, Value
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

if TYPE_CHECKING:
    from openoutcry.backtest.strategies.candidate_file import CandidateFile
    from openoutcry.data.dataset import Dataset

MAX_LOOKBACK = 5000
"""Largest lookback of a strategy, in bars."""

_BLOCK_VALUES = 2**22


class Strategy(ABC):
    """Target weights as a pure function of a bounded window of closes.

    A subclass defines a docstring, whose first line is its description, `PARAM_RANGES`, `lookback` and `weights`.

    Args:
        params: Parameters that differ from their defaults.

    Attributes:
        PARAM_RANGES: Ranges of the parameters by name.
        NAME: Name in the library; empty for other strategies.
        params: All parameters, typed, in the order of their ranges.
        candidate_file: File of the candidate that the strategy was loaded from; a run warns of its holdout.

    Raises:
        OpenOutcryError: `argument_invalid`: a parameter is unknown, of the wrong type, out of range or not on its step;
            or the class has no docstring or no valid ranges.
    """

    PARAM_RANGES: ClassVar[Ranges]
    NAME: ClassVar[str] = ""
    candidate_file: CandidateFile | None = None

    def __init__(self, **params: Any) -> None:
        kind = type(self)
        if not (kind.__doc__ or "").strip():
            raise refusal("argument_invalid", f"a strategy must have a docstring; received `{kind.__name__}`")
        parameter_space.check_ranges(getattr(kind, "PARAM_RANGES", None))
        self.params: Mapping[str, Any] = MappingProxyType(parameter_space.typed(kind.PARAM_RANGES, params))

    @property
    @abstractmethod
    def lookback(self) -> int:
        """Number of closes that a decision needs."""

    @abstractmethod
    def weights(self, closes: Array) -> Array:
        """Return target weights, shape `(n_symbols,)`, float64, signed fractions of NAV.

        Args:
            closes: Closes of the observation, shape `(lookback, n_symbols)`, float64, oldest first. NaN before the
                listing of a symbol. A symbol that has settled, or has no close yet, is NaN throughout and must have
                weight 0.
        """

    def table(self, dataset: Dataset, start: int = 0, end: int | None = None) -> Array:
        """Return target weights of the bars `[start, end)`, shape `(n_bars, n_symbols)`.

        Row t is decided on the window that ends at bar t. A row is NaN, a hold, outside `[start, end)` and until a
        symbol has `lookback` closes.

        Raises:
            OpenOutcryError: `argument_invalid`, `weight_count`, `weight_not_finite`: the weights of a bar are invalid.
        """
        n_bars = dataset.n_bars
        end = checked_integer("end", n_bars if end is None else end, 0, n_bars, "window_invalid")
        start = checked_integer("start", start, 0, end, "window_invalid")
        lookback = self.checked_lookback()
        table = np.full((n_bars, dataset.n_symbols), np.nan)
        for first, last, closes in rolling_windows.histories(dataset):
            first, last = max(first, start, lookback - 1), min(last, end)
            if first < last:
                self._fill(table[first:last], rolling_windows.windows_of(closes, lookback, first, last))
        return table

    def _fill(self, rows: Array, ends: Array) -> None:
        for row, window in zip(rows, ends, strict=True):
            # The copy has the memory layout of an agent's window, so that numpy reductions add in the same order.
            closes = np.array(window, order="C")
            if has_full_history(closes):
                row[:] = self.decide(closes)

    def decide(self, closes: Array) -> Array:
        """Return the validated weights of a window.

        Raises:
            OpenOutcryError: `weight_count`, `weight_not_finite` or `argument_invalid`: the weights are invalid.
        """
        # Computed before the call, which may write into its window.
        is_listed = np.isfinite(closes[-1])
        return checked_weights(self.weights(closes), is_listed)

    def checked_lookback(self) -> int:
        """Return the validated `lookback`.

        Raises:
            OpenOutcryError: `argument_invalid`: `lookback` is not an integer from 1 to `MAX_LOOKBACK`.
        """
        return checked_integer("lookback", self.lookback, 1, MAX_LOOKBACK)

    def agent(self, symbols: Sequence[str]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Return a callable from observation to decision, for one run.

        Observations must hold at least `lookback` closes; the callable raises if they never will.

        Args:
            symbols: All symbols of the market, in market order.
        """
        return StrategyAgent(self.decide, self.checked_lookback(), symbols, self.name)

    @property
    def name(self) -> str:
        """Name in the library, else the name of the class."""
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
        """Return name and parameters as a JSON object.

        Equal strategies return equal objects.
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
        return _build, (type(self), dict(self.params), self.candidate_file)


class WindowStrategy(Strategy):
    """A vectorized strategy: one call decides many windows independently.

    A subclass defines `weigh` in place of `weights`. The weights of a window must not depend on the number of windows:
    compute sums over a window with the functions of `openoutcry.backtest.strategies.rolling_windows`.
    """

    @abstractmethod
    def weigh(self, ends: Array) -> Array:
        """Return the weights of windows, shape `(n, n_symbols)`.

        Args:
            ends: Windows, read-only, shape `(n, lookback, n_symbols)`; each is the `closes` of `weights`.
        """

    def weights(self, closes: Array) -> Array:
        """Return the weights of one window."""
        row: Array = self.weigh(np.asarray(closes, np.float64)[None])[0]
        return row

    def _fill(self, rows: Array, ends: Array) -> None:
        size = max(1, _BLOCK_VALUES // (ends.shape[1] * ends.shape[2]))
        for at in range(0, len(ends), size):
            block = ends[at : at + size]
            weights = checked_weights(self.weigh(block), np.isfinite(block[:, -1]))
            is_full = np.isfinite(block[:, 0]).any(axis=1)
            rows[at : at + size][is_full] = weights[is_full]


def _build(kind: type[Strategy], params: Mapping[str, Any], candidate_file: CandidateFile | None = None) -> Strategy:
    strategy = kind(**params)
    if candidate_file is not None:
        strategy.candidate_file = candidate_file
    return strategy


def has_full_history(closes: Array) -> bool:
    """Return whether at least one symbol has a close on every bar of the window."""
    return bool(np.isfinite(closes[0]).any())


def checked_weights(weights: Any, is_listed: rolling_windows.Mask) -> Array:
    """Return weights as float64 after validation.

    A weight must be finite, and 0 for a symbol without a close.

    Raises:
        OpenOutcryError: `weight_count`, `weight_not_finite` or `argument_invalid`: the weights are invalid.
    """
    try:
        array = np.asarray(weights)
    except Exception as error:
        raise refusal(
            "argument_invalid", f"weights must be an array; received {parameter_space.shown(weights)}"
        ) from error
    check_row_names("weights", weights)
    if array.dtype.kind not in "fiu":
        raise refusal("argument_invalid", f"weights must be numbers; received {array.dtype}")
    if array.shape != is_listed.shape:
        raise refusal(
            "weight_count", f"expected {counted(is_listed.shape[-1], 'weight')}, one per symbol; received {array.shape}"
        )
    checked: Array = array.astype(np.float64)
    if not np.isfinite(checked).all():
        place = tuple(np.argwhere(~np.isfinite(checked))[0])
        raise refusal("weight_not_finite", f"weights[{place[-1]}] must be finite; received {checked[place]}")
    if (checked[~is_listed] != 0.0).any():
        place = tuple(np.argwhere((checked != 0.0) & ~is_listed)[0])
        wanted = f"weights[{place[-1]}] must be 0 for a symbol without a close"
        raise refusal("argument_invalid", f"{wanted}; received {checked[place]}")
    return checked
