"""Runs made again from a record.

A record holds no weights, costs, events or metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from openoutcry.agents import Answer, TextAgent
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.keys import fill_key_of
from openoutcry.records.run_record import RunRecord

__all__ = ["run_of"]


class _Recorded(TextAgent):
    """Answers what was answered, whatever is shown."""

    def __init__(self, decisions: Sequence[str], faults: Mapping[int, str]) -> None:
        self._answers: Iterator[Answer] = (Answer(text, _told(faults.get(step))) for step, text in enumerate(decisions))

    def answer(self, observation: str) -> Answer:
        return next(self._answers)


def _told(fault: str | None) -> str | None:
    # That a text is no decision the engine finds by itself.
    return None if fault == "malformed" else fault


def run_of(record: RunRecord, index: int, dataset: Dataset, fill_key: bytes | str | None = None) -> Run:
    """Return a run of a record, carried out again.

    Whether the record says the same is for `replay` to tell.

    Args:
        record: The record.
        index: Which of its runs.
        dataset: The market of that run.
        fill_key: Revealed key of sealed slippage noise.

    Raises:
        OpenOutcryError: the run cannot be made on this market.
    """
    header = record.headers[index]
    made = run_backtest(
        dataset,
        _Recorded(record.decisions[index], record.faults[index]),
        (int(header["window.start"]), int(header["window.end"])),
        CostModel(**{name: float(value) for name, value in _under("costs.", header).items()}),
        _limits(_under("limits.", header)),
        int(header.get("fill.seed", "0")),
        lookback=int(header["lookback"]),
        name=record.agent_id,
        fill_key=None if fill_key is None else fill_key_of(fill_key),
        capture=True,
    )
    return Run(dataset, made._core, made._settings, made.name, record.runs()[index])


def _under(path: str, header: Mapping[str, str]) -> dict[str, str]:
    return {field.removeprefix(path): value for field, value in header.items() if field.startswith(path)}


def _limits(told: Mapping[str, str]) -> Limits:
    def bound(name: str) -> float:
        return inf if told[name] == "none" else float(told[name])

    taken = bound("max_participation")
    return Limits(
        max_weight=bound("max_weight"),
        max_gross=bound("max_gross"),
        allow_short=told["allow_short"] == "true",
        max_participation=None if taken == inf else taken,
        maintenance_margin=bound("maintenance_margin"),
    )
