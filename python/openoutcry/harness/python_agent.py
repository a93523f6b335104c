"""Agents in Python, each run of which is a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from openoutcry import worker
from openoutcry.errors import refusal
from openoutcry.harness.faults import AgentError
from openoutcry.harness.session import Bounds, Launcher
from openoutcry.harness.stderr import Show, show_on_stderr
from openoutcry.harness.stdio import StdioSession
from openoutcry.harness.surroundings import surroundings


class PythonAgent(Launcher):
    """A callable at `module:function`, in a process of its own for every run.

    The module is looked for in the working directory and on `PYTHONPATH`.

    Args:
        name: `module:function`; a class is called, once a run, for what is asked.
        pass_on: Names of environment variables that the process is shown, such as the key of a language model.
        bounds: What it may take.
        show: What is given the lines that it prints.
    """

    def __init__(
        self, name: str, pass_on: Sequence[str] = (), bounds: Bounds | None = None, show: Show = show_on_stderr
    ) -> None:
        module, colon, function = name.partition(":") if isinstance(name, str) else ("", "", "")
        if not (module and colon and function):
            raise refusal("unknown_agent", f"an agent must be `module:function`; received {name!r}")
        self._name = name
        self._pass_on = tuple(pass_on)
        self._bounds = bounds or Bounds()
        self._show = show

    @property
    def name(self) -> str:
        """`module:function`."""
        return self._name

    def begin(self) -> StdioSession:
        """Begin a process that answers as the callable does."""
        return self._begin(self._show)

    def _begin(self, show: Show) -> StdioSession:
        command = [sys.executable, worker.__file__, self._name]
        return StdioSession(command, surroundings(self._pass_on), self._bounds, show)

    def check(self) -> None:
        """Begin the agent once and ask it nothing.

        Raises:
            OpenOutcryError: `unknown_agent`: there is no such module, or nothing in it that can be called.
            AgentError: its module raises.
        """
        texts: list[str] = []
        with self._begin(texts.append) as session:
            code = session.run_out()
        told = "\n".join(texts)
        if code == worker.NOT_FOUND:
            raise refusal("unknown_agent", told.rpartition("\n")[2])
        if told:
            self._show(told)
        if code != 0:
            message = (
                f"an agent must answer until its run ends; received its end, exit code {code}, before it was asked"
            )
            raise AgentError("agent_died", message, session.stderr)

    def __repr__(self) -> str:
        return f"PythonAgent({self._name!r})"
