"""The files that an agent is begun with, which a report binds."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from openoutcry.harness import CommandAgent, Launcher, PythonAgent

_CHUNK = 2**20


def files_of(launcher: Launcher) -> dict[str, str] | None:
    """Return the SHA-256 of each file that an agent is begun with.

    They are the program and each argument that is a file which can be read, under the names that the command has for
    them, or the module of a function. What they import or open is not among them. None for what is begun elsewhere, a
    server, or in this process.
    """
    if isinstance(launcher, CommandAgent):
        program, *arguments = shlex.split(launcher.name)
        found = {each: Path(each) for each in arguments} | {program: Path(shutil.which(program) or program)}
    elif isinstance(launcher, PythonAgent):
        module = launcher.name.partition(":")[0]
        found = {module: _file_of(module)}
    else:
        return None
    return {name: _sha256(path) for name, path in sorted(found.items()) if _is_readable(path)}


def unchanged(before: dict[str, str], after: dict[str, str]) -> list[dict[str, str | None]]:
    """Return files as reports hold them.

    Those that were others after the examination have no digest.
    """
    return [{"name": name, "sha256": digest if after.get(name) == digest else None} for name, digest in before.items()]


def _file_of(module: str) -> Path:
    """Return the file of a module, which is not imported for it."""
    names = module.split(".")
    places = [str(Path.cwd()), *os.environ.get("PYTHONPATH", "").split(os.pathsep), *sys.path]
    origin = None
    for i in range(len(names)):
        spec = PathFinder.find_spec(".".join(names[: i + 1]), places)
        if spec is None:
            return Path()
        origin = spec.origin
        places = list(spec.submodule_search_locations or ())
    return Path(origin or "")


def _is_readable(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.R_OK)
    except (OSError, ValueError):
        # No name of a file, such as the text behind `python -c`, which is too long for one.
        return False


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
