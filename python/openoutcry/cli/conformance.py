"""`openoutcry conformance`: test whether an agent conforms to the contract."""

from __future__ import annotations

import os
import string
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from openoutcry.cli.agent_options import (
    AGENT,
    ALLOW_CODE,
    ALLOW_NET,
    ENV,
    SANDBOX,
    START_TIMEOUT,
    UNSAFE,
    AgentOptions,
    above_zero,
    exit_on_agent_fault,
)
from openoutcry.cli.hidden_paths import hidden_paths
from openoutcry.cli.market_options import checked_output_file, public_key_of
from openoutcry.cli.run_table import plain
from openoutcry.cli.selected_agent import select_agent
from openoutcry.errors import refusal
from openoutcry.harness import AgentError
from openoutcry.harness.process_privacy import private_process
from openoutcry.openoutcry_py import CONTRACT_VERSION, OpenOutcryError
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, KEY_BYTES, check_kind, read_text
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo, echo_json

if TYPE_CHECKING:
    from openoutcry.harness import Launcher
    from openoutcry.harness.conformance import Finding, Report

EXAMPLES = """
**Examples**

`openoutcry conformance "cmd:node agent.js"`

`openoutcry conformance my_agent:decide --deterministic --report conformance.json`

`openoutcry conformance http://127.0.0.1:8000 --timeout 5 --json | jq .timing`

`openoutcry conformance --verify conformance.json --public-key maker.pub`

**Exit codes** 0: the agent conforms and may use the badge; with `--verify`, the report is valid and states that the
agent conforms. 1: it does not; the output shows the first failed check with the exchanged texts, or the standard error
of an agent that exited before its first observation. 2: the agent does not exist, its URL is unreachable, this machine
cannot start it, or the input was refused.
"""
REPORTS = "Reports"
_KEY_BYTES = 100
SEED = typer.Option(
    None,
    min=0,
    help="Seed of the market of the second episode, as in a report; random by default.",
    show_default=False,
)
_MARKS = {
    "passed": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "not_applicable": ("—", "dim"),
    "not_claimed": ("—", "dim"),
    "not_run": ("·", "dim"),
}
_WHY = {
    "not_applicable": "not applicable to this kind of agent",
    "not_claimed": "not claimed; use `--deterministic`",
}

_PRIVATE_KEY = typer.Option(
    None,
    help="Sign the report with the key in this file, 64 hexadecimal digits. Keep the key under another user or on "
    "another machine: outside the sandbox an agent can read all your files.",
    rich_help_panel=REPORTS,
)


