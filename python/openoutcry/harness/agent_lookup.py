"""Launchers from the names of agents on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.arguments import is_url
from openoutcry.errors import refusal
from openoutcry.harness.agent_address import shown_url
from openoutcry.harness.agent_session import Bounds, Launcher
from openoutcry.harness.command_agent import CommandAgent
from openoutcry.harness.command_secrets import public_command
from openoutcry.harness.http_agent import HttpAgent
from openoutcry.harness.python_agent import PythonAgent
from openoutcry.harness.sandbox import Sandbox
from openoutcry.harness.stderr_capture import Show, print_to_stderr

COMMAND = "cmd:"


def is_process(name: str) -> bool:
    """Return whether a name is that of an agent that runs in a separate process."""
    return ":" in name and not is_url(name)


def is_program_or_server(name: str) -> bool:
    """Return whether a name is that of an agent outside this process."""
    return name.startswith(COMMAND) or is_url(name)


def public_name(agent: str) -> str:
    """Return the name of an agent on boards and in messages, without secrets."""
    if is_url(agent):
        scheme, _, rest = shown_url(agent).partition(":")
        return f"{scheme.lower()}:{rest}"
    if not agent.startswith(COMMAND):
        # A URL without a scheme: neither a baseline nor `module:function` contains the character.
        return shown_url(agent).rpartition("@")[2]
    return COMMAND + public_command(agent.removeprefix(COMMAND))


def connect(
    name: str,
    *,
    pass_on: Sequence[str] = (),
    bounds: Bounds | None = None,
    show: Show = print_to_stderr,
    sandbox: Sandbox | None = None,
) -> Launcher:
    """Return the launcher of an agent.

    Args:
        name: `cmd:PROGRAM ARGUMENTS`, `http://HOST:PORT` or `module:function`.
        pass_on: Names of environment variables for its process; with a sandbox, set them in its profile instead.
        bounds: Limits of time and size.
        show: Receives the lines of its standard error.
        sandbox: The sandbox of its process; not available for a server.

    Raises:
        OpenOutcryError: `unknown_agent` or `argument_invalid`: the name has none of these forms.
    """
    is_stated = isinstance(name, str) and (is_program_or_server(name) or "@" not in name)
    if not is_stated or ":" not in name:
        wanted = "an agent must be `module:function`, `cmd:PROGRAM` or `http://HOST:PORT`"
        shown = public_name(name) if isinstance(name, str) else name
        raise refusal("unknown_agent", f"{wanted}; received {shown!r}")
    if is_url(name):
        if sandbox is not None or pass_on:
            wanted = "`sandbox` and `pass_on` must be left out for an agent that is a server"
            raise refusal("argument_invalid", f"{wanted}; received {public_name(name)!r}")
        return HttpAgent(name, bounds)
    if name.startswith(COMMAND):
        return CommandAgent(name.removeprefix(COMMAND), pass_on, bounds, show, sandbox)
    return PythonAgent(name, pass_on, bounds, show, sandbox)
