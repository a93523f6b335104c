"""Lint: every print, log message and exit text of the package goes through `openoutcry.untrusted`.

A text of unknown origin, such as the name of an agent, could otherwise control the terminal.
"""

from __future__ import annotations

import ast

import pytest
from layer_checks import TEXTS

pytestmark = pytest.mark.once

# Functions that return text without control characters, or a number.
READABLE = {"readable", "readable_lines", "readable_text", "readable_message", "len"}
LOGGERS = {"logging", "_LOG", "_LOGGER", "logger"}
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
# What prints markup and control characters as they are.
PRINTERS = {"rich.print", "rich.console", "rich.progress", "rich.markup", "rich.live", "rich.logging"}
# Modules that write themselves, with the reason.
OWN = {
    "openoutcry.untrusted.rich_console": "it escapes what it writes",
    "openoutcry.agents.python_worker": "it runs without the package; the harness escapes its output",
    "openoutcry.harness.sandbox.launcher": "it runs without the package; the harness escapes its output",
    "openoutcry.arena.verifier": "it runs without the package, and escapes what it prints",
    "openoutcry.arena.rescoring": "it runs without the package, and escapes what it prints",
}


def faults_of(text: str) -> list[str]:
    """Return the lines of a module that write without escaping, with the call."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{each.name}" for each in node.names} | {node.module or ""}
            found += [f"{node.lineno}: {name}" for name in names & PRINTERS]
        if isinstance(node, ast.Call) and is_unsafe(node):
            found.append(f"{node.lineno}: {ast.unparse(node.func)}")
    return found


def is_unsafe(call: ast.Call) -> bool:
    """Return whether a call writes to a terminal or a log without escaping."""
    name = ast.unparse(call.func)
    owner, _, method = name.rpartition(".")
    last = owner.rpartition(".")[2]
    writes = method in {"write", "writelines"} and last in {"stdout", "stderr", "buffer", "__stdout__", "__stderr__"}
    prints = name == "print" or (last == "traceback" and method.startswith("print"))
    echoes = method in {"echo", "secho", "echo_via_pager"} and last in {"typer", "click"}
    if writes or prints or echoes or name == "argparse.ArgumentParser":
        return True
    if last in LOGGERS and method in LEVELS:
        return not all(is_readable(each) for each in call.args)
    if name in {"warnings.warn", "warn", "parser.error"}:
        return not is_readable(call.args[0])
    if name in {"SystemExit", "sys.exit", "exit"} and call.args:
        return isinstance(call.args[0], (ast.JoinedStr, ast.BinOp))
    return False


def is_readable(value: ast.expr) -> bool:
    """Return whether a value is a constant, or the result of a function that escapes."""
    is_call = isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in READABLE
    return is_call or isinstance(value, ast.Constant)


@pytest.mark.parametrize("module", sorted(TEXTS))
def test_a_module_prints_only_readable_text(module: str) -> None:
    found = faults_of(TEXTS[module])
    assert bool(found) if module in OWN else found == []


PLANTED = [
    "print(name)",
    "sys.stdout.write(name)",
    "sys.stderr.buffer.write(name)",
    "typer.echo(name)",
    "click.secho(name)",
    "from rich.console import Console",
    "from rich.progress import Progress",
    "from rich import print",
    "traceback.print_exc()",
    "warnings.warn(f'{name}: unknown', stacklevel=2)",
    "_LOG.warning('refused: %s', name)",
    "_LOGGER.error(f'refused: {name}')",
    "logging.info(name)",
    "parser.error(f'refused: {name}')",
    "raise SystemExit(f'refused: {name}')",
    "sys.exit('refused: ' + name)",
    "argparse.ArgumentParser()",
]


@pytest.mark.parametrize("line", PLANTED)
def test_a_planted_print_is_found(line: str) -> None:
    assert faults_of(line) != []


@pytest.mark.parametrize(
    "line",
    [
        "echo(name)",
        "from rich.table import Table",
        "_LOG.warning('refused: %s', readable(name))",
        "warnings.warn(native.readable_text(name), stacklevel=2)",
        "_LOG.exception('the record could not be written')",
        "sys.exit(2)",
        "file.write(name)",
    ],
)
def test_a_readable_print_is_allowed(line: str) -> None:
    assert faults_of(line) == []
