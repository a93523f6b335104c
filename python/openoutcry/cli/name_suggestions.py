"""Suggest an agent name when the given one is unknown."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openoutcry import agents
from openoutcry.arguments import is_url
from openoutcry.backtest.decision_makers import similar_name
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.backtest.strategies.strategy_text import text_of_strategy
from openoutcry.errors import refusal
from openoutcry.harness.agent_lookup import public_name
from openoutcry.harness.command_secrets import public_command
from openoutcry.openoutcry_py import OpenOutcryError

_INTERPRETERS = {
    ".py": "python",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".sh": "bash",
    ".rb": "ruby",
    ".pl": "perl",
}


@contextmanager
def suggesting_names(name: str) -> Iterator[None]:
    """Add a hint with a suggested name to an `unknown_agent` error."""
    try:
        yield
    except OpenOutcryError as error:
        is_hinted = getattr(error, "slug", "") != "unknown_agent" or "hint: " in str(error)
        suggestion = None if is_hinted else suggested_name(name) or _missing_program(name)
        if suggestion is None:
            raise
        raise refusal("unknown_agent", f"{str(error).removeprefix('unknown_agent: ')}; hint: {suggestion}") from error


def suggested_name(name: str) -> str | None:
    """Return a suggestion for an unknown agent name; None without one.

    Suggestions cover a file or command without `cmd:`, a module without its function, a file instead of a module, a
    server without `http://`, and a misspelled baseline or strategy.
    """
    if name.startswith("cmd:"):
        return _suggested_command(name.removeprefix("cmd:"))
    if name in agents.NAMES or name in LIBRARY or is_url(name):
        return None
    host, colon, port = name.rpartition(":")
    if colon and port.isdecimal() and not any(map(str.isspace, host)) and not _is_file(name):
        return f"`http://{public_name(host) or '127.0.0.1'}:{port}`"
    try:
        words = shlex.split(name)
    except ValueError:
        return None
    if len(words) > 1:
        is_command = shutil.which(words[0]) is not None or any(_is_file(word) for word in words)
        return f'`"{public_name(f"cmd:{name}")}"`' if is_command else None
    path, _, function = (name, "", "") if _is_file(name) else name.partition(":")
    return (_suggested_for_file(path, function) if words else None) or _similar_agent(name)


def _similar_agent(name: str) -> str | None:
    """Return the baseline or strategy with the most similar name."""
    head, colon, _ = name.partition(":")
    if colon and head in LIBRARY:
        return f"`{text_of_strategy(LIBRARY[head]())}`"
    similar = similar_name(name)
    return None if similar is None else f"`{similar}`"


def _missing_program(name: str) -> str | None:
    """Return a hint for a command with a missing program."""
    try:
        words = shlex.split(name.removeprefix("cmd:")) if name.startswith("cmd:") else []
    except ValueError:
        return None
    is_missing = bool(words) and shutil.which(words[0]) is None
    return f"install `{public_command(words[0])}`, or give the path of the program" if is_missing else None


def _suggested_command(command: str) -> str | None:
    """Return a suggestion for a command that lacks its interpreter."""
    script = command.split(maxsplit=1)[0] if command.strip() else ""
    interpreter = _INTERPRETERS.get(Path(script).suffix)
    return (
        None
        if interpreter is None or not _is_file(script)
        else f'`"cmd:{interpreter} {public_command(command.strip())}"`'
    )


def _suggested_for_file(path: str, function: str) -> str | None:
    file = Path(path)
    if file.suffix == ".py" and _is_file(path):
        modules = ".".join(file.with_suffix("").parts)
        is_module = all(part.isidentifier() for part in file.with_suffix("").parts)
        as_module = f"`{modules}:{function or 'decide'}`"
        if function:
            return as_module if is_module else None
        return f'`"cmd:python {shlex.quote(path)}"`' + (
            f", or {as_module} to call a function in it" if is_module else ""
        )
    if function:
        return None
    if _is_file(path):
        program = _INTERPRETERS.get(file.suffix)
        command = f"{program} {shlex.quote(path)}" if program else shlex.quote(str(file.absolute()))
        return f'`"cmd:{command}"`' if program or os.access(path, os.X_OK) else None
    is_module = path.replace(".", "").isidentifier() and _is_file(path.replace(".", "/") + ".py")
    return f"`{path}:decide`" if is_module else None


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        # Not a valid file name: too long, or with a zero byte.
        return False
