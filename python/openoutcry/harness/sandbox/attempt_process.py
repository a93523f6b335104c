"""One attempt made: a process that is started, told the place, bounded and ended."""

from __future__ import annotations

import ast
import builtins
import marshal
import os
import select
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

from openoutcry.harness.sandbox.sandbox import Launch

OUTPUT_BYTES = 2**16
START_SECONDS = 10.0


@dataclass(frozen=True)
class Made:
    """What came of a process.

    Attributes:
        output: What it wrote, up to a limit.
        stderr: The end of what it complained of.
        code: Its exit code; a signal is negative.
        killed: Why it was killed, if it was.
        is_left: Whether any of its group lives on.
    """

    output: str
    stderr: str
    code: int
    killed: str | None
    is_left: bool

    @property
    def begun(self) -> bool:
        """Whether the attempt itself was reached."""
        return "begun\n" in self.output

    @property
    def told(self) -> dict[str, Any]:
        """What it said of itself last."""
        _, _, text = self.output.partition("begun\n")
        with suppress(ValueError, SyntaxError):
            told = ast.literal_eval(text.rstrip("\n").rpartition("\n")[2])
            return told if isinstance(told, dict) else {}
        return {}

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.killed:
            return f"killed {self.killed}"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"

    def is_wall(self, names: Sequence[str]) -> bool:
        """Return whether what stopped it is an error of one of these kinds."""
        kind = getattr(builtins, str(self.told["stopped"]).partition(":")[0], None)
        return isinstance(kind, type) and any(issubclass(kind, getattr(builtins, name)) for name in names)


def make(launch: Launch, told: bytes, descriptor: int, seconds: float) -> Made:
    """Start a process, tell it the place, and end its group in some seconds.

    Args:
        launch: What to start.
        told: A line for its standard input.
        descriptor: A file that it is given besides its pipes.
        seconds: Time from when it has begun.
    """
    process, (stdin, stdout, stderr) = _start(launch, descriptor)
    try:
        with suppress(BrokenPipeError):
            stdin.write(told)
        output, killed = _read(stdout.fileno(), seconds)
        # Who has written all has yet to end.
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.0 if killed else 0.5)
    finally:
        is_left = _end(process)
    last = _last(stderr.fileno())
    for pipe in (stdin, stdout, stderr):
        pipe.close()
    return Made(output.decode("utf-8", "replace"), last, process.returncode, killed, is_left)


class Server:
    """A process that makes attempts, each in a fork of its own.

    That takes less time than a start of Python for each. Where a worker may not fork, `make` starts it.

    Args:
        launch: What to start, `serve.py` in or out of a sandbox.
        descriptor: A file that it is given besides its pipes.
    """

    def __init__(self, launch: Launch, descriptor: int) -> None:
        self._process, self._pipes = _start(launch, descriptor)

    def make(self, module: str, name: str, place: dict[str, Any], seconds: float) -> Made:
        """Make an attempt."""
        stdin, stdout, stderr = self._pipes
        request, answer = marshal.dumps((module, name, place, seconds)).hex().encode() + b"\n", b""
        with suppress(BrokenPipeError):
            stdin.write(request)
        ready = select.poll()
        ready.register(stdout, select.POLLIN)
        while not answer.endswith(b"\n"):
            waited = ready.poll((START_SECONDS + seconds) * 1000.0)
            chunk = os.read(stdout.fileno(), OUTPUT_BYTES) if waited else b""
            if not chunk:
                is_left = _end(self._process)
                return Made("", _last(stderr.fileno()), self._process.returncode, None, is_left)
            answer += chunk
        output, code, killed = marshal.loads(bytes.fromhex(answer.decode()))
        return Made(output.decode("utf-8", "replace"), "", code, killed, False)

    def close(self) -> None:
        """End the process and whatever is left of its attempts."""
        _end(self._process)
        for pipe in self._pipes:
            pipe.close()


def _start(launch: Launch, descriptor: int) -> tuple[subprocess.Popen[bytes], tuple[IO[bytes], IO[bytes], IO[bytes]]]:
    process = subprocess.Popen(
        launch.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(launch.environment),
        pass_fds=(descriptor,),
        bufsize=0,
    )
    pipes = process.stdin, process.stdout, process.stderr
    assert all(pipes), "three pipes were asked for"
    stdin, stdout, stderr = (pipe for pipe in pipes if pipe)
    return process, (stdin, stdout, stderr)


def _last(descriptor: int) -> str:
    """Return the last line of what was complained of."""
    *_, last = os.read(descriptor, OUTPUT_BYTES).decode("utf-8", "replace").strip().splitlines() or [""]
    return last


def _read(descriptor: int, seconds: float) -> tuple[bytes, str | None]:
    """Return what is written, and why it was not read to its end."""
    output, until, has_begun = b"", monotonic() + START_SECONDS, False
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    while len(output) <= OUTPUT_BYTES:
        if not ready.poll(max(0.0, until - monotonic()) * 1000.0):
            return output, f"after {seconds if has_begun else START_SECONDS:g} s"
        chunk = os.read(descriptor, OUTPUT_BYTES)
        if not chunk:
            return output, None
        output += chunk
        if not has_begun:
            has_begun, until = True, monotonic() + seconds
    return output[:OUTPUT_BYTES], "after 64 KiB without an end"


def _end(process: subprocess.Popen[bytes]) -> bool:
    """Kill a process and its group, reap it, and return whether any is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for _ in range(20):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        if not _lives(process.pid):
            return False
        sleep(0.005)
    return True


def _lives(group: int) -> bool:
    """Return whether a group has more than entries that nobody has reaped."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # What follows the name: state, parent, group.
            state, _, found = path.read_text().rpartition(")")[2].split()[:3]
            if int(found) == group and state not in "ZX":
                return True
    return False
