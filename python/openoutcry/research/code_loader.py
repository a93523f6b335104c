"""Strategies from generated code, run in the sandbox.

`load_strategy_from_code` is the only way from source to strategy. This process parses the source and never executes it.
It returns a proxy that sends one window of closes per bar to a sandboxed worker. The worker receives the source after
the sandbox is in place, so it needs no access to files, and sees only closes up to the bar that it decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from openoutcry.arguments import checked_integer
from openoutcry.backtest.strategies import Strategy, parameter_space, rolling_windows
from openoutcry.backtest.strategies.base import MAX_LOOKBACK, has_full_history
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.errors import refusal
from openoutcry.harness.sandbox import Tier
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.sandboxed_worker import SandboxedWorker, WorkerLimits, check_tier, start
from openoutcry.research.source_checks import CheckedSource, check_source
from openoutcry.research.strategy_faults import fault_of

if TYPE_CHECKING:
    from openoutcry.backtest.strategies.candidate_file import CandidateFile
    from openoutcry.data.dataset import Dataset

__all__ = ["CodeStrategy", "WorkerLimits", "load_strategy_from_code"]


def load_strategy_from_code(
    source: str,
    params: Mapping[str, Any] | None = None,
    *,
    least: Tier = Tier.T2,
    unsafe_no_isolation: bool = False,
    worker_limits: WorkerLimits | None = None,
    earlier_gates: bool = False,
) -> CodeStrategy:
    """Return a proxy for the strategy of a source.

    The strategy itself is constructed in a worker.

    Args:
        source: Python source that `check_source` accepts.
        params: Parameters that differ from their defaults.
        least: Minimum sandbox tier; at least T2.
        unsafe_no_isolation: Run the source with all rights of this process if no sandbox is available. Every result
            records `isolation: none`.
        worker_limits: Resource limits of a worker.
        earlier_gates: Apply the budgets of gates before version 5, as a source that was accepted then requires.

    Raises:
        OpenOutcryError: `argument_invalid`: the source or a parameter is invalid, this machine does not reach the tier,
            or the strategy cannot be constructed.
        AgentError: the worker died, timed out, or sent an invalid response.
    """
    checked = check_source(source, earlier_gates=earlier_gates)
    typed = parameter_space.typed(checked.ranges, {} if params is None else params)
    tier = None if unsafe_no_isolation else max(least, Tier.T2)
    check_tier(tier)
    members = {"PARAM_RANGES": checked.ranges, "__doc__": checked.description}
    kind: type[CodeStrategy] = type(checked.class_name, (CodeStrategy,), members)
    return kind(checked, typed, tier, worker_limits or WorkerLimits())


class CodeStrategy(Strategy):
    """A strategy that runs in a sandbox, one request per bar.

    Create it with `load_strategy_from_code`.

    Every `table` uses a new worker, so a table does not depend on earlier calls.

    Attributes:
        checked: The checked source.
        isolation: `T2` or `T3`, the tier of the sandbox; `none` without one.
    """

    PARAM_RANGES: ClassVar[parameter_space.Ranges] = {}

    def __init__(
        self, checked: CheckedSource, params: Mapping[str, Any], tier: Tier | None, worker_limits: WorkerLimits
    ) -> None:
        self.checked = checked
        self.params = MappingProxyType(dict(params))
        self._tier, self._worker_limits = tier, worker_limits
        self._lookback: int | None = None
        with self._worker() as (worker, lookback):
            self._lookback = lookback
            self.isolation = worker.isolation

    @property
    def lookback(self) -> int:
        """Closes that a decision needs, as reported by the worker."""
        assert self._lookback is not None, "it was constructed"
        return self._lookback

    def weights(self, closes: Array) -> Array:
        """Return the weights of one window, from a new worker."""
        with self._worker() as (worker, _):
            return worker.window_weights(closes)

    def with_params(self, params: Mapping[str, Any]) -> CodeStrategy:
        """Return the same source with other parameters."""
        return type(self)(
            self.checked, parameter_space.typed(self.checked.ranges, params), self._tier, self._worker_limits
        )

    def table(self, dataset: Dataset, start: int = 0, end: int | None = None) -> Array:
        """Return target weights as `Strategy.table` does, with one request per bar.

        Raises:
            StrategyError: the worker timed out, needed too much memory, printed too much, died, raised, or sent no
                valid weights; `reason` says which, and the message names the bar.
        """
        with self._worker() as (worker, _):
            return self._table(worker, dataset, start, end)

    def tables(self, dataset: Dataset, spans: Sequence[tuple[int, int]]) -> list[Array]:
        """Return the table of each range of bars, all from one worker in the given order.

        Raises:
            StrategyError: as `table`.
        """
        with self._worker() as (worker, _):
            return [self._table(worker, dataset, start, end) for start, end in spans]

    def last_rows(self, cuts: Sequence[tuple[Dataset, int]]) -> list[Array]:
        """Return the weights at one bar of each market, all from one worker."""
        with self._worker() as (worker, _):
            return [self._table(worker, dataset, bar, bar + 1)[bar] for dataset, bar in cuts]

    def _table(self, worker: SandboxedWorker, dataset: Dataset, start: int, end: int | None) -> Array:
        n_bars, lookback = dataset.n_bars, self.lookback
        end = checked_integer("end", n_bars if end is None else end, 0, n_bars, "window_invalid")
        start = checked_integer("start", start, 0, end, "window_invalid")
        table = np.full((n_bars, dataset.n_symbols), np.nan)
        bar = start
        try:
            for first, last, closes in rolling_windows.histories(dataset):
                # A split changes all earlier closes, so the complete window is sent again.
                is_known = False
                for bar in range(max(first, start, lookback - 1), min(last, end)):
                    window = closes[bar + 1 - lookback : bar + 1]
                    if has_full_history(window):
                        table[bar] = worker.next_row_weights(window) if is_known else worker.window_weights(window)
                        is_known = True
        except OpenOutcryError as error:
            where = f"at bar {bar} ({dataset.dates[bar]})"
            raise fault_of(error, self._worker_limits, where, is_output_cut=worker.is_output_cut) from error
        return table

    @property
    def definition(self) -> dict[str, Any]:
        """Hash of the source and all parameters, which determine the decisions."""
        return {"normalised": self.checked.normalised, "fixed": dict(self.params)}

    def to_json(self) -> dict[str, Any]:
        """Return name, parameters and the hashes of the source."""
        hashes = {"source": self.checked.exact, "normalised": self.checked.normalised}
        return super().to_json() | hashes | {"isolation": self.isolation}

    @contextmanager
    def open_worker(self) -> Iterator[SandboxedWorker]:
        """Start a worker with the strategy, for one run."""
        with self._worker() as (worker, _):
            yield worker

    @contextmanager
    def _worker(self) -> Iterator[tuple[SandboxedWorker, int]]:
        with start(self._tier, self._worker_limits) as worker:
            runnable = self.checked.runnable
            try:
                found = worker.construct(runnable.text, self.params, runnable.in_words_of_author)
            except OpenOutcryError as error:
                raise fault_of(error, self._worker_limits, "", is_output_cut=worker.is_output_cut) from error
            lookback = checked_integer("lookback", found, 1, MAX_LOOKBACK)
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
        known = (self.checked.source, dict(self.params), self._tier, self._worker_limits)
        return _reconstruct, (*known, self.candidate_file)


def _reconstruct(
    source: str,
    params: Mapping[str, Any],
    tier: Tier | None,
    worker_limits: WorkerLimits,
    candidate_file: CandidateFile | None = None,
) -> CodeStrategy:
    least = Tier.T2 if tier is None else tier
    strategy = load_strategy_from_code(
        source,
        params,
        least=least,
        unsafe_no_isolation=tier is None,
        worker_limits=worker_limits,
        # It was accepted when it was loaded.
        earlier_gates=True,
    )
    strategy.candidate_file = candidate_file
    return strategy
