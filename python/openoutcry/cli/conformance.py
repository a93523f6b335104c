"""`openoutcry conformance`: whether an agent does what the contract asks of it."""

from __future__ import annotations

import os
import string
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from openoutcry.cli.agent_options import ALLOW_NET, ENV, SANDBOX, START_TIMEOUT, Asked, above_zero, telling_faults
from openoutcry.cli.market_options import load_agent, page_to_write, public_key_of
from openoutcry.cli.run_table import plain
from openoutcry.errors import refusal
from openoutcry.harness import AgentError
from openoutcry.harness.process_privacy import closed_to_others
from openoutcry.openoutcry_py import CONTRACT_VERSION, OpenOutcryError

if TYPE_CHECKING:
    from openoutcry.harness import Launcher
    from openoutcry.harness.conformance import Finding, Report

EXAMPLES = """
**Examples**

`openoutcry conformance "cmd:node agent.js"`

`openoutcry conformance my_agent:decide --deterministic --report conformance.json`

`openoutcry conformance http://127.0.0.1:8000 --timeout 5 --json | jq .timing`

`openoutcry conformance --verify conformance.json --public-key maker.pub`

**Exit codes** 0: the agent conforms, and may say so; with `--verify`, a whole report says that it does. 1: it does not;
the first check that failed is shown with what was exchanged, or what it wrote to standard error where it ended before
it was asked anything. 2: there is no such agent, nobody listens at its URL, this machine cannot begin it, or the input
was refused.
"""
AGENT = "`cmd:PROGRAM ARGUMENTS`, `http://HOST:PORT`, `module:function`, or a baseline."
REPORTS = "Reports"
_KEY_BYTES = 100
SEED = typer.Option(
    None,
    min=0,
    help="Play the second episode on this market, as a report says it; else on one that nobody knows.",
    show_default=False,
)
_MARKS = {
    "passed": "[green]✓[/green]",
    "failed": "[bold red]✗[/bold red]",
    "not_applicable": "[dim]—[/dim]",
    "not_claimed": "[dim]—[/dim]",
    "not_run": "[dim]·[/dim]",
}
_WHY = {
    "not_applicable": "not applicable to what it is",
    "not_claimed": "not claimed: `--deterministic` does",
}


def conformance(
    context: typer.Context,
    agent: str | None = typer.Argument(None, help=AGENT),
    deterministic: bool = typer.Option(
        False, "--deterministic", help="It answers the same bytes whenever it is asked the same: hold it to that."
    ),
    seed: int | None = SEED,
    timeout: float = typer.Option(10.0, help="Seconds that it may take for an answer.", callback=above_zero),
    start_timeout: float = START_TIMEOUT,
    env: list[str] | None = ENV,
    sandbox: str = SANDBOX,
    allow_net: bool = ALLOW_NET,
    report: Path | None = typer.Option(None, help="Write the report here, as JSON.", rich_help_panel=REPORTS),
    private_key: Path | None = typer.Option(
        None,
        help="Sign the report with the key in this file, 64 hexadecimal digits. It belongs to another user, or another "
        "machine, than the agent's: outside of the sandbox an agent reads whatever you may.",
        rich_help_panel=REPORTS,
    ),
    verify: Path | None = typer.Option(
        None, help="Check a report, and say what it says.", rich_help_panel=REPORTS, show_default=False
    ),
    public_key: str | None = typer.Option(
        None, help="Key that must have signed it: 64 digits, or a file of them.", rich_help_panel=REPORTS
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the report instead of words."),
) -> None:
    """Ask an agent everything in the kit, and print the badge or what failed first."""
    if verify is not None:
        _check_alone(context)
        _verify(verify, public_key)
    name = _required(agent, public_key)
    if private_key is not None:
        _check_key(private_key)
    if report is not None:
        page_to_write(report, "--report")
    hidden = [each for each in (report, private_key) if each is not None and each.exists()]
    # What it writes to its standard error is shown where it fails.
    asked = Asked(env or (), timeout, start_timeout, sandbox, allow_net, hidden, lambda text: None)
    console = Console(quiet=as_json)
    with closed_to_others():
        found = _examined(name, asked, console, deterministic=deterministic, seed=seed)
        # Not before: what this process has not read, no agent finds in it.
        text = found.to_json(None if private_key is None else _private_key(private_key))
    if report is not None:
        report.write_text(text, encoding="utf-8")
    if as_json:
        typer.echo(text, nl=False)
    _show(console, found, report)
    raise typer.Exit(0 if found.conforms else 1)


def _required(agent: str | None, public_key: str | None) -> str:
    if agent is None:
        wanted = 'an agent is required, such as `openoutcry conformance "cmd:python agent.py"`, or `--verify`'
        raise refusal("argument_invalid", f"{wanted}; received none")
    if public_key is not None:
        raise refusal("argument_invalid", f"`--public-key` must come with `--verify`; received {public_key!r} alone")
    return agent


def _examined(agent: str, asked: Asked, console: Console, *, deterministic: bool, seed: int | None) -> Report:
    from openoutcry.harness.conformance import examine

    with telling_faults(infrastructure=2):
        launcher = _launcher(agent, asked)
        told = f"{plain(launcher.name)}: does it conform to the OpenOutcry Agent Interface v{CONTRACT_VERSION}?"
        console.print(told, style="bold", highlight=False, soft_wrap=True)
        show = partial(_show_finding, console)
        return examine(launcher, deterministic=deterministic, show=show, seed=seed)


def _launcher(agent: str, asked: Asked) -> Launcher:
    if ":" in agent:
        try:
            return asked.launcher(agent)
        except AgentError as error:
            _show_stderr(error.stderr)
            raise
    from openoutcry.harness.conformance import launcher_of

    return launcher_of(load_agent(agent, 0), agent, asked.bounds)


def _show_stderr(text: str) -> None:
    """Show the end of what an agent wrote that ended unasked."""
    from openoutcry.harness.conformance.finding_text import last_lines

    for line in last_lines(text):
        typer.echo(line, err=True)


def _check_alone(context: typer.Context) -> None:
    """Refuse what is told beside `--verify` and says nothing there."""
    beside = [
        option.opts[0] if option.param_type_name == "option" else f"`{context.params[name]}`"
        for option in context.command.params
        if (name := option.name or "") not in {"verify", "public_key"}
        and getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]
    if beside:
        wanted = "`--verify` must come alone, or with `--public-key`"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(beside)}, too")


