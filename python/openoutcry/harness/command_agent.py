"""Agents in any language: a program that answers lines."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from openoutcry.errors import refusal
from openoutcry.harness.agent_session import Bounds
from openoutcry.harness.process_agent import ProcessAgent, ended
from openoutcry.harness.sandbox import Launch, Sandbox
from openoutcry.harness.stderr_capture import Show, show_on_stderr
from openoutcry.openoutcry_py import OpenOutcryError

_NOT_BEGUN = (125, 126, 127)
"""Exit codes of a launcher whose locks were refused, and of what finds no program, or one that cannot be run."""
_TIMES = 3.0
"""Times what a program took to begin and end, after which one that has not ended waits to be asked."""


class CommandAgent(ProcessAgent):
    """A program that reads observations and writes decisions, a line each.

    `contract/README.md`, section 9, says how.

    Args:
        command: The program and its arguments, as a shell would split them; no shell runs it.
        pass_on: Names of environment variables that the process is shown, such as the key of a language model; those of
            a sandbox are in its profile.
        bounds: What it may take.
        show: What is given the lines that it writes to its standard error.
        sandbox: What it is locked in.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        pass_on: Sequence[str] = (),
        bounds: Bounds | None = None,
        show: Show = show_on_stderr,
        sandbox: Sandbox | None = None,
    ) -> None:
        try:
            words = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise refusal("unknown_agent", f"an agent must be a command; received {command!r}: {error}") from error
        if not words:
            raise refusal("unknown_agent", f"an agent must be a command; received {command!r}")
        super().__init__(pass_on, bounds, show, sandbox)
        self._words = words

    @property
    def name(self) -> str:
        """The command."""
        return shlex.join(self._words)

    def _command(self) -> Sequence[str]:
        return self._words

    def _sandboxed(self, sandbox: Sandbox) -> Launch:
        return sandbox.command(self._words)

    def _fault_of_end(self, code: int, told: str, seconds: float) -> OpenOutcryError | None:
        # How a program ends without input is its own affair; that it could not begin is not.
        if code == 0:
            return None
        return ended(code) if code in _NOT_BEGUN or self._ends_unasked(_TIMES * seconds) else None

    def _ends_unasked(self, seconds: float) -> bool:
        """Return whether it ends though its input does not.

        So does a script that is not there.
        """
        with self._begin(lambda text: None) as session:
            return session.ends_within(seconds)

    def __repr__(self) -> str:
        return f"CommandAgent({self.name!r})"
