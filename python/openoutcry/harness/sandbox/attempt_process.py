"""Processes of escape attempts, with timeouts."""

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
class AttemptResult:
    """The result of an attempt's process.

    Attributes:
        output: Its output, up to a limit.
        stderr: The last line of its standard error.
        code: Its exit code, negative for a signal.
        killed: Why it was killed; None if it was not.
        left_running: Whether a process of its group still runs.
    """

    output: str
    stderr: str
    code: int
    killed: str | None
    left_running: bool

    @property
    def started(self) -> bool:
        """Whether the attempt itself started."""
        return "started\n" in self.output

    @property
    def report(self) -> dict[str, Any]:
        """The `dict` on the last line of its output; empty if there is none."""
        _, _, text = self.output.partition("started\n")
        with suppress(ValueError, SyntaxError):
            report = ast.literal_eval(text.rstrip("\n").rpartition("\n")[2])
            return report if isinstance(report, dict) else {}
        return {}

    @property
    def ending(self) -> str:
        """A description of its exit."""
        if self.killed:
            return f"killed {self.killed}"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"

    def is_refusal(self, names: Sequence[str]) -> bool:
        """Return whether an exception of one of the named types stopped it."""
        kind = getattr(builtins, str(self.report["stopped"]).partition(":")[0], None)
        return isinstance(kind, type) and any(issubclass(kind, getattr(builtins, name)) for name in names)


def run_attempt(launch: Launch, request: bytes, descriptor: int, seconds: float) -> AttemptResult:
    """Start the process of one attempt and kill its group after a timeout.

    Args:
        launch: What to start.
        request: A line for its standard input.
        descriptor: A file that it inherits in addition to its pipes.
        seconds: Timeout, from its first output.
    """
    process, (stdin, stdout, stderr) = _start(launch, descriptor)
    try:
        with suppress(BrokenPipeError):
            stdin.write(request)
        output, killed = _read(stdout.fileno(), seconds)
        # The process exits shortly after it has closed its output.
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.0 if killed else 0.5)
    finally:
        left_running = _end(process)
    last = _last(stderr.fileno())
    for pipe in (stdin, stdout, stderr):
        pipe.close()
    return AttemptResult(output.decode("utf-8", "replace"), last, process.returncode, killed, left_running)


class AttemptServer:
    """A process that runs attempts, each in a fork of it.

    A fork is faster than a start of Python. In a sandbox that forbids forks, use `run_attempt`.

    Args:
        launch: What to start: `attempt_server.py`, inside or outside a sandbox.
        descriptor: A file that it inherits in addition to its pipes.
    """

    def __init__(self, launch: Launch, descriptor: int) -> None:
        self._process, self._pipes = _start(launch, descriptor)

    def run(self, module: str, name: str, target: dict[str, Any], seconds: float) -> AttemptResult:
        """Run an attempt."""
        stdin, stdout, stderr = self._pipes
        request, answer = marshal.dumps((module, name, target, seconds)).hex().encode() + b"\n", b""
        with suppress(BrokenPipeError):
            stdin.write(request)
        ready = select.poll()
        ready.register(stdout, select.POLLIN)
        while not answer.endswith(b"\n"):
            waited = ready.poll((START_SECONDS + seconds) * 1000.0)
            chunk = os.read(stdout.fileno(), OUTPUT_BYTES) if waited else b""
            if not chunk:
                left_running = _end(self._process)
                return AttemptResult("", _last(stderr.fileno()), self._process.returncode, None, left_running)
            answer += chunk
        output, code, killed = marshal.loads(bytes.fromhex(answer.decode()))
        return AttemptResult(output.decode("utf-8", "replace"), "", code, killed, False)

    def close(self) -> None:
        """Kill the process and the remaining processes of its attempts."""
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
    assert all(pipes), "three pipes were requested"
    stdin, stdout, stderr = (pipe for pipe in pipes if pipe)
    return process, (stdin, stdout, stderr)


def _last(descriptor: int) -> str:
    """Return the last line of standard error."""
    *_, last = os.read(descriptor, OUTPUT_BYTES).decode("utf-8", "replace").strip().splitlines() or [""]
    return last


def _read(descriptor: int, seconds: float) -> tuple[bytes, str | None]:
    """Return the output of a descriptor, and why it was not read to its end."""
    output, deadline, has_started = b"", monotonic() + START_SECONDS, False
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    while len(output) <= OUTPUT_BYTES:
        if not ready.poll(max(0.0, deadline - monotonic()) * 1000.0):
            return output, f"after {seconds if has_started else START_SECONDS:g} s"
        chunk = os.read(descriptor, OUTPUT_BYTES)
        if not chunk:
            return output, None
        output += chunk
        if not has_started:
            has_started, deadline = True, monotonic() + seconds
    return output[:OUTPUT_BYTES], "after 64 KiB without an end"


def _end(process: subprocess.Popen[bytes]) -> bool:
    """Kill and reap a process and its group; return whether any still runs."""
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
    """Return whether a group has a process that is not a zombie."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The fields after the name: state, parent, group.
            state, _, found = path.read_text().rpartition(")")[2].split()[:3]
            if int(found) == group and state not in "ZX":
                return True
    return False
