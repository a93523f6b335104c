"""The doctor: attacks the jail of this machine, and says what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from openoutcry.jail.arena import Arena
from openoutcry.jail.attempts import FOLDER, Attempt, attempts
from openoutcry.jail.host import Tier
from openoutcry.jail.made import Made, make
from openoutcry.jail.opening import Jail, Launch
from openoutcry.jail.profile import Profile

SCRIPT = FOLDER / "attempt.py"
LEAST_ATTEMPTS = 40
"""Attempts that must have been shown to work without a jail, for a jail to have been shown anything."""

_MEMORY_BYTES, _HEAVY_BYTES, _CPU_SECONDS = 256 * 2**20, 2**30, 1
# For any attempt; where it goes on until it is ended; where it computes for a second of its own.
_SECONDS, _PATIENCE_SECONDS, _SLOW_SECONDS = 2.0, 0.3, 10.0
_STOPS = ("OSError", "ValueError", "LookupError", "MemoryError", "RuntimeError")


@dataclass(frozen=True)
class Finding:
    """What came of one attempt in one jail.

    Attributes:
        state: `stopped`, `escaped`, `known` where its tier is known not to stop it, or `unclear` where it did not get
            as far as the wall that it was to try.
        text: How it was stopped, or what it reached.
    """

    state: str
    text: str


@dataclass(frozen=True)
class Row:
    """One attempt: whether it works without a jail, and what came of it in one.

    Attributes:
        attempt: What was tried.
        control: What it reaches without a jail; `None` where the machine itself keeps it from that.
        worker: In the jail of a Python agent.
        command: In that of a foreign command; `None` where the command may do it.
    """

    attempt: Attempt
    control: str | None
    worker: Finding
    command: Finding | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What came of it, in each jail."""
        return tuple(each for each in (self.worker, self.command) if each is not None)


@dataclass(frozen=True)
class Examination:
    """What the doctor found.

    Attributes:
        jail: What was attacked, as `Jail.to_dict` has it.
        rows: All attempts.
    """

    jail: dict[str, Any]
    rows: Sequence[Row]

    @property
    def n_shown(self) -> int:
        """Attempts that work without a jail."""
        return sum(row.control is not None for row in self.rows)

    def of_state(self, state: str) -> list[Row]:
        """Return the attempts that a jail has in a state."""
        return [row for row in self.rows if any(each.state == state for each in row.findings)]

    @property
    def is_sound(self) -> bool:
        """Whether the jail is of the second tier or better, and tight.

        All attempts were stopped, and enough of them work without it.
        """
        is_tight = not self.of_state("escaped") and not self.of_state("unclear")
        return Tier[self.jail["tier"]] >= Tier.T2 and is_tight and self.n_shown >= LEAST_ATTEMPTS

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
        return {"sound": self.is_sound, "jail": self.jail, "shown": self.n_shown, **counts, "attempts": rows}


def examine(
    *,
    most: Tier = Tier.T3,
    jailed: Callable[[Jail], Jail] = lambda jail: jail,
    chosen: Iterable[str] = (),
    n_jobs: int | None = None,
) -> Examination:
    """Attack the jail of the highest tier that this machine reaches.

    Every attempt is made by a process of its own, once without a jail and once in each.

    Args:
        most: The highest tier to try.
        jailed: What makes of the jail the one that is attacked.
        chosen: Names of attempts; all by default.
        n_jobs: Attempts at a time.
    """
    names = set(chosen)
    tried = [each for each in attempts() if not names or each.name in names]
    with Arena() as arena:
        profile = Profile(arena.folder, [arena.hidden], [FOLDER], memory_bytes=_MEMORY_BYTES, cpu_seconds=_CPU_SECONDS)
        jail = jailed(Jail.open(profile, least=Tier.T1, most=most))
        with ThreadPoolExecutor(n_jobs or 2 * (os.cpu_count() or 1)) as threads:
            # Those that take their time go first, beside the others.
            order = sorted(tried, key=lambda attempt: (not attempt.is_slow, not attempt.is_ended))
            made = {attempt: threads.submit(_row, arena, jail, attempt) for attempt in order}
            rows = [made[attempt].result() for attempt in tried]
    return Examination(jail.to_dict(), rows)


def _row(arena: Arena, jail: Jail, attempt: Attempt) -> Row:
    if attempt.is_heavy:
        jail = replace(jail, profile=replace(jail.profile, memory_bytes=_HEAVY_BYTES))
    arguments = [attempt.group, attempt.name]
    bare = [sys.executable, "-I", "-S", str(SCRIPT), *arguments]

    def made(launch: Launch, *, in_harness: bool = False) -> Made:
        told = arena.line(attempt.name, in_harness=in_harness)
        seconds = _SLOW_SECONDS if attempt.is_slow else _PATIENCE_SECONDS if attempt.is_ended else _SECONDS
        # The attempt at the session itself starts in that of the harness.
        apart = in_harness and attempt.name != "session"
        return make(launch, told, arena.descriptor, seconds, apart=apart)

    def found(launch: Launch) -> Finding:
        return _finding(made(launch), attempt, arena.secret, jail.tier)

    control = _reached(made(Launch(tuple(bare), dict(os.environ)), in_harness=True), attempt, arena.secret, True)
    worker = found(jail.script(SCRIPT, arguments))
    program = os.path.realpath(sys.executable)
    command = found(jail.command([program, *bare[1:]])) if attempt.for_command else None
    return Row(attempt, control, worker, command)


def _reached(made: Made, attempt: Attempt, secret: str, in_harness: bool) -> str | None:
    if "reached" in made.told:
        return str(made.told["reached"])
    if secret in made.output:
        return "wrote what it had read"
    if made.is_left:
        return "lives on after it was killed"
    # Without a jail, what has to be ended would have held up the harness.
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
