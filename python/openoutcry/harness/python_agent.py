"""Agents in Python, each run of which is a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from openoutcry.agents import python_worker
from openoutcry.errors import refusal
from openoutcry.harness.agent_session import Bounds
from openoutcry.harness.process_agent import ProcessAgent, ended
from openoutcry.harness.sandbox import Launch, Sandbox
from openoutcry.harness.stderr_capture import Show, show_on_stderr
from openoutcry.openoutcry_py import OpenOutcryError


class PythonAgent(ProcessAgent):
    """A callable at `module:function`, in a process of its own for every run.

    The module is looked for in the working directory and on `PYTHONPATH`, or where a sandbox lets it be found.

    Args:
        name: `module:function`; a class is called, once a run, for what is asked.
        pass_on: Names of environment variables that the process is shown, such as the key of a language model; those of
            a sandbox are in its profile.
        bounds: What it may take.
        show: What is given the lines that it prints.
        sandbox: What it is locked in.
    """

    def __init__(
        self,
        name: str,
        pass_on: Sequence[str] = (),
        bounds: Bounds | None = None,
        show: Show = show_on_stderr,
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

    def _fault_of_end(self, code: int, told: str, seconds: float) -> OpenOutcryError | None:
        if code == python_worker.NOT_FOUND:
            return refusal("unknown_agent", told.rpartition("\n")[2])
        return ended(code) if code != 0 else None

    def __repr__(self) -> str:
        return f"PythonAgent({self._name!r})"
