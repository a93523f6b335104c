"""Examination of a callable in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from openoutcry.agents import Agent
from openoutcry.errors import refusal
from openoutcry.harness import Bounds, CallableAgent
from openoutcry.harness.conformance.conformance_report import Report
from openoutcry.harness.conformance.examination import examine
from openoutcry.harness.conformance.finding_text import failure_text


class ConformanceError(AssertionError):
    """An agent does not conform to the contract.

    Attributes:
        check: Name of the check that failed.
        report: All findings.
    """

    def __init__(self, report: Report) -> None:
        assert report.failure is not None, "an agent that conforms raises nothing"
        super().__init__(failure_text(report.failure, report.seed))
        self.check = report.failure.check
        self.report = report


def check_agent(agent: Agent | type, *, deterministic: bool = False, seed: int | None = None) -> Report:
    """Check that an agent conforms to the contract, in this process.

    Runs the checks of `openoutcry conformance` except those for programs and servers. A call cannot be interrupted: a
    late answer fails after it has returned.

    Args:
        agent: A callable from observation to decision. A class is instantiated for each session; an object with a
            method `reset` is reset.
        deterministic: Check that equal observations get equal answers.
        seed: Seed of the market of the second episode, as in a report; None for a random one.

    Raises:
        ConformanceError: a check failed; the message states what was required and received.
        OpenOutcryError: `unknown_agent`: the agent is not callable.
    """
    report = examine(launcher_of(agent), deterministic=deterministic, seed=seed)
    if report.failure is not None:
        raise ConformanceError(report) from report.failure.failure
    return report


def launcher_of(agent: Agent | type, name: str = "", bounds: Bounds | None = None) -> CallableAgent:
    """Return a launcher of a callable.

    Args:
        agent: The callable. A class is instantiated for each session; an object with a method `reset` is reset.
        name: Name of the agent; by default its qualified name.
        bounds: Limits of time and size.

    Raises:
        OpenOutcryError: `unknown_agent`: the agent is not callable.
    """
    if not callable(agent):
        raise refusal("unknown_agent", f"an agent must be a callable or a class of callables; received {agent!r}")
    make: Callable[[], Agent] = agent if isinstance(agent, type) else partial(_reset, agent)
    return CallableAgent(make, name or str(getattr(agent, "__qualname__", None) or repr(agent)), bounds)


def _reset(agent: Agent) -> Agent:
    reset = getattr(agent, "reset", None)
    if callable(reset):
        reset()
    return agent
