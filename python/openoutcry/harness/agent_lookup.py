"""Agents by name, as the command line takes them."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.errors import refusal
from openoutcry.harness.agent_session import Bounds, Launcher
from openoutcry.harness.command_agent import CommandAgent
from openoutcry.harness.http_agent import HttpAgent
from openoutcry.harness.python_agent import PythonAgent
from openoutcry.harness.sandbox import Sandbox
from openoutcry.harness.stderr_capture import Show, show_on_stderr

COMMAND = "cmd:"
SERVERS = ("http://", "https://")


def is_process(name: str) -> bool:
    """Return whether a name is that of an agent that runs as a process of its own."""
    return ":" in name and not name.startswith(SERVERS)


def connect(
    name: str,
    *,
    pass_on: Sequence[str] = (),
    bounds: Bounds | None = None,
    show: Show = show_on_stderr,
    sandbox: Sandbox | None = None,
) -> Launcher:
    """Return what begins an agent of a name.

    Names are `cmd:PROGRAM ARGUMENTS`, `http://HOST:PORT` and `module:function`.

    Args:
        name: The agent.
        pass_on: Names of environment variables that its process is shown; those of a sandbox are in its profile.
        bounds: What it may take.
        show: What is given the lines that its process writes to its standard error.
        sandbox: What its process is locked in. A server cannot be.

    Raises:
        OpenOutcryError: `unknown_agent` or `argument_invalid`: this is the name of none.
    """
    if not isinstance(name, str) or ":" not in name:
        wanted = "an agent must be `module:function`, `cmd:PROGRAM` or `http://HOST:PORT`"
        raise refusal("unknown_agent", f"{wanted}; received {name!r}")
    if name.startswith(SERVERS):
        if sandbox is not None or pass_on:
            wanted = "`sandbox` and `pass_on` must be left out for an agent that is a server of its own"
            raise refusal("argument_invalid", f"{wanted}; received {name!r}")
        return HttpAgent(name, bounds)
    if name.startswith(COMMAND):
        return CommandAgent(name.removeprefix(COMMAND), pass_on, bounds, show, sandbox)
    return PythonAgent(name, pass_on, bounds, show, sandbox)
