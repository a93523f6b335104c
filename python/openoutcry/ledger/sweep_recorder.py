"""What writes the runs of a sweep to a ledger, many at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from types import TracebackType
from typing import Any

from openoutcry.backtest.run import Run
from openoutcry.errors import refusal
from openoutcry.ledger.entry_builder import About, run_of, strategy_of
from openoutcry.ledger.ledger_entry import LedgerRun
from openoutcry.ledger.ledger_store import Ledger

_SECONDS = 1.0


class Recorder:
    """Takes the runs of a sweep, for `run_sweep(on_result=recorder)`; in a with-block.

    A run's strategy is the one given with the params of its point. Runs are written some at a time, at least once a
    second, and the last ones at the end of the block, whatever ended it: each was looked at.

    Args:
        ledger: Where to. Whoever drives a sweep elsewhere has its one writer here: workers return runs.
        strategy: What the points share: a name, or an object without `params`.
        about: What a run does not say of itself; a `key` is followed by the index of the point.
        n_held: Runs that are held back at most.
    """

    def __init__(
        self,
        ledger: Ledger,
        strategy: Mapping[str, Any] | str,
        about: About = About(),  # noqa: B008 it cannot change
        *,
        n_held: int = 256,
    ) -> None:
        self._ledger = ledger
        self._strategy = strategy_of(strategy)
        if "params" in self._strategy:
            raise refusal("argument_invalid", "`strategy` must leave `params` to the points; received some")
        self._about = about
        self._n_held = n_held
        self._held: list[LedgerRun] = []
        self._written = monotonic()
        self.ids: list[str] = []
        """Ids of the runs, in the order in which they came."""

    def __call__(self, index: int, params: Mapping[str, Any], run: Run) -> None:
        """Take a run."""
        about = self._about if self._about.key is None else replace(self._about, key=f"{self._about.key}:{index}")
        strategy = {**self._strategy, "params": dict(params)} if params else self._strategy
        made = run_of(run, strategy, about)
        self._held.append(made)
        self.ids.append(made.run_id)
        if len(self._held) >= self._n_held or monotonic() - self._written > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is held back."""
        held, self._held = self._held, []
        self._ledger.add(held)
        self._written = monotonic()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()


def recorder(ledger: Ledger, strategy: Mapping[str, Any] | str, about: About | None = None) -> Recorder:
    """Return what writes the runs of a sweep to a ledger, for a with-block."""
    return Recorder(ledger, strategy, about or About())
