"""Recorder that writes the runs of a sweep to a ledger in batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from types import TracebackType
from typing import Any

from openoutcry.backtest.run import Run
from openoutcry.errors import refusal
from openoutcry.ledger.entry_builder import RunMetadata, run_of, strategy_of
from openoutcry.ledger.ledger_entry import LedgerRun
from openoutcry.ledger.ledger_store import Ledger

_SECONDS = 1.0


class Recorder:
    """Context manager that records the runs of `run_sweep(on_result=recorder)`.

    The strategy of a run is `strategy` with the parameters of its grid point. Runs are written in batches, at least
    once a second and at the end of the block, also after an error, because every evaluated run counts.

    Args:
        ledger: The ledger. In a distributed sweep, workers return runs and the driver is the only writer.
        strategy: Common definition of the points: a name, or an object without `params`.
        metadata: Metadata of the runs; the index of the point is appended to a `key`.
        max_buffered: Maximum number of buffered runs.
    """

    def __init__(
        self,
        ledger: Ledger,
        strategy: Mapping[str, Any] | str,
        metadata: RunMetadata = RunMetadata(),  # noqa: B008 immutable
        *,
        max_buffered: int = 256,
    ) -> None:
        self._ledger = ledger
        self._strategy = strategy_of(strategy)
        if "params" in self._strategy:
            raise refusal(
                "argument_invalid",
                "`strategy` must not contain `params`, which each grid point sets; received `params`",
            )
        self._metadata = metadata
        self._max_buffered = max_buffered
        self._buffer: list[LedgerRun] = []
        self._written = monotonic()
        self.ids: list[str] = []
        """IDs of the runs in order of arrival."""

    def __call__(self, index: int, params: Mapping[str, Any], run: Run) -> None:
        """Add a run."""
        metadata = (
            self._metadata
            if self._metadata.key is None
            else replace(self._metadata, key=f"{self._metadata.key}:{index}")
        )
        strategy = {**self._strategy, "params": dict(params)} if params else self._strategy
        ledger_run = run_of(run, strategy, metadata)
        self._buffer.append(ledger_run)
        self.ids.append(ledger_run.run_id)
        if len(self._buffer) >= self._max_buffered or monotonic() - self._written > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write buffered runs."""
        buffered, self._buffer = self._buffer, []
        self._ledger.add(buffered)
        self._written = monotonic()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()


def recorder(ledger: Ledger, strategy: Mapping[str, Any] | str, metadata: RunMetadata | None = None) -> Recorder:
    """Return a recorder of the runs of a sweep, for a `with` block."""
    return Recorder(ledger, strategy, metadata or RunMetadata())
