"""The checks, in their order: each may rely on those before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openoutcry.harness.conformance.agent_under_test import Said, Subject, check_ending, check_silence, told
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
    """One thing that an agent must do.

    Attributes:
        name: What reports call it.
        wanted: What it asks for, in words.
        run: Raises `Failure` if the agent does something else.
        needs: `process` for what only a program with pipes can do, `server` for what only a server can, `claim` for
            what only an agent that claims to be deterministic must.
    """

    name: str
    wanted: str
    run: Callable[[Subject], None]
    needs: str = ""

    def excuse(self, transport: object, *, deterministic: bool) -> str | None:
        """Return the state of the check for an agent that is not asked for it.

        Args:
            transport: How the agent is asked; None in process.
            deterministic: Whether it claims to be.
        """
        if self.needs in _TRANSPORTS and transport != _TRANSPORTS[self.needs]:
            return NOT_APPLICABLE
        return NOT_CLAIMED if self.needs == CLAIM and not deterministic else None


def checks_of(kit: Kit) -> list[Check]:
    """Return the checks that a kit makes, in their order."""
    first = [
        Check("kit", "this package reads the decisions of the kit as the kit says", check_reader),
        Check("silent_before", "it writes nothing before it is asked", _check_silent_before, PROCESS),
        Check("first_answer", "it begins, and answers one observation with a decision, in time", _check_first_answer),
        Check("one_line_each", "it writes one line for each that it reads", _check_one_line_each, PROCESS),
        Check("ends", "it ends with its input, in time and with exit code 0", _check_ends, PROCESS),
    ]
    cases = [Check(f"case.{case.name}", case.describes, _check_of(case)) for case in kit.cases]
    last = [
        Check("episode", "it answers every bar of an episode in one session, and then ends", _check_of_play("episode")),
        Check(
            "drawn_episode",
            "it answers a second episode, drawn for it, whose symbols come, are halted and go, and then ends",
            _check_of_play("drawn_episode"),
        ),
        Check("interleaved", "it answers two runs at a time, a bar of each in turn", Subject.interleave, SERVER),
        Check("deterministic", "fresh sessions that are asked the same answer the same bytes", _check_same, CLAIM),
        Check(IGNORE, "it answers as if the fields that it cannot know were not there", _check_ignores, CLAIM),
    ]
    return [*first, *cases, *last]


def _check_silent_before(subject: Subject) -> None:
    with subject.session() as watched, told(None):
        if isinstance(watched.session, StdioSession):
            bounds = subject.launcher.bounds
            check_silence(watched.session.end(bounds.start_seconds + bounds.end_seconds), None)


def _check_first_answer(subject: Subject) -> None:
    with subject.session() as watched:
        watched.answer(subject.kit.opening)
        subject.first = watched.end()
        subject.said["first_answer"] = watched.said


def _check_one_line_each(subject: Subject) -> None:
    if subject.first is not None:
        check_silence(subject.first, subject.said["first_answer"][-1])


def _check_ends(subject: Subject) -> None:
    if subject.first is not None:
        check_ending(subject.first, subject.said["first_answer"][-1])


def _check_of(case: Case) -> Callable[[Subject], None]:
    def check(subject: Subject) -> None:
        subject.ask_case(case)

    return check


def _check_of_play(name: str) -> Callable[[Subject], None]:
    def check(subject: Subject) -> None:
        subject.play(name)

    return check


def _check_same(subject: Subject) -> None:
    for case in subject.kit.cases:
        _compare(subject.said[case.name], subject.ask_case(case), "the same observation")
    for name in subject.episodes:
        _compare(subject.said[name], subject.play(name), "the same episode")
    for name, said in subject.interleaved.items():
        _compare(subject.said[name], said, "the same episode, alone or beside another,")


def _check_ignores(subject: Subject) -> None:
    for case in subject.kit.cases:
        if IGNORE in case.duties:
            _compare(subject.ask(case.known_text), subject.said[case.name], "an observation with unknown fields")


def _compare(wanted: Said, received: Said, what: str) -> None:
    # The same answers make the same episode, of one length; of two at a time the longer one is cut off.
    for (_, expected), (sent, answer) in zip(wanted, received, strict=False):
        if answer != expected:
            raise Failure(f"{what} must have the same answer; received another", sent, answer, expected)
