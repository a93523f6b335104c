"""A child process that does the work of a command, and how far it is."""

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


def watched() -> None:
    """Go on in a child process, so that a target that ends it does not pass.

    The parent never returns: it ends with the exit code of the child, or is refused where the child did not come to its
    end. Where the system cannot fork, the process itself goes on.
    """
    if not hasattr(os, "fork"):
        return
    listen, speak = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(listen)
        # Last of what the interpreter does at its end, which `os._exit` and another program in its place leave out.
        atexit.register(os.write, speak, _DONE)
        return
    os.close(speak)
    _, status = os.waitpid(child, 0)
    # Not to wait for processes of the target that outlive it.
    os.set_blocking(listen, False)
    try:
        has_ended = os.read(listen, 1) == _DONE
    except BlockingIOError:
        has_ended = False
    code = os.waitstatus_to_exitcode(status)
    if has_ended:
        raise typer.Exit(code)
    how = f"exit code {code}" if code >= 0 else f"signal {-code}"
    raise refusal("argument_invalid", f"`target` must not end the process; received its end with {how}")


class Progress:
    """Says every few seconds how many runs are done, and how many are left."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._now = stream, now
        self._begun = self._told = now()

    def __call__(self, n_done: int, n_runs: int) -> None:
        """Say that so many of all runs are done, if it was not said for a while."""
        now = self._now()
        if now - self._told >= _PATIENCE_SECONDS:
            self._told = now
            left = (now - self._begun) / n_done * (n_runs - n_done)
            self._stream.write(f"leakcheck: {n_done} of {n_runs} runs, about {left:.0f} s left\n")
            self._stream.flush()
