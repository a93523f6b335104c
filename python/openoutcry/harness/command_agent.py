"""Agents in any language: a program that answers each line with a line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from openoutcry.errors import refusal
from openoutcry.harness.agent_session import Bounds
from openoutcry.harness.command_secrets import public_command, public_words
from openoutcry.harness.process_agent import ProcessAgent, early_exit
from openoutcry.harness.sandbox import Launch, Sandbox
from openoutcry.harness.stderr_capture import Show, print_to_stderr
from openoutcry.openoutcry_py import OpenOutcryError

_START_FAILURES = (125, 126, 127)
"""Exit codes of the sandbox launcher, of a program that cannot be executed and of one that is not found."""
_WAIT_FACTOR = 3.0
"""A program that still runs after this multiple of its first run time is waiting for input."""


class CommandAgent(ProcessAgent):
    """A program that reads observations and writes decisions, one per line.

    `contract/README.md`, section 9, specifies the interface.

    Args:
        command: The program and its arguments, split as by a shell; no shell runs them.
        pass_on: Names of environment variables for the process, such as an API key; with a sandbox, set them in its
            profile instead.
        bounds: Limits of time and size.
        show: Receives the lines of its standard error.
        sandbox: The sandbox of the process; None for none.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        pass_on: Sequence[str] = (),
        bounds: Bounds | None = None,
        show: Show = print_to_stderr,
        sandbox: Sandbox | None = None,
    ) -> None:
        try:
            words = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            shown = public_command(str(command))
            raise refusal("unknown_agent", f"an agent must be a command; received {shown!r}: {error}") from error
        if not words:
            raise refusal("unknown_agent", f"an agent must be a command; received {command!r}")
        super().__init__(pass_on, bounds, show, sandbox)
        self._words = words

    @property
    def name(self) -> str:
        """The command, without its secrets."""
        return shlex.join(public_words(self._words))

    def _command(self) -> Sequence[str]:
        return self._words

    def _sandboxed(self, sandbox: Sandbox) -> Launch:
        return sandbox.command(self._words)

    def _exit_fault(self, code: int, stderr: str, seconds: float) -> OpenOutcryError | None:
        # A nonzero exit code at the end of an empty input is allowed; a failure to start is a fault.
        if code == 0:
            return None
        return early_exit(code) if code in _START_FAILURES or self._exits_unprompted(_WAIT_FACTOR * seconds) else None

    def _exits_unprompted(self, seconds: float) -> bool:
        """Return whether it exits with open input, as for a missing script."""
        with self._start(lambda text: None) as session:
            return session.exits_within(seconds)

    def __repr__(self) -> str:
        return f"CommandAgent({self.name!r})"
