"""Rerun of a recorded run.

A record holds decisions only; weights, costs, events and metrics are recomputed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

from openoutcry.agents import Answer, TextAgent
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.keys import fill_key_of
from openoutcry.records.run_record import RunRecord

__all__ = ["rerun"]


class _RecordedAgent(TextAgent):
    """Return the recorded decisions in order, whatever the observation."""

    def __init__(
        self, decisions: Sequence[str], faults: Mapping[int, str], watch: Callable[[str], None] | None
    ) -> None:
        self._watch = watch
        self._answers: Iterator[Answer] = (
            Answer(text, _harness_fault(faults.get(step))) for step, text in enumerate(decisions)
        )

    def answer(self, observation: str) -> Answer:
        if self._watch is not None:
            self._watch(observation)
        return next(self._answers)


def _harness_fault(fault: str | None) -> str | None:
    # The engine detects a malformed text itself.
    return None if fault == "malformed" else fault


def rerun(
    record: RunRecord,
    index: int,
    dataset: Dataset,
    fill_key: bytes | str | None = None,
    *,
    watch: Callable[[str], None] | None = None,
) -> Run:
    """Return a run of a record, recomputed from its decisions.

    The result is not compared with the record; `replay` does that.

    Args:
        record: The record.
        index: Index of the run in the record.
        dataset: The market of that run.
        fill_key: Revealed key of sealed slippage noise.
        watch: Receives each observation, as JSON, before its recorded decision.

    Raises:
        OpenOutcryError: the decisions cannot be run on this market.
    """
    header = record.headers[index]
    run = run_backtest(
        dataset,
        _RecordedAgent(record.decisions[index], record.faults[index], watch),
        (int(header["window.start"]), int(header["window.end"])),
        CostModel(**{name: float(value) for name, value in _section("costs.", header).items()}),
        _limits(_section("limits.", header)),
        int(header.get("fill.seed", "0")),
        lookback=int(header["lookback"]),
        name=record.agent_id,
        fill_key=None if fill_key is None else fill_key_of(fill_key),
        capture=True,
    )
    return Run(dataset, run._core, run._settings, run.name, record.runs()[index])


def _section(path: str, header: Mapping[str, str]) -> dict[str, str]:
    return {field.removeprefix(path): value for field, value in header.items() if field.startswith(path)}


def _limits(fields: Mapping[str, str]) -> Limits:
    def bound(name: str) -> float:
        return inf if fields[name] == "none" else float(fields[name])

    participation = bound("max_participation")
    return Limits(
        max_weight=bound("max_weight"),
        max_gross=bound("max_gross"),
        allow_short=fields["allow_short"] == "true",
        max_participation=None if participation == inf else participation,
        maintenance_margin=bound("maintenance_margin"),
        cash_account=fields.get("cash_account") == "true",
    )
