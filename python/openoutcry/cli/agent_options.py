"""Command line options of agents, and messages about their faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import typer

from openoutcry.cli.added_options import with_added_options
from openoutcry.cli.hidden_paths import hidden_paths
from openoutcry.cli.name_suggestions import suggesting_names
from openoutcry.cli.sandbox import open_sandbox
from openoutcry.errors import refusal
from openoutcry.harness import AgentError, Bounds, Launcher, connect
from openoutcry.harness.agent_lookup import is_process, public_name
from openoutcry.untrusted.terminal import echo_error

PANEL = "An agent that is a process or a server"
CODE_PANEL = "A candidate that is code"

_FAULTS_SHOWN = 5

AGENT = (
    "A baseline such as `momentum`; a strategy such as `trend` or `trend:fast=20,slow=100`, with a colon (`momentum:`) "
    "where a baseline has its name; a candidate's file of research; `module:function`, `cmd:PROGRAM ARGUMENTS` or "
    "`http://HOST:PORT`."
)
ENV = typer.Option(
    None,
    help="Pass this environment variable to the agent, such as an API key; repeatable.",
    rich_help_panel=PANEL,
)


def above_zero(option: typer.CallbackParam, value: float) -> float:
    """Return the value of an option that must be a number above 0."""
    if not (isfinite(value) and value > 0.0):
        raise refusal("argument_invalid", f"`{option.opts[0]}` must be a number above 0; received {value!r}")
    return value


TIMEOUT = typer.Option(60.0, help="Seconds for each decision of the agent.", rich_help_panel=PANEL, callback=above_zero)
START_TIMEOUT = typer.Option(
    60.0, help="Seconds to start, added to those of the first decision.", rich_help_panel=PANEL, callback=above_zero
)
SANDBOX = typer.Option(
    "auto",
    help="Sandbox of the process: `auto` for the highest tier available, `T1`, `T2` or `T3` for at least that tier, or "
    "`none`; see `openoutcry sandbox doctor`.",
    rich_help_panel=PANEL,
)
ALLOW_NET = typer.Option(
    False,
    "--allow-net",
    help="Allow outgoing connections from the sandbox; the record states it.",
    rich_help_panel=PANEL,
)
ALLOW_CODE = typer.Option(
    False,
    "--allow-code-gen",
    help="Run a candidate that is code, in a sandbox of tier T2 or higher.",
    rich_help_panel=CODE_PANEL,
)
UNSAFE = typer.Option(
    False,
    "--unsafe-no-isolation",
    help="Run its code without a sandbox, with your rights; the record states tier T0.",
    rich_help_panel=CODE_PANEL,
)


@dataclass(frozen=True)
class AgentOptions:
    """The command line options of an agent.

    Args:
        pass_on: Names of environment variables for its process.
        answer_seconds: Time for each decision.
        start_seconds: Time to start, added to that of the first decision.
        sandbox: `auto`, `none` or the lowest acceptable tier.
        allow_net: Allow outgoing connections.
        hidden: Files that the agent may not read.
        show: Receives the lines of its standard error.
        allow_code: Allow a candidate that is code, in the sandbox.
        unsafe_no_isolation: Allow it without a sandbox.
    """

    pass_on: Sequence[str]
    answer_seconds: float
    start_seconds: float
    sandbox: str
    allow_net: bool
    hidden: Sequence[Path]
    show: Callable[[str], Any]
    allow_code: bool = False
    unsafe_no_isolation: bool = False

    @property
    def bounds(self) -> Bounds:
        """Limits of time and size."""
        return Bounds(start_seconds=self.start_seconds, answer_seconds=self.answer_seconds)

    def launcher(self, name: str) -> Launcher:
        """Return the launcher of an agent after a test start.

        A broken agent therefore leaves no output file.
        """
        with suggesting_names(name):
            return self._launcher(name)

    def _launcher(self, name: str) -> Launcher:
        if not is_process(name):
            if self.sandbox not in ("auto", "none") or self.allow_net or self.pass_on:
                wanted = "`--sandbox`, `--allow-net` and `--env` must be left out for an agent that is a server"
                raise refusal("argument_invalid", f"{wanted}; received {public_name(name)!r}")
            agent = connect(name, bounds=self.bounds)
        else:
            opened = open_sandbox(self.sandbox, self.pass_on, self.hidden, allow_net=self.allow_net)
            # In a sandbox, the profile names the variables.
            pass_on = self.pass_on if opened is None else ()
            agent = connect(name, pass_on=pass_on, bounds=self.bounds, show=self.show, sandbox=opened)
        agent.check()
        return agent


class AgentValues(NamedTuple):
    """Values of the options of agents on a command line."""

    env: list[str] | None
    timeout: float
    start_timeout: float
    sandbox: str
    allow_net: bool
    allow_code_gen: bool
    unsafe_no_isolation: bool

    def options(self, context: typer.Context, show: Callable[[str], Any]) -> AgentOptions:
        """Return the options of an agent, from which the files of the command are hidden."""
        times, hidden = (self.timeout, self.start_timeout), hidden_paths(context)
        code = self.allow_code_gen, self.unsafe_no_isolation
        return AgentOptions(self.env or (), *times, self.sandbox, self.allow_net, hidden, show, *code)

    def refuse_alone(self) -> None:
        """Refuse options of an agent on a command without one.

        Raises:
            OpenOutcryError: `argument_invalid`: an option was given.
        """
        for name, (_, option) in _OPTIONS.items():
            if (getattr(self, name) or None) != (option.default or None):
                flag = f"`--{name.replace('_', '-')}`"
                raise refusal("argument_invalid", f"{flag} must come with `--agent`; received it alone")


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "env": (list[str] | None, ENV),
    "timeout": (float, TIMEOUT),
    "start_timeout": (float, START_TIMEOUT),
    "sandbox": (str, SANDBOX),
    "allow_net": (bool, ALLOW_NET),
    "allow_code_gen": (bool, ALLOW_CODE),
    "unsafe_no_isolation": (bool, UNSAFE),
}
NO_VALUES: Any = None
"""Default of the parameter `values` of a command, which `runs_agents` passes."""


def runs_agents(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of agents to a command, which receives them as `values`."""
    return with_added_options(command, "values", _OPTIONS, lambda given: AgentValues(**given))


@contextmanager
def exit_on_agent_fault(*, infrastructure: int = 1) -> Iterator[None]:
    """Exit with code 1 if an agent does not start; its traceback was shown already.

    Args:
        infrastructure: Exit code for infrastructure faults: the server is unreachable, or the host is out of resources.
    """
    try:
        yield
    except AgentError as error:
        echo_error("; ".join([str(error), *getattr(error, "__notes__", [])]))
        raise typer.Exit(infrastructure if error.is_of_infrastructure else 1) from error


def show_first_faults(show: Callable[[str], Any]) -> Callable[[str], None]:
    """Return a callback that shows the first few faults only."""
    left = iter(range(_FAULTS_SHOWN, -1, -1))

    def report(fault: str) -> None:
        n_left = next(left, -1)
        if n_left > 0:
            show(fault)
        elif n_left == 0:
            show("... more faults; the total follows at the end")

    return report


def fault_summary(runs: Iterable[Mapping[int, str]]) -> list[str]:
    """Return a sentence that counts the faults of some runs; empty if there were none."""
    counts = Counter(fault for run in runs for fault in run.values())
    text = ", ".join(f"{count:,} {slug}" for slug, count in sorted(counts.items()))
    return [f"held for faults: {text}"] if text else []
