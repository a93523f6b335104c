"""The sandbox doctor: attacks the sandbox of this machine."""

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

from openoutcry.harness.sandbox.attack_target import AttackTarget
from openoutcry.harness.sandbox.attempt_process import AttemptResult, AttemptServer, run_attempt
from openoutcry.harness.sandbox.escape_attempts import FOLDER, Attempt, attempts
from openoutcry.harness.sandbox.host_features import Tier
from openoutcry.harness.sandbox.profile import Profile
from openoutcry.harness.sandbox.sandbox import Launch, Sandbox

SCRIPT = FOLDER / "run_attempt.py"
LEAST_ATTEMPTS = 40
"""Attempts that must work without a sandbox for the examination to be conclusive."""

_MEMORY_BYTES, _HEAVY_BYTES, _CPU_SECONDS = 256 * 2**20, 2**30, 1
# For any attempt; for one that runs until it is killed; for one that computes or imports a library.
_SECONDS, _PATIENCE_SECONDS, _SLOW_SECONDS = 2.0, 0.2, 10.0
_STOPS = ("OSError", "ValueError", "LookupError", "MemoryError", "RuntimeError")


@dataclass(frozen=True)
class Finding:
    """The result of one attempt in one sandbox.

    Attributes:
        state: `stopped`, `escaped`, `known` if the tier is documented not to stop it, or `unclear` if the attempt
            failed before it reached the protection under test.
        text: How the attempt was stopped, or what it reached.
    """

    state: str
    text: str


@dataclass(frozen=True)
class Row:
    """One attempt: its result without a sandbox and in each sandbox.

    Attributes:
        attempt: What was chosen.
        control: What it reaches without a sandbox; `None` if the machine itself prevents it.
        worker: Result in the sandbox of a Python agent.
        command: Result in the sandbox of a foreign command; `None` if a command is allowed to do it.
    """

    attempt: Attempt
    control: str | None
    worker: Finding
    command: Finding | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The results in the sandboxes."""
        return tuple(each for each in (self.worker, self.command) if each is not None)


@dataclass(frozen=True)
class Examination:
    """The results of the doctor.

    Attributes:
        sandbox: The attacked sandbox, as `Sandbox.to_dict` returns it.
        rows: All attempts.
    """

    sandbox: dict[str, Any]
    rows: Sequence[Row]

    @property
    def n_shown(self) -> int:
        """Number of attempts that work without a sandbox."""
        return sum(row.control is not None for row in self.rows)

    def of_state(self, state: str) -> list[Row]:
        """Return the attempts that have a state in any sandbox."""
        return [row for row in self.rows if any(each.state == state for each in row.findings)]

    @property
    def is_sound(self) -> bool:
        """Whether the tier is T2 or higher and every attempt was stopped.

        At least `LEAST_ATTEMPTS` of them must work without a sandbox.
        """
        is_tight = not self.of_state("escaped") and not self.of_state("unclear")
        return Tier[self.sandbox["tier"]] >= Tier.T2 and is_tight and self.n_shown >= LEAST_ATTEMPTS

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON types."""

        def to_json(finding: Finding | None) -> dict[str, str] | None:
            return None if finding is None else {"state": finding.state, "text": finding.text}

        rows = [
            {
                "group": row.attempt.group,
                "name": row.attempt.name,
                "text": row.attempt.text,
                "control": row.control,
                "worker": to_json(row.worker),
                "command": to_json(row.command),
            }
            for row in self.rows
        ]
        counts = {state: len(self.of_state(state)) for state in ("escaped", "known", "unclear")}
        return {"sound": self.is_sound, "sandbox": self.sandbox, "shown": self.n_shown, **counts, "attempts": rows}


def examine(
    *,
    max_tier: Tier = Tier.T3,
    adapt: Callable[[Sandbox], Sandbox] = lambda sandbox: sandbox,
    names: Iterable[str] = (),
    n_jobs: int | None = None,
) -> Examination:
    """Attack the sandbox of the highest tier that this machine reaches.

    Every attempt runs in separate processes, once without a sandbox and once in each sandbox.

    Args:
        max_tier: The highest tier to use.
        adapt: Maps the opened sandbox to the one to attack.
        names: Names of attempts; all by default.
        n_jobs: Number of concurrent servers.
    """
    selected = set(names)
    chosen = [each for each in attempts() if not selected or each.name in selected]
    with AttackTarget() as target:
        paths = target.folder, target.hidden, [FOLDER]
        profile = Profile(*paths, memory_bytes=_MEMORY_BYTES, cpu_seconds=_CPU_SECONDS)
        sandbox = adapt(Sandbox.open(profile, min_tier=Tier.T1, max_tier=max_tier))
        with ExitStack() as exits:
            stage = _Stage(target, sandbox, n_jobs or os.cpu_count() or 1, exits)
            target.write_output()
            # More threads than servers: most attempts wait.
            threads = exits.enter_context(ThreadPoolExecutor(4 * stage.n_jobs))
            # Slow attempts start first.
            order = sorted(chosen, key=lambda attempt: (not attempt.is_slow, not attempt.is_ended))
            submit = threads.submit
            futures = {
                each: (submit(stage.control, each), submit(stage.worker, each), submit(stage.command, each))
                for each in order
            }
            rows = [_row(each, *futures[each]) for each in chosen]
    return Examination(sandbox.to_dict(), rows)


