"""Callables as agents, examined in this process."""

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
    """An agent does not do what the contract asks of it.

    Attributes:
        check: The name of the check that found it.
        report: All findings.
    """

    def __init__(self, report: Report) -> None:
        assert report.failure is not None, "an agent that conforms raises nothing"
        super().__init__(failure_text(report.failure, report.seed))
        self.check = report.failure.check
        self.report = report


def check_agent(agent: Agent | type, *, deterministic: bool = False, seed: int | None = None) -> Report:
    """Check that an agent conforms to the contract, in this process.

    It is asked what `openoutcry conformance` asks, but for what only a program with pipes can do. It cannot be cut off:
    an answer that took too long is a fault when it has come.

    Args:
        agent: A callable from observation to decision; a class is called for each session, and what has a method
            `reset` is reset.
        deterministic: It answers the same whenever it is asked the same, which is checked.
        seed: Which market its second episode is played on, as a report says it; None for one that nobody knows.

    Raises:
        ConformanceError: a check found a fault: what it wanted, and what it received.
        OpenOutcryError: `unknown_agent`: this cannot be called.
    """
    report = examine(launcher_of(agent), deterministic=deterministic, seed=seed)
    if report.failure is not None:
        raise ConformanceError(report) from report.failure.failure
    return report


def launcher_of(agent: Agent | type, name: str = "", bounds: Bounds | None = None) -> CallableAgent:
    """Return what begins a callable anew, as far as it lets itself be begun.

    Args:
        agent: The callable; a class is called for one, and what has a method `reset` is reset.
        name: What it is called; by default what it calls itself.
        bounds: What it may take.

    Raises:
        OpenOutcryError: `unknown_agent`: this cannot be called.
    """
    if not callable(agent):
        raise refusal("unknown_agent", f"an agent must be a callable or a class of one; received {agent!r}")
    make: Callable[[], Agent] = agent if isinstance(agent, type) else partial(_anew, agent)
    return CallableAgent(make, name or str(getattr(agent, "__qualname__", None) or repr(agent)), bounds)


def _anew(agent: Agent) -> Agent:
    reset = getattr(agent, "reset", None)
    if callable(reset):
        reset()
    return agent
