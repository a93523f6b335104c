"""What somebody may have meant who named an agent that there is not."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openoutcry import agents
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

_RUNS = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".sh": "bash", ".rb": "ruby", ".pl": "perl"}


@contextmanager
def suggesting_names(name: str) -> Iterator[None]:
    """Say beside the refusal of an agent's name what may have been meant."""
    try:
        yield
    except OpenOutcryError as error:
        meant = None if getattr(error, "slug", "") != "unknown_agent" or "hint: " in str(error) else suggested_name(name)
        if meant is None:
            raise
        raise refusal("unknown_agent", f"{str(error).removeprefix('unknown_agent: ')}; hint: {meant}") from error


def suggested_name(name: str) -> str | None:
    """Return the name of the agent that was meant.

    None if there is nothing to tell it by. It is a file or a command without `cmd:`, a module without its function, a
    file in place of a module, or a server without `http://`.
    """
    if name.startswith("cmd:"):
        return _meant_by_command(name.removeprefix("cmd:"))
    if name in agents.NAMES or name.startswith(("http://", "https://")):
        return None
    host, colon, port = name.rpartition(":")
    if colon and port.isdecimal() and not any(map(str.isspace, host)) and not _is_file(name):
        return f"`http://{host or '127.0.0.1'}:{port}`"
    try:
        words = shlex.split(name)
    except ValueError:
        return None
    if len(words) > 1:
        is_command = shutil.which(words[0]) is not None or any(_is_file(word) for word in words)
        return f'`"cmd:{name}"`' if is_command else None
    path, _, function = (name, "", "") if _is_file(name) else name.partition(":")
    return _meant_by_file(path, function) if words else None


def _meant_by_command(command: str) -> str | None:
    """Return the command that was meant by one whose program is a script."""
    script = command.split(maxsplit=1)[0] if command.strip() else ""
    runs = _RUNS.get(Path(script).suffix)
    return None if runs is None or not _is_file(script) else f'`"cmd:{runs} {command.strip()}"`'


def _meant_by_file(path: str, function: str) -> str | None:
    file = Path(path)
    if file.suffix == ".py" and _is_file(path):
        modules = ".".join(file.with_suffix("").parts)
        is_module = all(part.isidentifier() for part in file.with_suffix("").parts)
        as_module = f"`{modules}:{function or 'decide'}`"
        if function:
            return as_module if is_module else None
        return f'`"cmd:python {shlex.quote(path)}"`' + (f", or {as_module} for a function of it" if is_module else "")
    if function:
        return None
    if _is_file(path):
        program = _RUNS.get(file.suffix)
        runs = f"{program} {shlex.quote(path)}" if program else shlex.quote(str(file.absolute()))
        return f'`"cmd:{runs}"`' if program or os.access(path, os.X_OK) else None
    is_module = path.replace(".", "").isidentifier() and _is_file(path.replace(".", "/") + ".py")
    return f"`{path}:decide`" if is_module else None


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        # No name of a file: too long, or with a zero byte.
        return False
