"""Strategies of generated code, run where they can do no harm.

`load_strategy_from_code` is the only way from a source to a strategy. This process reads the source and never executes
it: what comes back is a proxy, whose windows go to a worker in the sandbox, one bar after the other. The worker is sent
the source once it is locked in, so that not a file of it is needed anywhere, and has nothing of the market but the
closes up to the bar that it is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from openoutcry.arguments import whole
from openoutcry.backtest.strategies import Strategy, parameter_space, rolling_windows
from openoutcry.backtest.strategies.base import MAX_LOOKBACK, has_begun
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.errors import refusal
from openoutcry.harness.sandbox import Tier
from openoutcry.research.sandboxed_worker import Allowance, SandboxedWorker, check_tier, start
from openoutcry.research.source_checks import Checked, check_source

if TYPE_CHECKING:
    from openoutcry.data.dataset import Dataset

__all__ = ["Allowance", "CodeStrategy", "load_strategy_from_code"]


def load_strategy_from_code(
    source: str,
    params: Mapping[str, Any] | None = None,
    *,
    least: Tier = Tier.T2,
    unsafe_no_isolation: bool = False,
    allowance: Allowance | None = None,
) -> CodeStrategy:
    """Return a proxy for the strategy of a source, which is constructed in a worker.

    Args:
        source: Python that `check_source` accepts.
        params: Parameters that differ from their defaults.
        least: Tier that the sandbox must reach; below T2 there is none.
        unsafe_no_isolation: Run the source with all rights of this process where no sandbox is to be had. Whatever comes
            of it says `isolation: none`.
        allowance: What a worker may take.

    Raises:
        OpenOutcryError: `argument_invalid`: the source or a parameter is not what it must be, this machine does not
            reach the tier, or the strategy cannot be constructed.
        AgentError: the worker died, was late, or said what is no answer.
    """
    checked = check_source(source)
    typed = parameter_space.typed(checked.ranges, {} if params is None else params)
    tier = None if unsafe_no_isolation else max(least, Tier.T2)
    check_tier(tier)
    members = {"PARAM_RANGES": checked.ranges, "__doc__": checked.description}
    kind: type[CodeStrategy] = type(checked.class_name, (CodeStrategy,), members)
    return kind(checked, typed, tier, allowance or Allowance())


class CodeStrategy(Strategy):
    """A strategy in a sandbox, asked bar by bar. Made by `load_strategy_from_code`.

    Every `table` is made by a worker of its own, so that no table depends on what was asked before.

    Attributes:
        checked: What was read of the source.
        isolation: `T2` or `T3`, the tier of the sandbox; `none` outside of it.
    """

    PARAM_RANGES: ClassVar[parameter_space.Ranges] = {}

    def __init__(self, checked: Checked, params: Mapping[str, Any], tier: Tier | None, allowance: Allowance) -> None:
        self.checked = checked
        self.params = MappingProxyType(dict(params))
        self._tier, self._allowance = tier, allowance
        self._lookback: int | None = None
        with self._worker() as (worker, lookback):
            self._lookback = lookback
            self.isolation = worker.isolation

    @property
    def lookback(self) -> int:
        """Closes that a decision needs, as the worker says."""
        assert self._lookback is not None, "it was constructed"
        return self._lookback

    def weights(self, closes: Array) -> Array:
        """Return the weights of one window, from a worker of its own."""
        with self._worker() as (worker, _):
            return worker.ask_window(closes)

    def with_params(self, params: Mapping[str, Any]) -> CodeStrategy:
        """Return the same source with other parameters."""
        return type(self)(self.checked, parameter_space.typed(self.checked.ranges, params), self._tier, self._allowance)

    def table(self, dataset: Dataset, start: int = 0, end: int | None = None) -> Array:
        """Return target weights as `Strategy.table` does, asked bar by bar.

        Raises:
            OpenOutcryError: `argument_invalid`, `weight_count` or `weight_not_finite`: what was answered are no
                weights.
            AgentError: the worker died, was late, or said what is no answer.
        """
        with self._worker() as (worker, _):
            return self._table(worker, dataset, start, end)

    def last_rows(self, cuts: Sequence[tuple[Dataset, int]]) -> list[Array]:
        """Return the weights of one bar of each of some markets, all asked of one worker."""
        with self._worker() as (worker, _):
            return [self._table(worker, dataset, bar, bar + 1)[bar] for dataset, bar in cuts]

    def _table(self, worker: SandboxedWorker, dataset: Dataset, start: int, end: int | None) -> Array:
        n_bars, lookback = dataset.n_bars, self.lookback
        end = whole("end", n_bars if end is None else end, 0, n_bars, "window_invalid")
        start = whole("start", start, 0, end, "window_invalid")
        table = np.full((n_bars, dataset.n_symbols), np.nan)
        for first, last, closes in rolling_windows.histories(dataset):
            # What is sent after a split is a new window, all of which it has changed.
            is_known = False
            for bar in range(max(first, start, lookback - 1), min(last, end)):
                window = closes[bar + 1 - lookback : bar + 1]
                if has_begun(window):
                    table[bar] = worker.ask_row(window) if is_known else worker.ask_window(window)
                    is_known = True
        return table

    def to_json(self) -> dict[str, Any]:
        """Return name, parameters and the hashes of the source."""
        hashes = {"source": self.checked.exact, "normalised": self.checked.normalised}
        return super().to_json() | hashes | {"isolation": self.isolation}

    @contextmanager
    def _worker(self) -> Iterator[tuple[SandboxedWorker, int]]:
        with start(self._tier, self._allowance) as worker:
            lookback = whole("lookback", worker.make(self.checked.source, self.params), 1, MAX_LOOKBACK)
            if self._lookback not in (None, lookback):
                wanted = "`lookback` must depend on parameters alone"
                raise refusal("argument_invalid", f"{wanted}; received {self._lookback}, then {lookback}")
            yield worker, lookback

    def _key(self) -> tuple[tuple[str, type, Any], ...]:
        return ("", str, self.checked.exact), *super()._key()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodeStrategy) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return _again, (self.checked.source, dict(self.params), self._tier, self._allowance)


def _again(source: str, params: Mapping[str, Any], tier: Tier | None, allowance: Allowance) -> CodeStrategy:
    least = Tier.T2 if tier is None else tier
    return load_strategy_from_code(source, params, least=least, unsafe_no_isolation=tier is None, allowance=allowance)
