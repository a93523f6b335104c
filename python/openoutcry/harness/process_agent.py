"""Agents as processes, inside or outside the sandbox."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from openoutcry.agents import Harness
from openoutcry.errors import refusal
from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_session import Bounds, Launcher
from openoutcry.harness.child_environment import agent_environment
from openoutcry.harness.contract_statement import ACCEPTED_CONTRACT, CONTRACT_VARIABLE
from openoutcry.harness.sandbox import Launch, Sandbox, Tier
from openoutcry.harness.stderr_capture import Show, print_to_stderr
from openoutcry.harness.stdio_transport import StdioSession
from openoutcry.openoutcry_py import OpenOutcryError


class ProcessAgent(Launcher):
    """An agent that runs in a separate process for each run.

    Args:
        pass_on: Names of environment variables for the process, such as an API key; with a sandbox, set them in its
            profile instead.
        bounds: Limits of time and size.
        show: Receives the lines of its standard error.
        sandbox: The sandbox of the process; None for none.

    Raises:
        OpenOutcryError: `argument_invalid`: both `pass_on` and `sandbox` are given.
    """

    def __init__(
        self,
        pass_on: Sequence[str] = (),
        bounds: Bounds | None = None,
        show: Show = print_to_stderr,
        sandbox: Sandbox | None = None,
    ) -> None:
        if sandbox is not None and pass_on:
            raise refusal(
                "argument_invalid", f"`pass_on` must be set in the sandbox's profile; received {pass_on!r} as well"
            )
        self._sandbox = sandbox
        self._pass_on = tuple(pass_on)
        self._bounds = bounds or Bounds()
        self._show = show

    @property
    def bounds(self) -> Bounds:
        """Limits of time and size."""
        return self._bounds

    @property
    def harness(self) -> Harness:
        """Transport, tier and network access, as records state them."""
        tier: Any = Tier.T0.name if self._sandbox is None else self._sandbox.tier.name
        # Outside the sandbox the network is open.
        allow_net = self._sandbox is None or self._sandbox.profile.allow_net
        return {"transport": "stdio", "tier": tier, "allow_net": allow_net}

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """Return the program and its arguments outside the sandbox."""

    @abstractmethod
    def _sandboxed(self, sandbox: Sandbox) -> Launch:
        """Return how to start the agent in the sandbox."""

    def start(self) -> StdioSession:
        """Start a process for one run."""
        return self._start(self._show)

    def _start(self, show: Show) -> StdioSession:
        command: Sequence[str]
        environment: Mapping[str, str]
        if self._sandbox is not None:
            launch = self._sandboxed(self._sandbox)
            command, environment = launch.command, launch.environment
        else:
            command, environment = self._command(), agent_environment(self._pass_on)
        # Last: the harness states its own version, also where a variable of that name is passed on.
        stated = {**environment, CONTRACT_VARIABLE: ACCEPTED_CONTRACT}
        return StdioSession(command, stated, self._bounds, show)

    def check(self) -> None:
        """Start and end the agent once, without an observation.

        Raises:
            OpenOutcryError: `unknown_agent`: the agent does not exist.
            AgentError: the agent cannot be started.
        """
        texts: list[str] = []
        started = monotonic()
        with self._start(texts.append) as session:
            code = session.start_and_stop()
            stderr = session.stderr
        shown = "\n".join(texts)
        if fault := self._exit_fault(code, shown, monotonic() - started):
            if shown and isinstance(fault, AgentError):
                self._show(shown)
                fault.stderr = stderr
            raise fault
        if shown:
            self._show(shown)

    @abstractmethod
    def _exit_fault(self, code: int, stderr: str, seconds: float) -> OpenOutcryError | None:
        """Return the fault that the exit of a process without input shows, if any.

        Args:
            code: Its exit code.
            stderr: What it wrote to standard error.
            seconds: How long it ran.
        """


def early_exit(code: int) -> AgentError:
    """Return the fault of an agent that exited before its first observation."""
    wanted = "an agent must answer until its run ends"
    return AgentError("agent_died", f"{wanted}; received its exit, exit code {code}, before the first observation")