def _row(
    attempt: Attempt, control: Future[str | None], worker: Future[Finding], command: Future[Finding | None]
) -> Row:
    return Row(attempt, control.result(), worker.result(), command.result())


class _Stage:
    """Runs attempts without a sandbox and in the sandboxes of worker and command."""

    def __init__(self, target: AttackTarget, sandbox: Sandbox, n_jobs: int, exits: ExitStack) -> None:
        self.n_jobs = n_jobs
        self._target = target
        self._sandbox = sandbox
        self._heavy = replace(sandbox, profile=replace(sandbox.profile, memory_bytes=_HEAVY_BYTES))
        bare = [sys.executable, "-I", "-S", str(FOLDER / "attempt_server.py")]
        command = sandbox.command([os.path.realpath(sys.executable), *bare[1:]])
        self._bare = self._servers(Launch(tuple(bare), dict(os.environ)), exits)
        self._command = self._servers(command, exits)
        # The sandbox of Python agents is set up before the output exists, too.
        for each in (self._sandbox, self._heavy):
            each.script(SCRIPT)

    def _servers(self, launch: Launch, exits: ExitStack) -> SimpleQueue[AttemptServer]:
        free: SimpleQueue[AttemptServer] = SimpleQueue()
        for _ in range(self.n_jobs):
            server = AttemptServer(launch, self._target.descriptor)
            exits.callback(server.close)
            free.put(server)
        return free

    def control(self, attempt: Attempt) -> str | None:
        """Run an attempt without a sandbox."""
        result = self._served(self._bare, attempt, in_harness=True)
        return _reached(result, attempt, self._target.secret, True)

    def worker(self, attempt: Attempt) -> Finding:
        """Run an attempt in the sandbox of a Python agent."""
        sandbox = self._heavy if attempt.is_heavy else self._sandbox
        return self._alone(sandbox.script(SCRIPT, [attempt.group, attempt.name]), attempt)

    def command(self, attempt: Attempt) -> Finding | None:
        """Run an attempt in the sandbox of a foreign command."""
        if not attempt.for_command:
            return None
        if not attempt.is_ended:
            return self._finding(self._served(self._command, attempt), attempt)
        # The harness kills it; a server inside the sandbox may not signal it.
        program = [os.path.realpath(sys.executable), "-I", "-S", str(SCRIPT), attempt.group, attempt.name]
        return self._alone(self._sandbox.command(program), attempt)

    def _alone(self, launch: Launch, attempt: Attempt) -> Finding:
        request = marshal.dumps(self._target.for_attempt(attempt.name)).hex().encode() + b"\n"
        return self._finding(run_attempt(launch, request, self._target.descriptor, _seconds(attempt)), attempt)

    def _served(self, free: SimpleQueue[AttemptServer], attempt: Attempt, *, in_harness: bool = False) -> AttemptResult:
        target = self._target.for_attempt(attempt.name, in_harness=in_harness)
        server = free.get()
        try:
            return server.run(attempt.group, attempt.name, target, _seconds(attempt))
        finally:
            free.put(server)

    def _finding(self, result: AttemptResult, attempt: Attempt) -> Finding:
        return _finding(result, attempt, self._target.secret, self._sandbox.tier)


def _seconds(attempt: Attempt) -> float:
    if attempt.is_slow or attempt.is_heavy:
        return _SLOW_SECONDS
    return _PATIENCE_SECONDS if attempt.is_ended else _SECONDS


def _reached(result: AttemptResult, attempt: Attempt, secret: str, in_harness: bool) -> str | None:
    if "reached" in result.report:
        return str(result.report["reached"])
    if secret in result.output:
        return "printed the secret"
    if result.left_running:
        return "still running after it was killed"
    # Without a sandbox, an attempt that had to be killed would have blocked the harness.
    if in_harness and attempt.is_ended and (result.killed or result.code < 0):
        return result.ending
    return None


def _finding(result: AttemptResult, attempt: Attempt, secret: str, tier: Tier) -> Finding:
    reached = _reached(result, attempt, secret, False)
    if reached is not None:
        return Finding("known" if attempt.in_namespaces and tier < Tier.T3 else "escaped", reached)
    if not result.started:
        return Finding("unclear", f"it did not start: {result.stderr or result.ending}")
    if "stopped" in result.report:
        text = str(result.report["stopped"])
        return Finding("stopped" if result.is_refusal(_STOPS) else "unclear", text)
    if result.killed and not attempt.is_ended:
        return Finding("unclear", result.ending)
    return Finding("stopped", result.ending)
