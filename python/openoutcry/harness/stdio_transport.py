"""Agents as child processes: JSON lines over standard input and output."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import NamedTuple, NoReturn

from openoutcry.errors import refusal
from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_session import Bounds, Session
from openoutcry.harness.command_secrets import public_words
from openoutcry.harness.stderr_capture import Show, StderrCapture, print_to_stderr
from openoutcry.untrusted.counted_nouns import counted

_CHUNK = 2**16
_MOST_BYTES = 2**20
"""Largest capacity of a pipe for a user without privileges."""
_HOST_ERRORS = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
# A fork of an agent that has exited may hold its pipes open: the end of the pipes alone does not show the exit.
_EXIT_POLL_SECONDS = 0.2
_HINT = "hint: the agent must read line by line and flush every line that it writes"
_SLEEP_SECONDS = 0.005


class ProcessExit(NamedTuple):
    """How a process exited after the end of its input.

    Attributes:
        code: Exit code, negative for a signal; None if the process had to be killed.
        extra_output: Standard output beyond the decisions.
        stderr: The last part of its standard error.
    """

    code: int | None
    extra_output: bytes
    stderr: str


class StdioSession(Session):
    """A child process that answers each input line with an output line.

    The process inherits three pipes and the given environment, no other descriptor and no terminal.

    Args:
        command: The program and its arguments.
        environment: The complete environment of the process.
        bounds: Limits of time and size.
        show: Receives the lines of its standard error.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        bounds: Bounds | None = None,
        show: Show = print_to_stderr,
    ) -> None:
        self._bounds = bounds or Bounds()
        if not hasattr(select, "poll"):
            message = f"an agent that is a program needs a POSIX system; received {sys.platform}"
            raise refusal("argument_invalid", message)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            if error.errno in _HOST_ERRORS:
                wanted = "the host must have a free process and file descriptor for each agent"
                raise AgentError("agent_not_started", f"{wanted}; received {error.strerror}") from error
            wanted = "an agent must be a program that can be run"
            raise refusal(
                "unknown_agent", f"{wanted}; received {public_words(command[:1])[0]!r}: {error.strerror}"
            ) from error
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        assert all(pipes), "three pipes were requested"
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe)
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._stderr_capture = StderrCapture(show, self._bounds.stderr_bytes)
        self._received = b""
        self._n_refused = 0
        self._n_unread = array("i", [0])
        self._extra_seconds = self._bounds.start_seconds
        self._is_closed = False
        self._is_killed = False

    @property
    def stderr(self) -> str:
        """The last part of the standard error of the process."""
        return self._stderr_capture.tail

    @property
    def is_stderr_cut(self) -> bool:
        """Whether the process wrote as much standard error as is forwarded, or more."""
        return self._stderr_capture.remaining <= 0

    def answer(self, observation: str) -> str:
        """Send an observation and return the decision.

        Raises:
            AgentError: the process has exited or is late, or its answer is too long, not UTF-8 or written too early.
        """
        self._check_no_early_output()
        seconds = self._bounds.answer_seconds + self._extra_seconds
        line = self._exchange(observation.encode() + b"\n", seconds)
        self._extra_seconds = 0.0
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            self._received = line
            self._fail("answer_not_text", f"an answer must be UTF-8; received {error.reason} at byte {error.start}")

    def inherit_limits(self, previous: Session) -> None:
        """Take over what the previous process left of the limit of standard error."""
        if isinstance(previous, StdioSession):
            self._stderr_capture.remaining = previous._stderr_capture.remaining

    def _check_no_early_output(self) -> None:
        for descriptor, _ in self._poll.poll(0):
            self._read(descriptor)
        if self._received:
            came = counted(len(self._received), "byte")
            self._fail("answer_too_early", f"an answer must come after its observation; received {came} before it")

    def _exchange(self, line: bytes, seconds: float) -> bytes:
        now = monotonic()
        deadline, next_check, has_exited = now + seconds, now + _EXIT_POLL_SECONDS, False
        unsent = self._send(line)
        if unsent:
            self._poll.register(self._stdin, select.POLLOUT)
        while True:
            wait = 0.0 if has_exited else max(0.0, min(deadline, next_check) - now)
            ready = [descriptor for descriptor, _ in self._poll.poll(wait * 1000.0)]
            for descriptor in ready:
                if descriptor != self._stdin:
                    self._read(descriptor)
                    continue
                unsent = self._send(unsent)
                if not unsent:
                    self._poll.unregister(self._stdin)
            answer = self._next_line()
            if answer is not None:
                self._check_observation_read(unsent)
                return answer
            # All output before the exit has been read.
            if has_exited and self._stdout not in ready:
                self._fail_as_dead()
            now = monotonic()
            if now > deadline:
                came = f"{counted(len(self._received), 'byte')} of a line" if self._received else f"nothing; {_HINT}"
                self._fail("agent_late", f"an agent must answer within {seconds:g} s; received {came}")
            if now >= next_check:
                next_check, has_exited = now + _EXIT_POLL_SECONDS, self._is_killed or self._has_exited()

    def _check_observation_read(self, unsent: bytes) -> None:
        """Check that the agent has read the observation that it answers.

        The output alone does not reveal surplus lines that are written at the pace of the observations.
        """
        n_unread = len(unsent) + self._n_refused + self._n_in_pipe()
        # The JSON text ends before the line end: a decoder may stop there.
        if unsent or n_unread > 1:
            came = f"one with {counted(n_unread, 'byte')} of it not read"
            self._fail("answer_too_early", f"an answer must come after its observation; received {came}")

    def _n_in_pipe(self) -> int:
        """Return the number of unread bytes in the input pipe; 0 if unknown."""
        # Not at the top: Windows has neither module.
        import fcntl
        import termios

        with suppress(OSError):
            fcntl.ioctl(self._stdin, termios.FIONREAD, self._n_unread)
        return self._n_unread[0]

    def _next_line(self) -> bytes | None:
        """Return the received line without its end; None while it is incomplete."""
        end = self._received.find(b"\n")
        if end > self._bounds.answer_bytes or (end < 0 and len(self._received) > self._bounds.answer_bytes):
            most = f"{self._bounds.answer_bytes:,} bytes"
            self._fail("answer_too_long", f"an answer must be a line of at most {most}; received more")
        if end < 0:
            return None
        answer, self._received = self._received[:end], self._received[end + 1 :]
        return answer

    def _has_exited(self) -> bool:
        """Return whether the process has exited, without reaping it."""
        # Reaping frees the process id and the id of its group, which is still to be killed.
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return False
        with suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return True

    def _send(self, unsent: bytes) -> bytes:
        try:
            return unsent[os.write(self._stdin, unsent) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            # The agent has closed its input; its standard output shows whether it still runs.
            self._n_refused = len(unsent)
            return b""

    def _read(self, descriptor: int) -> None:
        """Read from a pipe. The end of standard output counts as the end of the agent."""
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        if descriptor == self._stdout:
            if not chunk:
                self._fail_as_dead()
            self._received += chunk
        elif chunk:
            self._stderr_capture.feed(chunk)
        else:
            self._poll.unregister(self._stderr)

    def _fail_as_dead(self) -> NoReturn:
        self._poll.unregister(self._stdout)
        self._drain(self._stderr, self._bounds.end_seconds)
        self.kill()
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else f"signal {-code} ({signal.strsignal(-code)})"
        if self._received:
            came = f"{counted(len(self._received), 'byte')} without a line end, then {how}"
            self._fail("answer_cut_short", f"an answer must end with its line; received {came}")
        self._fail("agent_died", f"an agent must answer until its run ends; received its exit, {how}")

    def _fail(self, slug: str, message: str) -> NoReturn:
        # Its standard error so far belongs to the error.
        self._read_remaining_stderr()
        raise AgentError(slug, message, self._stderr_capture.tail, self._received)

    def _read_remaining_stderr(self) -> None:
        """Read what standard error holds now, without waiting for its end.

        A process may write as fast as this reads.
        """
        with suppress(BlockingIOError):
            for _ in range(_MOST_BYTES // _CHUNK):
                chunk = os.read(self._stderr, _CHUNK)
                if not chunk:
                    break
                self._stderr_capture.feed(chunk)
        self._stderr_capture.end()

    def _drain(self, last: int, seconds: float) -> bool:
        """Read remaining output and return whether the pipe `last` ended in time."""
        deadline, pipes = monotonic() + seconds, select.poll()
        for descriptor in {last, self._stderr}:
            pipes.register(descriptor, select.POLLIN)
        # Output beyond the longest answer is not waited for.
        while (left := deadline - monotonic()) > 0.0 and len(self._received) <= self._bounds.answer_bytes:
            ready = pipes.poll(min(left, _EXIT_POLL_SECONDS) * 1000.0)
            # After its exit no output follows, even if another process holds the pipe open.
            if not ready and last == self._stdout and self._has_exited():
                return True
            for descriptor, _ in ready:
                try:
                    chunk = os.read(descriptor, _CHUNK)
                except BlockingIOError:
                    # The agent can read its own output: both ends of its pipes are open to it.
                    continue
                if descriptor == self._stderr:
                    self._stderr_capture.feed(chunk)
                else:
                    self._received += chunk
                if not chunk:
                    pipes.unregister(descriptor)
                    if descriptor == last:
                        return True
        return False

    def end(self, seconds: float | None = None) -> ProcessExit:
        """Close the input of the process and return how it exits.

        Args:
            seconds: Time to exit; `Bounds.end_seconds` by default.
        """
        seconds = self._bounds.end_seconds if seconds is None else seconds
        deadline = monotonic() + seconds
        self.finish()
        has_exited = self._drain(self._stdout, seconds) and self._exits_before(deadline)
        self.kill()
        self.close()
        return ProcessExit(self._process.returncode if has_exited else None, self._received, self._stderr_capture.tail)

    def _exits_before(self, deadline: float) -> bool:
        if not hasattr(os, "waitid"):
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(max(0.0, deadline - monotonic())) is not None
            return False
        while not (has_exited := self._has_exited()) and monotonic() < deadline:
            sleep(_SLEEP_SECONDS)
        return has_exited

    def exits_within(self, seconds: float) -> bool:
        """Return whether the process exits in time while its input stays open and empty."""
        return self._exits_before(monotonic() + seconds)

    def start_and_stop(self) -> int:
        """Close the input at once and return the exit code.

        Raises:
            AgentError: the process does not exit within `Bounds.start_seconds`.
        """
        self.finish()
        seconds = self._bounds.start_seconds
        if not self._drain(self._stdout, seconds):
            wanted = f"an agent must start, and exit at the end of its input, within {seconds:g} s"
            self._fail("agent_late", f"{wanted}; received no exit")
        self._drain(self._stderr, self._bounds.end_seconds)
        self.kill()
        return self._process.wait()

    def finish(self) -> None:
        """Close the input of the process, which signals the end of the run."""
        if self._process.stdin and not self._process.stdin.closed:
            with suppress(KeyError):
                self._poll.unregister(self._stdin)
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill the process group: the process and its children in the group."""
        self._is_killed = True
        # Not reaped yet, so that the process id is still its own.
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, kill the rest of its group and reap it."""
        if self._is_closed:
            return
        self._is_closed = True
        self.finish()
        if self._process.returncode is None:
            self._drain(self._stdout, self._bounds.end_seconds)
        self.kill()
        self._process.wait()
        self._read_remaining_stderr()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()
