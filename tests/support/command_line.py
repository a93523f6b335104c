"""Run the `openoutcry` command in this process, which saves the start-up time of a new one."""

from __future__ import annotations

import contextlib
import importlib
import io
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import openoutcry
from openoutcry.cli import main

# Modules that stay imported after a command: the package and its libraries.
KEPT = (Path(openoutcry.__file__).parent, Path(sys.prefix).resolve())


def typed(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `openoutcry` with these arguments, and return its exit code and output.

    Modules that the command imports from `cwd` are unloaded again.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    started = _started([str(word) for word in words], cwd or Path.cwd())
    with started, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _exit_code()
    texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(["openoutcry", *words], code, *texts)


def _exit_code() -> int:
    """Return the exit code of the command; print an exception as Python does."""
    try:
        main()
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except Exception:  # noqa: BLE001 as at the end of a program
        traceback.print_exc()
        return 1
    return 0


@contextlib.contextmanager
def _started(words: list[str], folder: Path) -> Iterator[None]:
    argv, path, modules = sys.argv, list(sys.path), set(sys.modules)
    sys.argv = ["openoutcry", *words]
    importlib.invalidate_caches()
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.argv, sys.path[:] = argv, path
        for name in set(sys.modules) - modules:
            file = Path(getattr(sys.modules[name], "__file__", None) or "/")
            if file.is_relative_to(folder.resolve()) and not any(file.is_relative_to(kept) for kept in KEPT):
                del sys.modules[name]
