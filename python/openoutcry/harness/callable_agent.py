"""Agents in this process: trusted code, whose errors are faults as of any other."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable

from openoutcry.agents import Agent
from openoutcry.agents.decision_codec import decision_text
from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_session import Bounds, Launcher, Session


class CallableAgent(Launcher):
    """A callable from observation to decision, asked in this process.

    It is trusted: nothing keeps it from what this process knows, and it may take as long as it likes. What it raises is
    the fault `agent_died`, and after it a new one is made.

    Args:
        make: Returns the callable of a run, with nothing in it of runs before.
        name: What it is called.
        bounds: What it may take; times are not looked at.
    """

    def __init__(self, make: Callable[[], Agent], name: str = "", bounds: Bounds | None = None) -> None:
        self._make = make
        self._name = name or str(getattr(make, "__name__", type(make).__name__))
        self._bounds = bounds or Bounds()

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name

    @property
    def bounds(self) -> Bounds:
        """What it may take."""
        return self._bounds

    def begin(self) -> CallableSession:
        """Make the callable of a run."""
        return CallableSession(self._make(), self._bounds)


class CallableSession(Session):
    """A callable for the time of one run."""

    def __init__(self, agent: Agent, bounds: Bounds) -> None:
        self._agent = agent
        self._bounds = bounds

    def answer(self, observation: str) -> str:
        """Return what the callable decides.

        Raises:
            AgentError: it raises, or its decision is too long.
        """
        try:
            text = decision_text(self._agent(json.loads(observation)))
        except (Exception, SystemExit) as error:
            message = f"an agent must answer until its run ends; received its end, {type(error).__name__}: {error}"
            raise AgentError("agent_died", message, traceback.format_exc()) from error
        if len(text.encode()) > self._bounds.answer_bytes:
            most = f"{self._bounds.answer_bytes:,} bytes"
            raise AgentError("answer_too_long", f"an answer must be a line of at most {most}; received more")
        return text

    def finish(self) -> None:
        """Do nothing: it has ended when it has answered."""

    def kill(self) -> None:
        """Do nothing: it can only end by itself."""

    def close(self) -> None:
        """Do nothing: it holds nothing of ours."""