def _verify(path: Path, public_key: str | None) -> None:
    from openoutcry.harness.conformance.report_summary import conclusion, summary
    from openoutcry.harness.conformance.report_verification import read_report, verify_report

    key = None if public_key is None else bytes.fromhex(public_key_of(public_key))
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"`--verify` must be the file of a report; received '{path}': {error}"
        raise refusal("argument_invalid", message) from error
    faults = verify_report(text, key)
    report = read_report(text)
    for line in summary(report):
        typer.echo(line)
    for fault in faults:
        typer.echo(f"not whole: {fault}")
    if not faults:
        typer.echo("whole: its digest, its checks, its numbers and its conclusion agree")
        typer.echo(conclusion(report))
    raise typer.Exit(0 if report["conforms"] and not faults else 1)


def _check_key(path: Path) -> None:
    """Refuse what cannot be a key, without reading it; it may be a pipe."""
    if path.is_dir() or not os.access(path, os.R_OK):
        raise _no_key(path)
    if path.is_file() and not 64 <= path.stat().st_size <= _KEY_BYTES:
        raise _no_key(path)


def _private_key(path: Path) -> bytes:
    try:
        held = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        held = ""
    if len(held) != 64 or set(held) - set(string.hexdigits):
        raise _no_key(path)
    return bytes.fromhex(held)


def _no_key(path: Path) -> OpenOutcryError:
    wanted = "`--private-key` must be a file of 64 hexadecimal digits"
    return refusal("key_invalid", f"{wanted}; received '{path}'")


def _show_finding(console: Console, found: Finding) -> None:
    if found.state == "not_run":
        return
    took = f"{found.n_answers} answers, " if found.n_answers > 1 else ""
    told = _WHY.get(found.state) or f"{took}{_seconds(found.seconds)}"
    line = f"{_MARKS[found.state]} {plain(found.check)}  [dim]{plain(found.wanted, 100)}  {told}[/dim]"
    console.print(line, highlight=False, soft_wrap=True)


def _show(console: Console, found: Report, path: Path | None) -> None:
    from openoutcry.harness.conformance.finding_text import advice_texts, failure_text

    timing = found.timing
    if timing["answer_p50_seconds"] is not None:
        words = [f"{name} {_seconds(timing[f'{name}_seconds'])}" for name in ("answer_p50", "answer_p99", "answer_max")]
        told = ", ".join(words).replace("answer_", "").replace("max", "longest")
        start = f"the first takes {_seconds(timing['start_p50_seconds'])}"
        console.print(
            f"  {timing['n_answers']} answers: {told}; {start}, its start included", highlight=False, soft_wrap=True
        )
    for told in advice_texts(found):
        console.print(f"  advice: {plain(told, 200)}", style="dim", highlight=False, soft_wrap=True)
    if path is not None:
        console.print(f"  report: {plain(str(path), 200)}", highlight=False, soft_wrap=True)
    if found.failure is None:
        from openoutcry.harness.conformance import BADGE

        console.print(BADGE, style="bold green", highlight=False)
        return
    console.print(failure_text(found.failure, found.seed), markup=False, highlight=False, soft_wrap=True)


def _seconds(value: float | int | None) -> str:
    if value is None:
        return "—"
    return f"{value:.1f} s" if value >= 1.0 else f"{1e3 * value:.1f} ms" if value >= 1e-3 else f"{1e6 * value:.0f} us"
