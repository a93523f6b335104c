"""Agents in this process: trusted callables; an exception is a fault."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable

from openoutcry.agents import Agent
from openoutcry.agents.decision_codec import decision_text
from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_session import Bounds, Launcher, Session


class CallableAgent(Launcher):
    """A callable from observation to decision, called in this process.

    The callable is trusted: it can read the memory of this process and has no time limit. An exception is the fault
    `agent_died`; `make` then creates a new callable.

    Args:
        make: Creates the callable for a run, without state of earlier runs.
        name: The name of the agent; by default that of `make`.
        bounds: Limits of size; times are ignored.
    """

    def __init__(self, make: Callable[[], Agent], name: str = "", bounds: Bounds | None = None) -> None:
        self._make = make
        self._name = name or str(getattr(make, "__name__", type(make).__name__))
        self._bounds = bounds or Bounds()

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self._name

    @property
    def bounds(self) -> Bounds:
        """Limits of size."""
        return self._bounds

    def start(self) -> CallableSession:
        """Create the callable for a run."""
        return CallableSession(self._make(), self._bounds)


class CallableSession(Session):
    """A callable, for one run."""

    def __init__(self, agent: Agent, bounds: Bounds) -> None:
        self._agent = agent
        self._bounds = bounds

    def answer(self, observation: str) -> str:
        """Return the decision of the callable.

        Raises:
            AgentError: the callable raises, or its decision is too long.
        """
        try:
            text = decision_text(self._agent(json.loads(observation)))
        except (Exception, SystemExit) as error:
            message = f"an agent must answer until its run ends; received its exit, {type(error).__name__}: {error}"
            raise AgentError("agent_died", message, traceback.format_exc()) from error
        if len(text.encode()) > self._bounds.answer_bytes:
            most = f"{self._bounds.answer_bytes:,} bytes"
            raise AgentError("answer_too_long", f"an answer must be a line of at most {most}; received more")
        return text

    def finish(self) -> None:
        """Do nothing: a callable runs only during a call."""

    def kill(self) -> None:
        """Do nothing: a call in this process cannot be interrupted."""

    def close(self) -> None:
        """Do nothing: a callable holds no resources of the harness."""
