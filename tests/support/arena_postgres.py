"""A temporary PostgreSQL server for tests, if PostgreSQL is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PLACES = [*map(Path, os.environ.get("PATH", "").split(os.pathsep)), *Path("/usr/lib/postgresql").glob("*/bin")]


def _program(name: str) -> Path:
    found = next((place / name for place in _PLACES if (place / name).exists()), None)
    return found or pytest.skip(f"needs {name} of PostgreSQL")


@contextmanager
def postgres() -> Iterator[str]:
    """Start a temporary server on a Unix socket and return its URL."""
    pytest.importorskip("psycopg")
    init, control = _program("initdb"), _program("pg_ctl")
    # PostgreSQL refuses to run as root.
    user = "nobody" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="arena-pg-"))
    if user is not None:
        shutil.chown(folder, user)

    def run(*words: object) -> None:
        subprocess.run(list(map(str, words)), check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    try:
        run(init, "-D", folder / "data", "-U", "arena", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(control, "-D", folder / "data", "-o", options, "-l", folder / "log", "-w", "start")
        try:
            yield f"postgresql+psycopg://arena@/postgres?host={folder}"
        finally:
            run(control, "-D", folder / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)
