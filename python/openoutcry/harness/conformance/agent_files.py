"""SHA-256 of the files of an agent, for its report."""

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
    """Return the SHA-256 of each file that starts an agent, by its name.

    The files are the program and each argument that is a readable file, or the module of a function. Files that these
    import or open are not included. The result is None for a server and for a callable in this process.
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


def file_entries(before: dict[str, str], after: dict[str, str]) -> list[dict[str, str | None]]:
    """Return the entries of files for a report; a changed file has no digest."""
    return [{"name": name, "sha256": digest if after.get(name) == digest else None} for name, digest in before.items()]


def _file_of(module: str) -> Path:
    """Return the file of a module without importing it."""
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
        # Not a file name, such as the code of `python -c`, which may be too long for one.
        return False


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
