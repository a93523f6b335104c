"""Agents that are Python functions, in a separate process for each run."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from openoutcry.agents import python_worker
from openoutcry.errors import refusal
from openoutcry.harness.agent_session import Bounds
from openoutcry.harness.process_agent import ProcessAgent, early_exit
from openoutcry.harness.sandbox import Launch, Sandbox
from openoutcry.harness.stderr_capture import Show, print_to_stderr
from openoutcry.openoutcry_py import OpenOutcryError


class PythonAgent(ProcessAgent):
    """A callable `module:function`, in a separate process for each run.

    The module is imported from the working directory or `PYTHONPATH`; in a sandbox, from the paths of its profile.

    Args:
        name: `module:function`. A class is instantiated once per run and the instance is called.
        pass_on: Names of environment variables for the process, such as an API key; with a sandbox, set them in its
            profile instead.
        bounds: Limits of time and size.
        show: Receives the lines that the agent prints.
        sandbox: The sandbox of the process; None for none.
    """

    def __init__(
        self,
        name: str,
        pass_on: Sequence[str] = (),
        bounds: Bounds | None = None,
        show: Show = print_to_stderr,
        sandbox: Sandbox | None = None,
    ) -> None:
        module, colon, function = name.partition(":") if isinstance(name, str) else ("", "", "")
        if not (module and colon and function):
            raise refusal("unknown_agent", f"an agent must be `module:function`; received {name!r}")
        super().__init__(pass_on, bounds, show, sandbox)
        self._name = name

    @property
    def name(self) -> str:
        """`module:function`."""
        return self._name

    def _command(self) -> Sequence[str]:
        return [sys.executable, python_worker.__file__, self._name]

    def _sandboxed(self, sandbox: Sandbox) -> Launch:
        return sandbox.script(python_worker.__file__, [self._name])

    def _exit_fault(self, code: int, stderr: str, seconds: float) -> OpenOutcryError | None:
        if code == python_worker.NOT_FOUND:
            return refusal("unknown_agent", stderr.rpartition("\n")[2])
        return early_exit(code) if code != 0 else None

    def __repr__(self) -> str:
        return f"PythonAgent({self._name!r})"
