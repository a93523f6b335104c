"""Agents as processes: how each is begun, in the sandbox or out of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from time import monotonic
from typing import Any

from openoutcry.agents import Harness
from openoutcry.errors import refusal
from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_session import Bounds, Launcher
from openoutcry.harness.child_environment import surroundings
from openoutcry.harness.sandbox import Launch, Sandbox, Tier
from openoutcry.harness.stderr_capture import Show, show_on_stderr
from openoutcry.harness.stdio_transport import StdioSession
from openoutcry.openoutcry_py import OpenOutcryError


class ProcessAgent(Launcher):
    """An agent of which each run is a process of its own.

    Args:
        pass_on: Names of environment variables that the process is shown, such as the key of a language model; those of
            a sandbox are in its profile.
        bounds: What it may take.
        show: What is given the lines that it writes to its standard error.
        sandbox: What it is locked in.
    """

    def __init__(
        self,
        pass_on: Sequence[str] = (),
        bounds: Bounds | None = None,
        show: Show = show_on_stderr,
        sandbox: Sandbox | None = None,
    ) -> None:
        if sandbox is not None and pass_on:
            raise refusal(
                "argument_invalid", f"`pass_on` must be that of the sandbox's profile; received {pass_on!r}, too"
            )
        self._sandbox = sandbox
        self._pass_on = tuple(pass_on)
        self._bounds = bounds or Bounds()
        self._show = show

    @property
    def bounds(self) -> Bounds:
        """What it may take."""
        return self._bounds

    @property
    def harness(self) -> Harness:
        """What records say of how it is asked."""
        tier: Any = Tier.T0.name if self._sandbox is None else self._sandbox.tier.name
        # Outside the sandbox nothing keeps it from the network.
        allow_net = self._sandbox is None or self._sandbox.profile.allow_net
        return {"transport": "stdio", "tier": tier, "allow_net": allow_net}

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """Return the program and its arguments, outside the sandbox."""

    @abstractmethod
    def _sandboxed(self, sandbox: Sandbox) -> Launch:
        """Return how it is begun in the sandbox."""

    def begin(self) -> StdioSession:
        """Begin a process that answers."""
        return self._begin(self._show)

    def _begin(self, show: Show) -> StdioSession:
        if self._sandbox is not None:
            launch = self._sandboxed(self._sandbox)
            return StdioSession(launch.command, launch.environment, self._bounds, show)
        return StdioSession(self._command(), surroundings(self._pass_on), self._bounds, show)

    def check(self) -> None:
        """Begin the agent once and ask it nothing.

        Raises:
            OpenOutcryError: `unknown_agent`: there is no such agent.
            AgentError: it cannot be begun.
        """
        texts: list[str] = []
        began = monotonic()
        with self._begin(texts.append) as session:
            code = session.run_out()
            stderr = session.stderr
        told = "\n".join(texts)
        if fault := self._fault_of_end(code, told, monotonic() - began):
            if told and isinstance(fault, AgentError):
                self._show(told)
                fault.stderr = stderr
            raise fault
        if told:
            self._show(told)

    @abstractmethod
    def _fault_of_end(self, code: int, told: str, seconds: float) -> OpenOutcryError | None:
        """Return what an exit code says of an agent that was asked nothing.

        It ended in so many seconds.
        """


def ended(code: int) -> AgentError:
    """Return the fault of an agent that ended before it was asked."""
    wanted = "an agent must answer until its run ends"
    return AgentError("agent_died", f"{wanted}; received its end, exit code {code}, before it was asked")
