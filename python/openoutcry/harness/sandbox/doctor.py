"""The doctor: attacks the sandbox of this machine, and says what came of it."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

from openoutcry.harness.sandbox.attack_target import Arena
from openoutcry.harness.sandbox.attempt_process import Made, Server, make
from openoutcry.harness.sandbox.escape_attempts import FOLDER, Attempt, attempts
from openoutcry.harness.sandbox.host_features import Tier
from openoutcry.harness.sandbox.profile import Profile
from openoutcry.harness.sandbox.sandbox import Launch, Sandbox

SCRIPT = FOLDER / "attempt.py"
LEAST_ATTEMPTS = 40
"""Attempts that must have been shown to work without a sandbox, for a sandbox to have been shown anything."""

_MEMORY_BYTES, _HEAVY_BYTES, _CPU_SECONDS = 256 * 2**20, 2**30, 1
# For any attempt; where it goes on until it is ended; where it computes, or imports a library.
_SECONDS, _PATIENCE_SECONDS, _SLOW_SECONDS = 2.0, 0.2, 10.0
_STOPS = ("OSError", "ValueError", "LookupError", "MemoryError", "RuntimeError")


@dataclass(frozen=True)
class Finding:
    """What came of one attempt in one sandbox.

    Attributes:
        state: `stopped`, `escaped`, `known` where its tier is known not to stop it, or `unclear` where it did not get
            as far as the wall that it was to try.
        text: How it was stopped, or what it reached.
    """

    state: str
    text: str


@dataclass(frozen=True)
class Row:
    """One attempt: whether it works without a sandbox, and what came of it in one.

    Attributes:
        attempt: What was tried.
        control: What it reaches without a sandbox; `None` where the machine itself keeps it from that.
        worker: In the sandbox of a Python agent.
        command: In that of a foreign command; `None` where the command may do it.
    """

    attempt: Attempt
    control: str | None
    worker: Finding
    command: Finding | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What came of it, in each sandbox."""
        return tuple(each for each in (self.worker, self.command) if each is not None)


