"""`openoutcry sandbox`: test what an agent may do on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from openoutcry.cli.run_table import plain
from openoutcry.errors import add_note, refusal
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, describe_sandbox, this_host
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo, echo_json

if TYPE_CHECKING:
    from openoutcry.harness.sandbox.doctor import Examination, Finding

app = typer.Typer(
    help="Show and test the sandbox of agents on this machine.", no_args_is_help=True, rich_markup_mode="markdown"
)

DOCTOR_EXAMPLES = """
**Examples**

`openoutcry sandbox doctor`

`openoutcry sandbox doctor --json | jq .sandbox.tier`

`openoutcry sandbox doctor --max-tier T2`, as on a machine without `bwrap`

**Exit codes** 0: tier T2 or higher, and no attempt escaped. 1: a lower tier, or an escape. 2: the input was refused.
"""

LIMITS = (
    "kernel bugs and processor side channels remain: run hostile agents in virtual machines",
    "an agent can read the clock, and so distinguish a live market from a replayed one",
    "an agent can measure the load that other processes put on memory, processor and disk",
    "—: not tested for commands, since they may do it or since the worker tests the same protection",
)
_STYLES = {"stopped": "green", "escaped": "bold red", "known": "yellow", "unclear": "bold yellow"}


@app.callback()
def _group() -> None:
    """Make `doctor` a subcommand: Typer needs a callback for a single command."""


@app.command(epilog=DOCTOR_EXAMPLES)
def doctor(
    max_tier: str = typer.Option("T3", help="The highest tier to use: `T1`, `T2` or `T3`."),
    as_json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Attack the sandbox with escape attempts, and report the tier of this machine."""
    tier = _tier(max_tier, "--max-tier")
    host = this_host()
    if host.tier == Tier.T0:
        missing = {each.name: text for each, text in host.missing.items()}
        _refuse(missing, as_json=as_json)
    # The attempts are written for Linux.
    from openoutcry.harness.sandbox.doctor import examine

    found = examine(max_tier=tier)
    if as_json:
        echo_json(found.to_dict())
    else:
        _show(found)
    raise typer.Exit(0 if found.is_sound else 1)


def open_sandbox(min_tier: str, pass_on: Sequence[str], hidden: Sequence[Path], *, allow_net: bool) -> Sandbox | None:
    """Open the sandbox of `--sandbox` for an agent in the working directory.

    The agent may also read the folders of `PYTHONPATH`. Standard error reports the tier and why no higher tier is
    available.

    Args:
        min_tier: The lowest acceptable tier, `auto` for the highest available one, or `none` for no sandbox.
        pass_on: Names of environment variables for the agent.
        hidden: Files that the agent may not read.
        allow_net: Allow outgoing connections.
    """
    if min_tier == "none":
        if allow_net:
            raise refusal("argument_invalid", "`--allow-net` must come with a sandbox; received `--sandbox none`")
        return None
    tier = Tier.T1 if min_tier == "auto" else _tier(min_tier, "--sandbox", "auto", "none")
    if min_tier == "auto" and this_host().tier < tier:
        echo(describe_sandbox(None), err=True)
        return None
    folders = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and Path(each).is_dir()]
    try:
        sandbox = Sandbox.open(Profile(Path.cwd(), hidden, folders, allow_net, pass_on), min_tier=tier)
    except OpenOutcryError as error:
        add_note(error, "while opening the sandbox; hint: `--sandbox none` runs the agent with all your permissions")
        raise
    echo(describe_sandbox(sandbox), err=True)
    if any(Path(each).resolve() == Path.cwd() for each in sys.path):
        warning = "the harness would import modules from the agent's folder and run them outside the sandbox"
        echo(
            f"{warning}; hint: run `openoutcry`, not `python -m openoutcry`, and remove the folder from PYTHONPATH",
            err=True,
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
        echo_json({"sound": False, "sandbox": {"tier": "T0", "missing": missing}})
    else:
        for tier, why in missing.items():
            echo(f"no {tier}: {why}")
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
    text = f"{found.sandbox['tier']}: {found.n_shown} attempts succeed without the sandbox; in the sandbox"
    text += f" {n_escaped} escape" if n_escaped else " none escapes"
    return text + (f", and {n_unclear} could not run" if n_unclear else "")


def _known(found: Examination) -> list[str]:
    return [
        f"this tier allows an agent to {row.attempt.text[0].lower()}{row.attempt.text[1:]}"
        for row in found.of_state("known")
    ]


def _table(found: Examination) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("attempt", "no sandbox", "Python agent", "command"):
        table.add_column(head, overflow="fold")
    group = ""
    for row in found.rows:
        if row.attempt.group != group:
            group = row.attempt.group
            table.add_row(Text(group, "bold"))
        without = Text("succeeds") if row.control is not None else Text("fails", "dim")
        table.add_row(plain(row.attempt.text, 100), without, _cell(row.worker), _cell(row.command))
    return table


def _cell(finding: Finding | None) -> Text:
    if finding is None:
        return Text("—", "dim")
    state = (finding.state, _STYLES[finding.state])
    return Text.assemble(state, "" if finding.state in {"stopped", "known"} else f" {plain(finding.text)}")
