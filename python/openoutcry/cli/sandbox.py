"""`openoutcry sandbox`: what an agent may do to this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from openoutcry.cli.run_table import plain
from openoutcry.errors import refusal, tell
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, described, this_host
from openoutcry.openoutcry_py import OpenOutcryError

if TYPE_CHECKING:
    from openoutcry.harness.sandbox.doctor import Examination, Finding

app = typer.Typer(help="What agents are kept from on this machine.", no_args_is_help=True, rich_markup_mode="markdown")

DOCTOR_EXAMPLES = """
**Examples**

`openoutcry sandbox doctor`

`openoutcry sandbox doctor --json | jq .sandbox.tier`

`openoutcry sandbox doctor --most T2`, as if `bwrap` were not installed

**Exit codes** 0: tier T2 or better, and no attempt broke out. 1: a lower tier, or one did. 2: the input was refused.
"""

LIMITS = (
    "bugs of the kernel and side channels of the processor remain: agents of enemies belong in virtual machines",
    "the clock can be read, so that an agent can tell a live market from a replayed one by the time it takes",
    "what memory, time and disk others use can be felt",
    "— a command may do it where it harms nobody, or the same lock has been tried",
)
_STYLES = {"stopped": "green", "escaped": "bold red", "known": "yellow", "unclear": "bold yellow"}


@app.callback()
def _group() -> None:
    """Keep `doctor` a command of its own, as there are others to come."""


@app.command(epilog=DOCTOR_EXAMPLES)
def doctor(
    most: str = typer.Option("T3", help="The highest tier to try: `T1`, `T2` or `T3`."),
    as_json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Try to break out of the sandbox, and say which tier this machine reaches."""
    tier = _tier(most, "--most")
    host = this_host()
    if host.tier == Tier.T0:
        missing = {each.name: text for each, text in host.missing.items()}
        _refuse(missing, as_json=as_json)
    # Its attempts are written for Linux, too.
    from openoutcry.harness.sandbox.doctor import examine

    found = examine(most=tier)
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        _show(found)
    raise typer.Exit(0 if found.is_sound else 1)


def opened(least: str, pass_on: Sequence[str], hidden: Sequence[Path], *, allow_net: bool) -> Sandbox | None:
    """Open the sandbox of `--sandbox` for an agent of the working directory.

    What is on `PYTHONPATH` it may read, too. The tier is said on standard error, and why it is no higher.

    Args:
        least: The least tier, `auto` for the highest that there is, or `none` for no sandbox.
        pass_on: Names of environment variables that the agent is shown.
        hidden: Files that it may not read.
        allow_net: It may connect to others.
    """
    if least == "none":
        if allow_net:
            raise refusal(
                "argument_invalid", "`--allow-net` must come with `--sandbox`; received no sandbox to let it out of"
            )
        return None
    tier = Tier.T1 if least == "auto" else _tier(least, "--sandbox", "auto", "none")
    if least == "auto" and this_host().tier < tier:
        typer.echo(described(None), err=True)
        return None
    folders = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and Path(each).is_dir()]
    try:
        sandbox = Sandbox.open(Profile(Path.cwd(), hidden, folders, allow_net, pass_on), least=tier)
    except OpenOutcryError as error:
        tell(error, "in opening the sandbox; hint: `--sandbox none` lets the agent do all that you can")
        raise
    typer.echo(described(sandbox), err=True)
    if any(Path(each).resolve() == Path.cwd() for each in sys.path):
        told = "the harness finds modules of its own in the agent's folder, and runs them outside of the sandbox"
        typer.echo(
            f"{told}; hint: start it as `openoutcry`, not by `python -m`, and keep PYTHONPATH clear of it", err=True
        )
    return sandbox


def _tier(name: str, option: str, *others: str) -> Tier:
    tiers = {each.name: each for each in Tier if each > Tier.T0}
    if name not in tiers:
        wanted = f"`{option}` must be among {', '.join([*others, *tiers])}"
        raise refusal("argument_invalid", f"{wanted}; received {name!r}")
    return tiers[name]


def _refuse(missing: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"sound": False, "sandbox": {"tier": "T0", "missing": missing}}))
    else:
        for tier, why in missing.items():
            typer.echo(f"no {tier}: {why}")
    raise typer.Exit(1)


def _show(found: Examination) -> None:
    console = Console()
    console.width = max(console.width, 120)
    console.print(_table(found))
    console.print(_summary(found), style="bold" if found.is_sound else "bold red", highlight=False)
    sandbox: dict[str, Any] = found.sandbox
    for tier, why in sandbox["missing"].items():
        console.print(f"  · no {tier}: {plain(why, 200)}", highlight=False, soft_wrap=True)
    for note in (*sandbox["notes"], *_known(found), *LIMITS):
        console.print(f"  · {plain(note, 200)}", style="dim", highlight=False, soft_wrap=True)


def _summary(found: Examination) -> str:
    n_escaped, n_unclear = len(found.of_state("escaped")), len(found.of_state("unclear"))
    told = f"{found.sandbox['tier']}: {found.n_shown} attempts work without the sandbox; in it"
    told += f" {n_escaped} break out" if n_escaped else " none breaks out"
    return told + (f", and {n_unclear} could not be made" if n_unclear else "")


def _known(found: Examination) -> list[str]:
    return [
        f"this tier lets an agent {row.attempt.text[0].lower()}{row.attempt.text[1:]}"
        for row in found.of_state("known")
    ]


def _table(found: Examination) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("attempt", "without", "Python agent", "command"):
        table.add_column(head, overflow="fold")
    group = ""
    for row in found.rows:
        if row.attempt.group != group:
            group = row.attempt.group
            table.add_row(f"[bold]{group}[/bold]")
        without = "works" if row.control is not None else "[dim]does not work here[/dim]"
        table.add_row(plain(row.attempt.text, 100), without, _cell(row.worker), _cell(row.command))
    return table


def _cell(finding: Finding | None) -> str:
    if finding is None:
        return "[dim]—[/dim]"
    told = f"[{_STYLES[finding.state]}]{finding.state}[/]"
    return told if finding.state in {"stopped", "known"} else f"{told} {plain(finding.text)}"
