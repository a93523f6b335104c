"""Run a command in a child process, and report its progress."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

import typer

from openoutcry.errors import refusal

_DONE = b"."
_PATIENCE_SECONDS = 5.0


def run_in_child() -> None:
    """Fork and continue in the child, to detect a target that exits the process.

    The parent does not return: it exits with the code of the child, or raises if the child did not exit by itself. On a
    system without `fork`, the process continues.

    Raises:
        OpenOutcryError: `argument_invalid`: the target ended the process.
    """
    if not hasattr(os, "fork"):
        return
    listen, speak = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(listen)
        # Written at the normal exit of the interpreter, which `os._exit` and `exec` skip.
        atexit.register(os.write, speak, _DONE)
        return
    os.close(speak)
    _, status = os.waitpid(child, 0)
    # Non-blocking: processes of the target may outlive it and hold the pipe open.
    os.set_blocking(listen, False)
    try:
        has_finished = os.read(listen, 1) == _DONE
    except BlockingIOError:
        has_finished = False
    code = os.waitstatus_to_exitcode(status)
    if has_finished:
        raise typer.Exit(code)
    how = f"exit code {code}" if code >= 0 else f"signal {-code}"
    raise refusal("argument_invalid", f"`target` must not end the process; received its exit with {how}")


class Progress:
    """Prints every few seconds the finished runs and the remaining time."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._now = stream, now
        self._started = self._printed = now()

    def __call__(self, n_done: int, n_runs: int) -> None:
        """Print the progress, if the last line is a few seconds old."""
        now = self._now()
        if now - self._printed >= _PATIENCE_SECONDS:
            self._printed = now
            left = (now - self._started) / n_done * (n_runs - n_done)
            self._stream.write(f"leakcheck: {n_done} of {n_runs} runs, about {left:.0f} s left\n")
            self._stream.flush()
