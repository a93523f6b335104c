"""The checks of an examination, in order: each may rely on those before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openoutcry.harness.conformance.agent_under_test import (
    AgentUnderTest,
    Transcript,
    as_failure,
    check_exit,
    check_no_extra_output,
)
from openoutcry.harness.conformance.conformance_report import NOT_APPLICABLE, NOT_CLAIMED
from openoutcry.harness.conformance.decision_rules import Failure
from openoutcry.harness.conformance.kit import Case, Kit
from openoutcry.harness.conformance.reader_check import check_reader
from openoutcry.harness.stdio_transport import StdioSession

PROCESS, SERVER, CLAIM = "process", "server", "claim"
_TRANSPORTS = {PROCESS: "stdio", SERVER: "http"}
IGNORE = "ignore_unknown_fields"


@dataclass(frozen=True)
class Check:
    """One requirement on an agent.

    Attributes:
        name: Name in reports.
        wanted: Description of the requirement.
        run: Raises `Failure` if the agent does not meet it.
        needs: `process` if it applies to programs only, `server` if to servers only, `claim` if only to agents that
            claim to be deterministic.
    """

    name: str
    wanted: str
    run: Callable[[AgentUnderTest], None]
    needs: str = ""

    def excuse(self, transport: object, *, deterministic: bool) -> str | None:
        """Return the state of a check that does not apply to an agent, else None.

        Args:
            transport: Transport of the agent; None for a callable in this process.
            deterministic: Whether the agent claims to be deterministic.
        """
        if self.needs in _TRANSPORTS and transport != _TRANSPORTS[self.needs]:
            return NOT_APPLICABLE
        return NOT_CLAIMED if self.needs == CLAIM and not deterministic else None


def checks_of(kit: Kit) -> list[Check]:
    """Return the checks of a kit, in order."""
    first = [
        Check("kit", "this package accepts and refuses the sample decisions as the kit states", _check_reader),
        Check("silent_before", "writes nothing before the first observation", _check_silent_before, PROCESS),
        Check("first_answer", "starts, and answers one observation with a decision, in time", _check_first_answer),
        Check("one_line_each", "writes one line for each line that it reads", _check_one_line_each, PROCESS),
        Check("ends", "exits at the end of its input, in time and with code 0", _check_ends, PROCESS),
    ]
    cases = [Check(f"case.{case.name}", case.describes, _check_of(case)) for case in kit.cases]
    last = [
        Check("episode", "answers every bar of an episode in one session, then exits", _check_of_episode("episode")),
        Check(
            "drawn_episode",
            "answers every bar of a random episode with late listings, halts and delistings, then exits",
            _check_of_episode("drawn_episode"),
        ),
        Check(
            "interleaved",
            "answers two concurrent runs, one bar of each in turn",
            AgentUnderTest.run_interleaved,
            SERVER,
        ),
        Check("deterministic", "answers the same bytes to the same observations in new sessions", _check_same, CLAIM),
        Check(IGNORE, "answers as if unknown fields were absent", _check_ignores, CLAIM),
    ]
    return [*first, *cases, *last]


def _check_reader(subject: AgentUnderTest) -> None:
    check_reader(subject.kit.samples)


def _check_silent_before(subject: AgentUnderTest) -> None:
    with subject.session() as timed, as_failure(None):
        if isinstance(timed.session, StdioSession):
            bounds = subject.launcher.bounds
            check_no_extra_output(timed.session.end(bounds.start_seconds + bounds.end_seconds), None)


def _check_first_answer(subject: AgentUnderTest) -> None:
    with subject.session() as timed:
        timed.answer(subject.kit.opening)
        subject.first_exit = timed.end()
        subject.transcripts["first_answer"] = timed.transcript


def _check_one_line_each(subject: AgentUnderTest) -> None:
    if subject.first_exit is not None:
        check_no_extra_output(subject.first_exit, subject.transcripts["first_answer"][-1])


def _check_ends(subject: AgentUnderTest) -> None:
    if subject.first_exit is not None:
        check_exit(subject.first_exit, subject.transcripts["first_answer"][-1])


def _check_of(case: Case) -> Callable[[AgentUnderTest], None]:
    def check(subject: AgentUnderTest) -> None:
        subject.run_case(case)

    return check


def _check_of_episode(name: str) -> Callable[[AgentUnderTest], None]:
    def check(subject: AgentUnderTest) -> None:
        subject.run_episode(name)

    return check


def _check_same(subject: AgentUnderTest) -> None:
    for case in subject.kit.cases:
        _compare(subject.transcripts[case.name], subject.run_case(case), "the same observation")
    for name in subject.episodes:
        _compare(subject.transcripts[name], subject.run_episode(name), "the same episode")
    for name, transcript in subject.interleaved.items():
        _compare(subject.transcripts[name], transcript, "the same episode, alone or interleaved with another,")


def _check_ignores(subject: AgentUnderTest) -> None:
    for case in subject.kit.cases:
        if IGNORE in case.duties:
            known = subject.run_text(case.known_text)
            _compare(known, subject.transcripts[case.name], "an observation with unknown fields")


def _compare(wanted: Transcript, received: Transcript, what: str) -> None:
    # Equal answers produce equal episodes. Of two interleaved episodes the longer one is cut off.
    for (_, expected), (sent, answer) in zip(wanted, received, strict=False):
        if answer != expected:
            raise Failure(f"{what} must get the same answer; received a different one", sent, answer, expected)
