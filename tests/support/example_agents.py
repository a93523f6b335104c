"""The reference agents of `examples/`: builds them and returns their commands, or skips the test."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
COMPILER = ("typescript@5.9.3", "@types/node@20.19.25")
LANGUAGES = ("py", "ts", "rs", "sh")
"""The agents that are commands; the fifth is an HTTP server."""


def command_of(language: str, folder: Path) -> list[str]:
    """Copy a reference agent to an empty folder and return its command.

    A missing compiler or interpreter skips the test, or fails it if `CI` is set.
    """
    if language == "rs":
        return [str(_put(_rust(), folder))]
    agent = _put(EXAMPLES / f"reference-agent.{language}", folder)
    if language == "py":
        return [sys.executable, str(agent)]
    if language == "sh":
        _need("jq")
        return [_need("bash"), str(agent)]
    _compile(agent)
    return [_need("node"), str(agent.with_suffix(".js"))]


def _put(path: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return Path(shutil.copy(path, folder))


def _need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        message = f"not run: needs {program}; hint: scripts/install-system tests"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    assert found is not None
    return found


def _rust() -> Path:
    # Build the complete workspace, so that the artifacts of its tests are reused.
    words = "build --quiet --locked --workspace --example reference-agent --message-format=json"
    made = subprocess.run([_need("cargo"), *words.split()], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return Path(next(path for line in made.splitlines() if (path := json.loads(line).get("executable"))))


def _compile(agent: Path) -> None:
    words = ["--strict", "--target", "es2022", "--module", "commonjs", "--types", "node", "--skipLibCheck"]
    compiler = _compiler() / "node_modules"
    types = ["--typeRoots", str(compiler / "@types")]
    where = ["--outDir", str(agent.parent), str(agent)]
    done = subprocess.run([_need("node"), compiler / "typescript/bin/tsc", *words, *types, *where], capture_output=True)
    assert done.returncode == 0, done.stdout.decode()


def _compiler() -> Path:
    """Return the folder of the TypeScript compiler, downloaded at first use."""
    kept = ROOT / "target" / "-".join(["tsc", *(name.rpartition("@")[2] for name in COMPILER)])
    if not kept.exists():
        download = kept.with_name(f"{kept.name}.{os.getpid()}")
        download.mkdir(parents=True)
        options = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run([_need("npm"), "install", "--prefix", download, *options, *COMPILER], check=True, cwd=download)
        download.rename(kept)
    return kept


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Yield the URL of the HTTP reference agent."""
    folder.mkdir(exist_ok=True)
    log = folder / "served.log"
    command = [sys.executable, str(EXAMPLES / "reference-agent-http.py"), "--port", "0"]
    with log.open("wb") as written, subprocess.Popen(command, stderr=written, stdin=subprocess.DEVNULL) as server:
        try:
            yield _address(server, log)
        finally:
            server.terminate()


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + 60.0
    while server.poll() is None and time.monotonic() < until:
        found = re.search(r"running on (http://127\.0\.0\.1:\d+)", log.read_text(encoding="utf-8"))
        if found:
            return found[1]
        time.sleep(0.02)
    raise AssertionError(f"the server has not started: {log.read_text(encoding='utf-8')}")
