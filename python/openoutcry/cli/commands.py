"""The commands of `openoutcry`, each imported when it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from openoutcry.errors import refusal
from openoutcry.untrusted.terminal import echo_json, echo_lines

EXIT_CODES = """
**Exit codes.** 0: done. 1: the check found a problem. An agent raised an error (its traceback is shown), `bench
--check` missed a goal, `data diff` or `diff` found a difference, `replay` or `research replay` diverged from the
record, an attack of `score --attack` succeeded, `sandbox doctor` found a way out, `conformance` found a violation,
`leakcheck` found look-ahead, `ledger verify` or `arena verify` found tampering, `realism` found an unrealistic market,
`martingale` found a significant profit, `contamination` was found, or `arena witness` saw a rewritten log. 2: the input
was refused; one line says what is required and what was received. 3: only one of the two tests of `contamination`
found it.
"""


class Command(NamedTuple):
    """A command of the command line.

    Attributes:
        module: Module of `openoutcry.cli` that implements it.
        summary: Line of `openoutcry --help`; the first line of the help of the command itself.
        epilog: Name of its examples in the module; None for a group: its members have their own.
        members: First words that run another command, each with the module that implements it.
    """

    module: str
    summary: str
    epilog: str | None = "EXAMPLES"
    members: Mapping[str, str] = MappingProxyType({})


COMMANDS = {
    "demo": Command("demo", "Rank the baseline agents on the bundled markets."),
    "run": Command("run", "Run an agent over a window of a market and print its metrics."),
    "replay": Command("replay", "Recompute a record from its decisions and compare every step.", "REPLAY_EXAMPLES"),
    "diff": Command("replay", "Compare two records: setting differences and the first divergence.", "DIFF_EXAMPLES"),
    "report": Command(
        "report",
        "Replay a record and write the report of its run.",
        members={"compare": "report_compare", "stability": "report_stability", "timing": "report_timing"},
    ),
    "conformance": Command("conformance", "Check that an agent conforms to the contract."),
    "score": Command("score", "Score agents by their records or returns, and rank them."),
    "leakcheck": Command("leakcheck", "Find look-ahead in a feature pipeline, an environment or an agent."),
    "realism": Command("realism", "Check a market against stylized facts of real returns."),
    "martingale": Command("martingale", "Run trading bots on martingale prices, where expected profit is zero."),
    "contamination": Command("contamination", "Test whether an agent has memorized a market."),
    "mcp": Command("mcp", "Serve episodes to a client of the Model Context Protocol (MCP)."),
    "power": Command("power", "Compute the statistical power of a comparison of N agents over T days."),
    "bench": Command("bench", "Measure speed, memory, import time and package size on this machine."),
    "data": Command("data", "List, describe, check and compare markets.", None),
    "suite": Command("suite", "Show, seal and run evaluation suites.", None),
    "sandbox": Command("sandbox", "Show and test the sandbox of agents on this machine.", None),
    "ledger": Command("ledger", "List, rank, verify and export the runs of the ledger.", None),
    "research": Command("research", "Search for trading strategies, and validate them on a sealed holdout.", None),
    "arena": Command("arena", "Serve, enter and verify a forecasting competition with a public log.", None),
}


def command_of(name: str) -> Any:
    """Import the module of a command and return its Typer command."""
    module = import_module(f"openoutcry.cli.{COMMANDS[name].module}")
    # With a callback Typer always builds a group, and the members of a group are commands.
    family = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    family.callback()(_nothing)
    epilog = COMMANDS[name].epilog
    if epilog is None:
        family.add_typer(module.app, name=name)
    else:
        family.command(name, cls=_with_members(name), epilog=getattr(module, epilog))(getattr(module, name))
    group: Any = typer.main.get_group(family)
    return single_values(group.commands[name])


def single_values(command: Any) -> Any:
    """Return a command that refuses a second value of an option that takes one.

    Otherwise the last value would win, and the others would have no effect.
    """
    for member in getattr(command, "commands", {}).values():
        single_values(member)
    parse_args = command.parse_args

    def parse_once(ctx: Any, args: list[str]) -> list[str]:
        given = [] if ctx.resilient_parsing else command.make_parser(ctx).parse_args(args=list(args))[2]
        for option, times in Counter(given).items():
            takes_one = option.param_type_name == "option" and not (option.is_flag or option.multiple or option.count)
            if takes_one and times > 1:
                name = max(option.opts, key=len)
                raise refusal(
                    "argument_invalid",
                    f"`{name}` must be given once; received it {times} times; hint: leave out all but one",
                )
        parsed: list[str] = parse_args(ctx, args)
        return parsed

    command.parse_args = parse_once
    return command


def _with_members(name: str) -> type[TyperCommand]:
    """Return the class of a command that runs a member if its first word names one."""
    members = COMMANDS[name].members

    class Family(TyperCommand):
        def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
            if not args or args[0] not in members:
                return super().make_context(info_name, args, parent, **extra)
            member = _member(members[args[0]], args[0])
            return member.make_context(f"{info_name} {args[0]}", list(args[1:]), parent, **extra)

    return Family if members else TyperCommand


def _member(module_name: str, word: str) -> Any:
    module = import_module(f"openoutcry.cli.{module_name}")
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    alone.command(word, epilog=module.EXAMPLES)(getattr(module, word))
    return single_values(typer.main.get_command(alone))


def _nothing() -> None:
    """Placeholder of a command that has not been imported."""


class _LazyGroup(TyperGroup):
    """A group that imports a command when it runs, not for the list of commands."""

    _is_listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._is_listing or cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        return command_of(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._is_listing = False


app = typer.Typer(
    name="openoutcry",
    cls=_LazyGroup,
    help="The open trading floor for agents. Start with `openoutcry demo`.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for _name, _row in COMMANDS.items():
    app.command(_name, help=_row.summary)(_nothing)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print versions, and digests of the engine and of markets."),
    as_json: bool = typer.Option(False, "--json", help="Print them as JSON."),
) -> None:
    if version:
        from openoutcry.cli import version_info

        (echo_json if as_json else echo_lines)(version_info.version_text(as_json))
        raise typer.Exit
    if as_json:
        raise refusal("argument_invalid", "`--json` must follow a command or go with `--version`; received it alone")
