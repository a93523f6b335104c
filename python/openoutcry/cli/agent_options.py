"""Agents of the command line: how they are begun, and what they are locked in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import typer

from openoutcry.cli.name_suggestions import hinting
from openoutcry.cli.sandbox import opened
from openoutcry.errors import refusal
from openoutcry.harness import AgentError, Bounds, Launcher, connect
from openoutcry.harness.agent_lookup import SERVERS, is_process
from openoutcry.harness.http_agent import without_password

PANEL = "An agent that is a process or a server"

_FAULTS_SHOWN = 5

AGENT = "A baseline such as `momentum`, `module:function`, `cmd:PROGRAM ARGUMENTS` or `http://HOST:PORT`."
ENV = typer.Option(
    None,
    help="An environment variable that the agent is shown, such as the key of a model; may be given again.",
    rich_help_panel=PANEL,
)


def above_zero(option: typer.CallbackParam, value: float) -> float:
    """Return the value of an option that must be a number above 0."""
    if not (isfinite(value) and value > 0.0):
        raise refusal("argument_invalid", f"`{option.opts[0]}` must be a number above 0; received {value!r}")
    return value


TIMEOUT = typer.Option(
    60.0, help="Seconds that the agent may take for an answer.", rich_help_panel=PANEL, callback=above_zero
)
START_TIMEOUT = typer.Option(
    60.0, help="Seconds that it may take to begin, beside those.", rich_help_panel=PANEL, callback=above_zero
)
SANDBOX = typer.Option(
    "auto",
    help="What a process is locked in: `auto` for the best that this machine has, at least `T1`, `T2` or `T3`, or "
    "`none`; see `sandbox doctor`.",
    rich_help_panel=PANEL,
)
ALLOW_NET = typer.Option(
    False, "--allow-net", help="Let it connect to others out of the sandbox; the record says so.", rich_help_panel=PANEL
)


@dataclass(frozen=True)
class Asked:
    """How an agent is asked, as the options say.

    Args:
        pass_on: Names of environment variables that its process is shown.
        answer_seconds: Time for an answer.
        start_seconds: Time to begin in, beside that.
        sandbox: `auto`, `none` or the least tier.
        allow_net: It may connect to others.
        hidden: Files that it may not read.
        show: What is given the lines that it writes to its standard error.
    """

    pass_on: Sequence[str]
    answer_seconds: float
    start_seconds: float
    sandbox: str
    allow_net: bool
    hidden: Sequence[Path]
    show: Callable[[str], Any]

    @property
    def bounds(self) -> Bounds:
        """What the agent may take."""
        return Bounds(start_seconds=self.start_seconds, answer_seconds=self.answer_seconds)

    def launcher(self, name: str) -> Launcher:
        """Return what begins an agent, once it has been begun and asked nothing.

        What cannot even begin leaves no file.
        """
        with hinting(name):
            return self._launcher(name)

    def _launcher(self, name: str) -> Launcher:
        if not is_process(name):
            if self.sandbox not in ("auto", "none") or self.allow_net or self.pass_on:
                wanted = (
                    "`--sandbox`, `--allow-net` and `--env` must be left out for a server, which is begun elsewhere"
                )
                raise refusal("argument_invalid", f"{wanted}; received {name!r}")
            agent = connect(name, bounds=self.bounds)
        else:
            cell = opened(self.sandbox, self.pass_on, self.hidden, allow_net=self.allow_net)
            # Those of a sandbox are in its profile.
            pass_on = self.pass_on if cell is None else ()
            agent = connect(name, pass_on=pass_on, bounds=self.bounds, show=self.show, sandbox=cell)
        agent.check()
        return agent


def called(agent: str) -> str:
    """Return what boards call an agent: a server by its URL without a password."""
    return without_password(agent) if agent.startswith(SERVERS) else agent


@contextmanager
def telling_faults(*, infrastructure: int = 1) -> Iterator[None]:
    """Exit with 1 where an agent does not even begin; its traceback has been shown.

    Args:
        infrastructure: Exit code where the agent need not be to blame: nobody listens, or the host begins no more.
    """
    try:
        yield
    except AgentError as error:
        typer.echo("; ".join([f"error: {error}", *getattr(error, "__notes__", [])]), err=True)
        raise typer.Exit(infrastructure if error.is_of_infrastructure else 1) from error


def first_faults(show: Callable[[str], Any]) -> Callable[[str], None]:
    """Return what shows the first few faults; all of them are counted at the end."""
    left = iter(range(_FAULTS_SHOWN, -1, -1))

    def tell(fault: str) -> None:
        n_left = next(left, -1)
        if n_left > 0:
            show(fault)
        elif n_left == 0:
            show("... more faults; they are counted at the end")

    return tell


def told_faults(runs: Iterable[Mapping[int, str]]) -> list[str]:
    """Return what to say of the answers that were none, if there were any."""
    counts = Counter(fault for run in runs for fault in run.values())
    told = ", ".join(f"{count:,} {slug}" for slug, count in sorted(counts.items()))
    return [f"held for faults: {told}"] if told else []