def conformance(
    context: typer.Context,
    agent: str | None = typer.Argument(None, help=AGENT),
    deterministic: bool = typer.Option(
        False, "--deterministic", help="Check that equal observations get equal answers, byte for byte."
    ),
    seed: int | None = SEED,
    timeout: float = typer.Option(10.0, help="Seconds for each answer.", callback=above_zero),
    start_timeout: float = START_TIMEOUT,
    env: list[str] | None = ENV,
    sandbox: str = SANDBOX,
    allow_net: bool = ALLOW_NET,
    allow_code_gen: bool = ALLOW_CODE,
    unsafe_no_isolation: bool = UNSAFE,
    report: Path | None = typer.Option(None, help="Write the report to this file, as JSON.", rich_help_panel=REPORTS),
    private_key: Path | None = _PRIVATE_KEY,
    verify: Path | None = typer.Option(
        None, help="Verify a report and print its content.", rich_help_panel=REPORTS, show_default=False
    ),
    public_key: str | None = typer.Option(
        None,
        help="Key that must have signed the report: 64 hexadecimal digits, or a file of them.",
        rich_help_panel=REPORTS,
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
) -> None:
    """Check that an agent conforms to the contract.

    Runs all checks, and prints the badge or the first failure.
    """
    if verify is not None:
        _check_alone(context)
        _verify(verify, public_key)
    name = _required(agent, public_key)
    if private_key is not None:
        _check_key(private_key)
    if report is not None:
        checked_output_file(report, "--report")
    hidden = hidden_paths(context)
    # A failure shows the standard error of the agent.
    limits = env or (), timeout, start_timeout, sandbox, allow_net, hidden, lambda text: None
    options = AgentOptions(*limits, allow_code_gen, unsafe_no_isolation)
    console = Console(quiet=as_json)
    with private_process():
        report_found = _examine(name, options, console, deterministic=deterministic, seed=seed)
        # Read the key only now: an agent cannot find it in the memory of this process before.
        text = report_found.to_json(None if private_key is None else _private_key(private_key))
    if report is not None:
        report.write_text(text, encoding="utf-8")
    if as_json:
        echo_json(text.removesuffix("\n"))
    _show(console, report_found, report)
    raise typer.Exit(0 if report_found.conforms else 1)


def _required(agent: str | None, public_key: str | None) -> str:
    if agent is None:
        wanted = 'an agent is required, such as `openoutcry conformance "cmd:python agent.py"`, or `--verify`'
        raise refusal("argument_invalid", f"{wanted}; received none")
    if public_key is not None:
        raise refusal("argument_invalid", f"`--public-key` must come with `--verify`; received {public_key!r} alone")
    return agent


def _examine(agent: str, options: AgentOptions, console: Console, *, deterministic: bool, seed: int | None) -> Report:
    from openoutcry.harness.conformance import examine

    with exit_on_agent_fault(infrastructure=2):
        launcher = _launcher(agent, options)
        title = f"{plain(launcher.name)}: conformance to the OpenOutcry Agent Interface v{CONTRACT_VERSION}"
        console.print(title, style="bold", highlight=False, soft_wrap=True)
        show = partial(_show_finding, console)
        return examine(launcher, deterministic=deterministic, show=show, seed=seed)


def _launcher(agent: str, options: AgentOptions) -> Launcher:
    chosen = select_agent(agent, 0, options)
    if chosen.baseline is not None:
        from openoutcry.harness.conformance import launcher_of

        return launcher_of(chosen.baseline, chosen.name, options.bounds)
    try:
        return chosen.launcher()
    except AgentError as error:
        _show_stderr(error.stderr)
        raise


def _show_stderr(text: str) -> None:
    """Print the last lines of standard error of an agent that exited early."""
    from openoutcry.harness.conformance.finding_text import last_lines

    for line in last_lines(text):
        echo(line, err=True)


def _check_alone(context: typer.Context) -> None:
    """Refuse arguments and options that have no effect with `--verify`."""
    others = [
        option.opts[0] if option.param_type_name == "option" else f"`{context.params[name]}`"
        for option in context.command.params
        if (name := option.name or "") not in {"verify", "public_key"}
        and getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]
    if others:
        wanted = "`--verify` must come alone, or with `--public-key`"
        raise refusal("argument_invalid", f"{wanted}; received {', '.join(others)} as well")


def _verify(path: Path, public_key: str | None) -> None:
    from openoutcry.harness.conformance.report_summary import conclusion, summary
    from openoutcry.harness.conformance.report_verification import read_report, verify_report

    key = None if public_key is None else bytes.fromhex(public_key_of(public_key))
    try:
        text = read_text(path, DOCUMENT_BYTES, "`--verify`")
    except (OSError, UnicodeDecodeError) as error:
        message = f"`--verify` must be the path of a report; received '{path}': {error}"
        raise refusal("argument_invalid", message) from error
    faults = verify_report(text, key)
    report = read_report(text)
    for line in summary(report):
        echo(line)
    for fault in faults:
        echo(f"invalid: {fault}")
    if not faults:
        echo("valid: digest, checks, numbers and conclusion are consistent")
        echo(conclusion(report))
    raise typer.Exit(0 if report["conforms"] and not faults else 1)


def _check_key(path: Path) -> None:
    """Refuse a path that cannot hold a key, without reading it: it may be a pipe."""
    if path.is_dir() or not os.access(path, os.R_OK):
        raise _no_key(path)
    check_kind(path, "`--private-key`", "key_invalid")
    if path.is_file() and not 64 <= path.stat().st_size <= _KEY_BYTES:
        raise _no_key(path)


def _private_key(path: Path) -> bytes:
    try:
        text = read_text(path, KEY_BYTES, "`--private-key`", "key_invalid").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    if len(text) != 64 or set(text) - set(string.hexdigits):
        raise _no_key(path)
    return bytes.fromhex(text)


def _no_key(path: Path) -> OpenOutcryError:
    wanted = "`--private-key` must be a file of 64 hexadecimal digits"
    return refusal("key_invalid", f"{wanted}; received '{path}'")


def _show_finding(console: Console, found: Finding) -> None:
    if found.state == "not_run":
        return
    took = f"{found.n_answers} answers, " if found.n_answers > 1 else ""
    detail = _WHY.get(found.state) or f"{took}{_seconds(found.seconds)}"
    reason = f"{plain(found.wanted, 100)}  {detail}", "dim"
    line = Text.assemble(_MARKS[found.state], f" {plain(found.check)}  ", reason)
    console.print(line, highlight=False, soft_wrap=True)


def _show(console: Console, found: Report, path: Path | None) -> None:
    from openoutcry.harness.conformance.finding_text import advice_texts, failure_text

    timing = found.timing
    if timing["answer_p50_seconds"] is not None:
        words = [f"{name} {_seconds(timing[f'{name}_seconds'])}" for name in ("answer_p50", "answer_p99", "answer_max")]
        times = ", ".join(words).replace("answer_", "").replace("max", "longest")
        start = f"first answer {_seconds(timing['start_p50_seconds'])} including the start"
        answers = counted(int(timing["n_answers"] or 0), "answer")
        console.print(f"  {answers}: {times}; {start}", highlight=False, soft_wrap=True)
    for text in advice_texts(found):
        console.print(f"  advice: {plain(text, 200)}", style="dim", highlight=False, soft_wrap=True)
    if path is not None:
        console.print(f"  report: {plain(str(path), 200)}", highlight=False, soft_wrap=True)
    if found.failure is None:
        console.print(found.badge, style="bold green", highlight=False)
        return
    for line in failure_text(found.failure, found.seed).split("\n"):
        console.print(line, highlight=False, soft_wrap=True)


def _seconds(value: float | int | None) -> str:
    if value is None:
        return "—"
    return f"{value:.1f} s" if value >= 1.0 else f"{1e3 * value:.1f} ms" if value >= 1e-3 else f"{1e6 * value:.0f} us"
