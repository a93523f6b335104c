"""Walk-forward validation of grids, in threads, processes or on Ray.

Work is split by market and configuration and returned in order. Only the calling process writes the ledger.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

from openoutcry.arguments import checked_integer
from openoutcry.backtest.executors import Executor, Future, available_cpus, open_executor, progress_bar
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger import Ledger
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.research.ledger_trials import TrialMetadata, entry_of, trial_key_of
from openoutcry.research.session_config import Split
from openoutcry.research.walkforward_folds import reserve
from openoutcry.research.walkforward_validation import ValidationResult, ValidationSetup, validate, validation_setup

_GROUP = 64
"""Trials per write to the ledger."""


@dataclass(frozen=True)
class Row:
    """Result of one configuration on one market.

    Attributes:
        market: Index of the market.
        params: All params.
        validation: Walk-forward result.
    """

    market: int
    params: Mapping[str, Any]
    validation: ValidationResult


@dataclass(frozen=True)
class _Job:
    """Inputs that all configurations on a market share."""

    setup: ValidationSetup
    strategy: str

    def run(self, params: Mapping[str, Any]) -> ValidationResult:
        return validate(self.setup, LIBRARY[self.strategy](**params), params)


def _run(job: _Job, params: Mapping[str, Any]) -> ValidationResult:
    return job.run(params)


def validate_grid(
    datasets: Sequence[Dataset],
    strategy: str,
    grid: Sequence[Mapping[str, Any]],
    *,
    split: Split | None = None,
    costs: CostModel | None = None,
    limits: Limits | None = None,
    ledger: Ledger | None = None,
    executor: Executor | Literal["ray"] | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    on_result: Callable[[Row], object] | None = None,
) -> list[Row]:
    """Validate configurations of a strategy on markets and return all rows in order.

    Results and their order do not depend on the executor. Bars after the research window are left out, as in a session;
    no holdout is opened.

    Args:
        datasets: The markets.
        strategy: Name in the library.
        grid: Params of each configuration; missing ones have their defaults.
        split: Division of the bars; None for the defaults of a session.
        costs: Trading costs.
        limits: Position limits.
        ledger: Ledger that counts every row as a trial; None to record nothing.
        executor: As in `run_sweep`.
        jobs: Configurations in parallel; None: one per processor.
        progress: Whether to show a progress bar on stderr; None: if stderr is a terminal.
        on_result: Called in this process with each row, in order.

    Raises:
        OpenOutcryError: an argument is invalid, or a configuration cannot be validated.
    """
    if strategy not in LIBRARY:
        raise refusal("argument_invalid", f"`strategy` must be one of {', '.join(LIBRARY)}; received {strategy!r}")
    split = split or Split()
    points = [dict(LIBRARY[strategy](**params).params) for params in grid]
    rules = costs or CostModel(), limits or Limits()
    work = [_Job(_setup(dataset, split, rules), strategy) for dataset in datasets]
    if not (work and points):
        raise refusal("argument_invalid", "at least one market and one configuration are required; received none")
    n_jobs = available_cpus() if jobs is None else checked_integer("jobs", jobs, 1, 4096)
    rows: list[Row] = []
    with ExitStack() as stack:
        workers, _ = stack.enter_context(open_executor(executor, n_jobs))
        advance = stack.enter_context(progress_bar(len(work) * len(points), progress))
        for row in _in_order(workers, work, points, n_jobs):
            rows.append(row)
            if on_result is not None:
                on_result(row)
            if ledger is not None and len(rows) % _GROUP == 0:
                _record(ledger, work, rows[-_GROUP:])
            advance()
    if ledger is not None and (left := len(rows) % _GROUP):
        _record(ledger, work, rows[-left:])
    return rows


def _setup(dataset: Dataset, split: Split, rules: tuple[CostModel, Limits]) -> ValidationSetup:
    n_held = split.holdout_bars
    end = reserve(dataset.n_bars, n_held, split.gap) if n_held else dataset.n_bars
    return validation_setup(dataset, end, split, rules)


def _in_order(
    workers: Executor, work: Sequence[_Job], points: Sequence[Mapping[str, Any]], n_jobs: int
) -> Iterator[Row]:
    left = iter([(market, params) for market in range(len(work)) for params in points])
    waiting: deque[tuple[int, Mapping[str, Any], Future]] = deque()
    try:
        while True:
            while len(waiting) < 2 * n_jobs and (following := next(left, None)) is not None:
                market, params = following
                waiting.append((market, params, workers.submit(_run, work[market], params)))
            if not waiting:
                return
            market, params, future = waiting.popleft()
            yield Row(market, params, future.result())
    finally:
        for *_, future in waiting:
            future.cancel()


def _record(ledger: Ledger, work: Sequence[_Job], rows: Sequence[Row]) -> None:
    entries = []
    for row in rows:
        job = work[row.market]
        identity = {"strategy": job.strategy, "params": dict(row.params)}
        metadata = TrialMetadata(
            ledger.session, trial_key_of(identity, job.setup), identity, LIBRARY[job.strategy].describe()
        )
        entries.append(entry_of(metadata, job.setup, row.validation))
    ledger.add(entries)
