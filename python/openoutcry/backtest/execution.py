"""Runs an agent or weights in the engine, with or without a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.agents import Baseline, TextAgent
from openoutcry.agents.agent_call import call_agent
from openoutcry.arguments import is_bool
from openoutcry.backtest.conditional_weights import ConditionalWeights
from openoutcry.backtest.weights import weight_table
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.records.line_sink import LineSink
from openoutcry.records.run_record import RunRecord


class Executed(NamedTuple):
    """A finished run of the engine.

    Attributes:
        core: NAV, decisions and events.
        record: Record of the run; None without capture.
        faults: Slug of the fault by decision, if there is no record that has them.
    """

    core: native.Run
    record: RunRecord | None = None
    faults: Mapping[int, str] | None = None


def executed(dataset: Dataset, agent: Any, settings: native.Settings, name: str, capture: bool | LineSink) -> Executed:
    """Run an agent, or a table of weights, over the window of the settings."""
    writer = capture if isinstance(capture, LineSink) else None
    if not is_bool(capture) and writer is None:
        raise refusal("argument_invalid", f"`capture` must be True, False or a RecordWriter; received {capture!r}")
    if not is_bool(capture) or capture:
        return _captured(dataset, agent, settings, name, writer)
    if isinstance(agent, Baseline):
        return Executed(native.run_agent(dataset._core, agent._core, settings))
    if isinstance(agent, TextAgent):
        # Only a record holds the faults of a text agent.
        core, record, _ = _captured(dataset, agent, settings, name, None)
        return Executed(core, faults=None if record is None else record.faults[0])
    if callable(agent):
        run, start = native.run_callable, settings["window"][0]
        return Executed(call_agent(dataset, start, agent, lambda decide: run(dataset._core, decide, settings)))
    weights, conditions = _tables(dataset, agent)
    return Executed(native.run_weights(dataset._core, weights, settings, conditions))


def _tables(dataset: Dataset, agent: Any) -> tuple[npt.NDArray[np.float64], native.Conditions | None]:
    """Return weights as an array, and the conditions of their orders, if any."""
    if isinstance(agent, ConditionalWeights):
        return agent.tables(dataset)
    return weight_table(dataset, agent), None


def _captured(dataset: Dataset, agent: Any, settings: native.Settings, name: str, writer: LineSink | None) -> Executed:
    market, commitment = dataset._known()
    harness = agent.harness if isinstance(agent, TextAgent) else None
    names: native.Names = {"market": market, "agent_id": name, "commitment": commitment, "harness": harness}
    if isinstance(agent, TextAgent) or (callable(agent) and not isinstance(agent, Baseline)):
        write_line, start = None if writer is None else writer.write_line, settings["window"][0]
        core, record = call_agent(
            dataset,
            start,
            agent,
            lambda decide: native.capture_callable(dataset._core, decide, settings, names, write_line),
        )
        if writer is not None:
            writer.finish_run(record)
        return Executed(core, RunRecord(record))
    if isinstance(agent, Baseline):
        core, record = native.capture_agent(dataset._core, agent._core, settings, names)
    else:
        weights, conditions = _tables(dataset, agent)
        core, record = native.capture_weights(dataset._core, weights, settings, names, conditions)
    if writer is not None:
        writer.add(RunRecord(record))
    return Executed(core, RunRecord(record))
