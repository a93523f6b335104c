"""The command line in this process: what a user types, without the second that a process of its own takes to begin."""

from __future__ import annotations

import contextlib
import importlib
import io
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from openoutcry.cli import main


def typed(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Return what `openoutcry` with these words ends with and prints, as a process of its own would.

    What a word names is imported from `cwd` and forgotten again.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    begun = _as_begun([str(word) for word in words], cwd or Path.cwd())
    with begun, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _ended()
    said = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(["openoutcry", *words], code, *said)


def _ended() -> int:
    """Return the exit code of the command, with what Python would print of an exception."""
    try:
        main()
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except Exception:  # noqa: BLE001 what Python does at the end of a program
        traceback.print_exc()
        return 1
    return 0


@contextlib.contextmanager
def _as_begun(words: list[str], folder: Path) -> Iterator[None]:
    argv, path, modules = sys.argv, list(sys.path), set(sys.modules)
    sys.argv = ["openoutcry", *words]
    importlib.invalidate_caches()
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        sys.argv, sys.path[:] = argv, path
        for name in set(sys.modules) - modules:
            if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder.resolve()):
                del sys.modules[name]