@dataclass(frozen=True)
class Examination:
    """What the doctor found.

    Attributes:
        sandbox: What was attacked, as `Sandbox.to_dict` has it.
        rows: All attempts.
    """

    sandbox: dict[str, Any]
    rows: Sequence[Row]

    @property
    def n_shown(self) -> int:
        """Attempts that work without a sandbox."""
        return sum(row.control is not None for row in self.rows)

    def of_state(self, state: str) -> list[Row]:
        """Return the attempts that a sandbox has in a state."""
        return [row for row in self.rows if any(each.state == state for each in row.findings)]

    @property
    def is_sound(self) -> bool:
        """Whether the sandbox is of the second tier or better, and tight.

        All attempts were stopped, and enough of them work without it.
        """
        is_tight = not self.of_state("escaped") and not self.of_state("unclear")
        return Tier[self.sandbox["tier"]] >= Tier.T2 and is_tight and self.n_shown >= LEAST_ATTEMPTS

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON has it."""

        def told(finding: Finding | None) -> dict[str, str] | None:
            return None if finding is None else {"state": finding.state, "text": finding.text}

        rows = [
            {
                "group": row.attempt.group,
                "name": row.attempt.name,
                "text": row.attempt.text,
                "control": row.control,
                "worker": told(row.worker),
                "command": told(row.command),
            }
            for row in self.rows
        ]
        counts = {state: len(self.of_state(state)) for state in ("escaped", "known", "unclear")}
        return {"sound": self.is_sound, "sandbox": self.sandbox, "shown": self.n_shown, **counts, "attempts": rows}


def examine(
    *,
    most: Tier = Tier.T3,
    sandboxed: Callable[[Sandbox], Sandbox] = lambda sandbox: sandbox,
    chosen: Iterable[str] = (),
    n_jobs: int | None = None,
) -> Examination:
    """Attack the sandbox of the highest tier that this machine reaches.

    Every attempt is made by a process of its own, once without a sandbox and once in each.

    Args:
        most: The highest tier to try.
        sandboxed: What makes of the sandbox the one that is attacked.
        chosen: Names of attempts; all by default.
        n_jobs: Attempts at a time.
    """
    names = set(chosen)
    tried = [each for each in attempts() if not names or each.name in names]
    with Arena() as arena:
        profile = Profile(arena.folder, [arena.hidden], [FOLDER], memory_bytes=_MEMORY_BYTES, cpu_seconds=_CPU_SECONDS)
        sandbox = sandboxed(Sandbox.open(profile, least=Tier.T1, most=most))
        with ExitStack() as exits:
            stage = _Stage(arena, sandbox, n_jobs or os.cpu_count() or 1, exits)
            # Some wait, and others compute meanwhile.
            threads = exits.enter_context(ThreadPoolExecutor(4 * stage.n_jobs))
            # Those that take their time go first, beside the others.
            order = sorted(tried, key=lambda attempt: (not attempt.is_slow, not attempt.is_ended))
            begin = threads.submit
            made = {
                each: (begin(stage.control, each), begin(stage.worker, each), begin(stage.command, each))
                for each in order
            }
            rows = [_row(each, *made[each]) for each in tried]
    return Examination(sandbox.to_dict(), rows)


def _row(
    attempt: Attempt, control: Future[str | None], worker: Future[Finding], command: Future[Finding | None]
) -> Row:
    return Row(attempt, control.result(), worker.result(), command.result())


class _Stage:
    """Where attempts are made: without a sandbox, and in each of two."""

    def __init__(self, arena: Arena, sandbox: Sandbox, n_jobs: int, exits: ExitStack) -> None:
        self.n_jobs = n_jobs
        self._arena = arena
        self._sandbox = sandbox
        self._heavy = replace(sandbox, profile=replace(sandbox.profile, memory_bytes=_HEAVY_BYTES))
        bare = [sys.executable, "-I", "-S", str(FOLDER / "serve.py")]
        command = sandbox.command([os.path.realpath(sys.executable), *bare[1:]])
        self._bare = self._servers(Launch(tuple(bare), dict(os.environ)), exits)
        self._command = self._servers(command, exits)

    def _servers(self, launch: Launch, exits: ExitStack) -> SimpleQueue[Server]:
        free: SimpleQueue[Server] = SimpleQueue()
        for _ in range(self.n_jobs):
            server = Server(launch, self._arena.descriptor)
            exits.callback(server.close)
            free.put(server)
        return free

    def control(self, attempt: Attempt) -> str | None:
        """Make an attempt without a sandbox."""
        made = self._served(self._bare, attempt, in_harness=True)
        return _reached(made, attempt, self._arena.secret, True)

    def worker(self, attempt: Attempt) -> Finding:
        """Make an attempt in the sandbox of a Python agent."""
        sandbox = self._heavy if attempt.is_heavy else self._sandbox
        return self._alone(sandbox.script(SCRIPT, [attempt.group, attempt.name]), attempt)

    def command(self, attempt: Attempt) -> Finding | None:
        """Make an attempt in the sandbox of a foreign command."""
        if not attempt.for_command:
            return None
        if not attempt.is_ended:
            return self._finding(self._served(self._command, attempt), attempt)
        # The harness ends it, which a server in the sandbox may not.
        program = [os.path.realpath(sys.executable), "-I", "-S", str(SCRIPT), attempt.group, attempt.name]
        return self._alone(self._sandbox.command(program), attempt)

    def _alone(self, launch: Launch, attempt: Attempt) -> Finding:
        told = marshal.dumps(self._arena.place(attempt.name)).hex().encode() + b"\n"
        return self._finding(make(launch, told, self._arena.descriptor, _seconds(attempt)), attempt)

    def _served(self, free: SimpleQueue[Server], attempt: Attempt, *, in_harness: bool = False) -> Made:
        place = self._arena.place(attempt.name, in_harness=in_harness)
        server = free.get()
        try:
            return server.make(attempt.group, attempt.name, place, _seconds(attempt))
        finally:
            free.put(server)

    def _finding(self, made: Made, attempt: Attempt) -> Finding:
        return _finding(made, attempt, self._arena.secret, self._sandbox.tier)


def _seconds(attempt: Attempt) -> float:
    if attempt.is_slow or attempt.is_heavy:
        return _SLOW_SECONDS
    return _PATIENCE_SECONDS if attempt.is_ended else _SECONDS


def _reached(made: Made, attempt: Attempt, secret: str, in_harness: bool) -> str | None:
    if "reached" in made.told:
        return str(made.told["reached"])
    if secret in made.output:
        return "wrote what it had read"
    if made.is_left:
        return "lives on after it was killed"
    # Without a sandbox, what has to be ended would have held up the harness.
    if in_harness and attempt.is_ended and (made.killed or made.code < 0):
        return made.ending
    return None


def _finding(made: Made, attempt: Attempt, secret: str, tier: Tier) -> Finding:
    reached = _reached(made, attempt, secret, False)
    if reached is not None:
        return Finding("known" if attempt.in_namespaces and tier < Tier.T3 else "escaped", reached)
    if not made.begun:
        return Finding("unclear", f"it did not begin: {made.stderr or made.ending}")
    if "stopped" in made.told:
        text = str(made.told["stopped"])
        return Finding("stopped" if made.is_wall(_STOPS) else "unclear", text)
    if made.killed and not attempt.is_ended:
        return Finding("unclear", made.ending)
    return Finding("stopped", made.ending)
