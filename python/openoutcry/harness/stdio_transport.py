"""Agents as processes: an observation a line goes in, a decision a line comes out."""

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
from openoutcry.harness.stderr_capture import Errors, Show, show_on_stderr

_CHUNK = 2**16
_MOST_BYTES = 2**20
"""What a pipe holds at most, where its user is no superuser."""
_OF_THE_HOST = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
# A fork of the agent holds its pipes open when it has ended, so that they alone do not tell.
_LOOK_SECONDS = 0.2
_HINT = "hint: it must read a line at a time, and flush each that it writes"
_NAP_SECONDS = 0.005


class Ending(NamedTuple):
    """How a process took the end of its input.

    Attributes:
        code: Its exit code, below 0 for a signal; None if it had to be killed.
        said: What it wrote beside its answers.
        stderr: The end of what it wrote to its standard error.
    """

    code: int | None
    said: bytes
    stderr: str


class StdioSession(Session):
    """A process that answers lines, alone in a session and process group of its own.

    It inherits three pipes and the environment that it is given, no other descriptor and no terminal.

    Args:
        command: The program and its arguments.
        environment: All its variables.
        bounds: What it may take.
        show: What is given the lines of its standard error.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        bounds: Bounds | None = None,
        show: Show = show_on_stderr,
    ) -> None:
        self._bounds = bounds or Bounds()
        if not hasattr(select, "poll"):
            message = f"an agent in a process of its own needs a POSIX system; received {sys.platform}"
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
            if error.errno in _OF_THE_HOST:
                wanted = "as many agents at a time as the host has processes and descriptors for are required"
                raise AgentError("agent_not_started", f"{wanted}; received one more: {error.strerror}") from error
            wanted = "an agent must be a program that can be run"
            raise refusal("unknown_agent", f"{wanted}; received {command[0]!r}: {error.strerror}") from error
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        assert all(pipes), "three pipes were asked for"
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe)
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._errors = Errors(show, self._bounds.stderr_bytes)
        self._received = b""
        self._n_refused = 0
        self._n_waiting = array("i", [0])
        self._extra_seconds = self._bounds.start_seconds
        self._is_over = False
        self._is_killed = False

    @property
    def stderr(self) -> str:
        """The end of what the process has written to its standard error."""
        return self._errors.tail

    def answer(self, observation: str) -> str:
        """Return what the process answers to an observation.

        Raises:
            AgentError: it has ended, is late, or its answer is too long, no text, or came before it was asked.
        """
        self._check_silence()
        seconds = self._bounds.answer_seconds + self._extra_seconds
        line = self._exchange(observation.encode() + b"\n", seconds)
        self._extra_seconds = 0.0
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            self._received = line
            self._fail("answer_not_text", f"an answer must be UTF-8; received {error.reason} at byte {error.start}")

    def go_on_from(self, before: Session) -> None:
        """Write no more to its standard error than the process before it left."""
        if isinstance(before, StdioSession):
            self._errors.left = before._errors.left

    def _check_silence(self) -> None:
        for descriptor, _ in self._poll.poll(0):
            self._read(descriptor)
        if self._received:
            came = f"{len(self._received):,} bytes"
            self._fail("answer_too_early", f"an answer must come after its observation; received {came} before it")

    def _exchange(self, line: bytes, seconds: float) -> bytes:
        now = monotonic()
        until, look, has_ended = now + seconds, now + _LOOK_SECONDS, False
        unsent = self._send(line)
        if unsent:
            self._poll.register(self._stdin, select.POLLOUT)
        while True:
            wait = 0.0 if has_ended else max(0.0, min(until, look) - now)
            ready = [descriptor for descriptor, _ in self._poll.poll(wait * 1000.0)]
            for descriptor in ready:
                if descriptor != self._stdin:
                    self._read(descriptor)
                    continue
                unsent = self._send(unsent)
                if not unsent:
                    self._poll.unregister(self._stdin)
            answer = self._taken()
            if answer is not None:
                self._check_read(unsent)
                return answer
            # What it wrote before its end has been read.
            if has_ended and self._stdout not in ready:
                self._fail_as_dead()
            now = monotonic()
            if now > until:
                came = f"{len(self._received):,} bytes of a line" if self._received else f"nothing; {_HINT}"
                self._fail("agent_late", f"an agent must answer within {seconds:g} s; received {came}")
            if now >= look:
                look, has_ended = now + _LOOK_SECONDS, self._is_killed or self._has_ended()

    def _check_read(self, unsent: bytes) -> None:
        """See that the agent has read what it answers.

        Of surplus lines that come at the pace of the questions its output shows none.
        """
        n_unread = len(unsent) + self._n_refused + self._in_pipe()
        # The observation ends before its line does: a decoder of JSON need not read on to know it.
        if unsent or n_unread > 1:
            came = f"one with {n_unread:,} bytes of it not read"
            self._fail("answer_too_early", f"an answer must come after its observation; received {came}")

    def _in_pipe(self) -> int:
        """Return how many bytes the agent was sent and has not read.

        0 where the system does not tell.
        """
        # Not at the top: Windows has neither.
        import fcntl
        import termios

        with suppress(OSError):
            fcntl.ioctl(self._stdin, termios.FIONREAD, self._n_waiting)
        return self._n_waiting[0]

    def _taken(self) -> bytes | None:
        """Return the answer, once its line has come."""
        found = self._received.find(b"\n")
        if found > self._bounds.answer_bytes or (found < 0 and len(self._received) > self._bounds.answer_bytes):
            most = f"{self._bounds.answer_bytes:,} bytes"
            self._fail("answer_too_long", f"an answer must be a line of at most {most}; received more")
        if found < 0:
            return None
        answer, self._received = self._received[:found], self._received[found + 1 :]
        return answer

    def _has_ended(self) -> bool:
        """Return whether the process has ended, and do not reap it."""
        # Reaped, its number would be free, and so would that of its group, which is still to be killed.
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
            # It reads no more. Whether it lives, its standard output tells.
            self._n_refused = len(unsent)
            return b""

    def _read(self, descriptor: int) -> None:
        """Take what a pipe holds; the end of standard output is the end of the agent."""
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        if descriptor == self._stdout:
            if not chunk:
                self._fail_as_dead()
            self._received += chunk
        elif chunk:
            self._errors.feed(chunk)
        else:
            self._poll.unregister(self._stderr)

    def _fail_as_dead(self) -> NoReturn:
        self._poll.unregister(self._stdout)
        self._drain(self._stderr, self._bounds.end_seconds)
        self.kill()
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else f"signal {-code} ({signal.strsignal(-code)})"
        if self._received:
            came = f"{len(self._received):,} bytes without one, and its end, {how}"
            self._fail("answer_cut_short", f"an answer must end with its line; received {came}")
        self._fail("agent_died", f"an agent must answer until its run ends; received its end, {how}")

    def _fail(self, slug: str, message: str) -> NoReturn:
        # What it has said so far is part of the story.
        self._take_last_words()
        raise AgentError(slug, message, self._errors.tail, self._received)

    def _take_last_words(self) -> None:
        """Take what the standard error holds, and no more.

        Who writes may fill it as fast as it is read.
        """
        with suppress(BlockingIOError):
            for _ in range(_MOST_BYTES // _CHUNK):
                chunk = os.read(self._stderr, _CHUNK)
                if not chunk:
                    break
                self._errors.feed(chunk)
        self._errors.end()

    def _drain(self, last: int, seconds: float) -> bool:
        """Read what the process still writes, and return whether `last` ended in time."""
        until, pipes = monotonic() + seconds, select.poll()
        for descriptor in {last, self._stderr}:
            pipes.register(descriptor, select.POLLIN)
        # Who writes more than an answer can be is not waited for.
        while (left := until - monotonic()) > 0.0 and len(self._received) <= self._bounds.answer_bytes:
            ready = pipes.poll(min(left, _LOOK_SECONDS) * 1000.0)
            # It will say no more, whoever holds its output open.
            if not ready and last == self._stdout and self._has_ended():
                return True
            for descriptor, _ in ready:
                try:
                    chunk = os.read(descriptor, _CHUNK)
                except BlockingIOError:
                    # The agent has read it itself: both ends of its pipes are in its reach.
                    continue
                if descriptor == self._stderr:
                    self._errors.feed(chunk)
                else:
                    self._received += chunk
                if not chunk:
                    pipes.unregister(descriptor)
                    if descriptor == last:
                        return True
        return False

    def end(self, seconds: float | None = None) -> Ending:
        """Tell the process that the run is over, and return how it takes that.

        Args:
            seconds: Time that it has for it; that of its bounds by default.
        """
        seconds = self._bounds.end_seconds if seconds is None else seconds
        until = monotonic() + seconds
        self.finish()
        has_ended = self._drain(self._stdout, seconds) and self._ends_until(until)
        self.kill()
        self.close()
        return Ending(self._process.returncode if has_ended else None, self._received, self._errors.tail)

    def _ends_until(self, until: float) -> bool:
        if not hasattr(os, "waitid"):
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(max(0.0, until - monotonic())) is not None
            return False
        while not (has_ended := self._has_ended()) and monotonic() < until:
            sleep(_NAP_SECONDS)
        return has_ended

    def ends_within(self, seconds: float) -> bool:
        """Return whether the process ends in time though it is asked nothing."""
        return self._ends_until(monotonic() + seconds)

    def run_out(self) -> int:
        """Return the exit code of a process that is asked nothing.

        Raises:
            AgentError: it does not end in the time that it may take to begin.
        """
        self.finish()
        seconds = self._bounds.start_seconds
        if not self._drain(self._stdout, seconds):
            self._fail(
                "agent_late", f"an agent must begin, and end with its input, within {seconds:g} s; received no end"
            )
        self._drain(self._stderr, self._bounds.end_seconds)
        self.kill()
        return self._process.wait()

    def finish(self) -> None:
        """Tell the process by the end of its input that the run is over."""
        if self._process.stdin and not self._process.stdin.closed:
            with suppress(KeyError):
                self._poll.unregister(self._stdin)
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill the process and those that it has started, as far as they are in its group."""
        self._is_killed = True
        # Not reaped yet, so that the number is still its own.
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, kill what is left of its group, and reap it."""
        if self._is_over:
            return
        self._is_over = True
        self.finish()
        if self._process.returncode is None:
            self._drain(self._stdout, self._bounds.end_seconds)
        self.kill()
        self._process.wait()
        self._take_last_words()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()
