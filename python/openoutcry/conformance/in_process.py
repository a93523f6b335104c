"""Callables as agents, begun and asked in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from openoutcry.agents import Agent
from openoutcry.answers import decision_text
from openoutcry.conformance.examine import examine
from openoutcry.conformance.report import Report
from openoutcry.conformance.words import failure_text
from openoutcry.errors import refusal
from openoutcry.harness import AgentError, Launcher, Session


class ConformanceError(AssertionError):
    """An agent does not do what the contract asks of it.

    Attributes:
        check: The name of the check that found it.
        report: All findings.
    """

    def __init__(self, report: Report) -> None:
        assert report.failure is not None, "an agent that conforms raises nothing"
        super().__init__(failure_text(report.failure))
        self.check = report.failure.check
        self.report = report


def check_agent(agent: Agent | type, *, deterministic: bool = False) -> Report:
    """Check that an agent conforms to the contract, in this process.

    It is asked what `openoutcry conformance` asks, but for what only a program with pipes can do.

    Args:
        agent: A callable from observation to decision; a class is called for each session, and what has a method
            `reset` is reset.
        deterministic: It answers the same whenever it is asked the same, which is checked.

    Raises:
        ConformanceError: a check found a fault: what it wanted, and what it received.
        OpenOutcryError: `unknown_agent`: this cannot be called.
    """
    report = examine(CallableAgent(agent), deterministic=deterministic)
    if report.failure is not None:
        raise ConformanceError(report) from report.failure.failure
    return report


class CallableAgent(Launcher):
    """A callable, in this process.

    Args:
        agent: The callable, or a class that is called for one.
        name: What it is called; None for what it calls itself.
    """

    def __init__(self, agent: Agent | type, name: str | None = None) -> None:
        if not callable(agent):
            raise refusal("unknown_agent", f"an agent must be a callable or a class of one; received {agent!r}")
        self._agent = agent
        self._name = name or str(getattr(agent, "__qualname__", None) or repr(agent))

    @property
    def name(self) -> str:
        """What the callable is called."""
        return self._name

    def begin(self) -> CallableSession:
        """Begin anew, as far as the callable lets itself be begun."""
        if isinstance(self._agent, type):
            return CallableSession(self._agent())
        reset = getattr(self._agent, "reset", None)
        if callable(reset):
            reset()
        return CallableSession(self._agent)


class CallableSession(Session):
    """A callable for the time of a run."""

    def __init__(self, agent: Callable[[dict[str, Any]], Any]) -> None:
        self._agent = agent

    def answer(self, observation: str) -> str:
        """Return what the callable decides, as JSON.

        Raises:
            AgentError: it raises.
        """
        try:
            return decision_text(self._agent(json.loads(observation)))
        except Exception as error:
            wanted = "an agent must answer until its run ends"
            raise AgentError("agent_died", f"{wanted}; received {type(error).__name__}: {error}") from error

    def finish(self) -> None:
        """Do nothing."""

    def kill(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
