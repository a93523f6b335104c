"""An agent for the time of one run, whose faults are told and held."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from openoutcry.agents import Answer, Harness
from openoutcry.harness.agent_faults import INFRASTRUCTURE, AgentError
from openoutcry.harness.agent_session import Launcher, Session
from openoutcry.openoutcry_py import OpenOutcryError, read_decision

GONE = ("agent_given_up", "agent_lost")
"""Slugs of the holds of an agent that is asked no more."""

Tell = Callable[[AgentError, int], object]
"""What is given each fault when it happens, and the step of the run."""


class Supervised(Session):
    """An agent of which no fault ends the run. A `with` block ends it.

    A fault is a hold. After it the agent is begun anew when it is asked next: what is left in its pipe answers another
    bar, and what it knew is lost. After `faults_in_a_row` of its bounds, or answers of more than `run_bytes` together,
    it is asked no more; the rest of the run are holds, as `agent_given_up`, or `agent_lost` where the last fault was
    one of infrastructure. An answer that is no decision is told, too, with the slug `malformed`; what is made of it is
    the affair of the run, and the agent goes on.

    Args:
        launcher: Begins it.
        tell: What is given each fault, and how many answers came before it.
        before: What was answered before the run was cut. Those bars are shown again, so that the agent knows what it
            knew, and the answers stand; faults meanwhile are told and count for nothing.
    """

    def __init__(
        self, launcher: Launcher, tell: Tell = lambda fault, step: None, before: Sequence[Answer] = ()
    ) -> None:
        self._launcher = launcher
        self._tell = tell
        self._before = deque(before)
        self._session: Session | None = launcher.begin()
        self._failed: Session | None = None
        self._n_asked = self._n_bytes = self._in_a_row = 0
        self._n_failed_again = 0
        self._gone = (before[-1].fault or "") if before and before[-1].fault in GONE else ""
        self._is_killed = False

    @property
    def harness(self) -> Harness | None:
        """What records say of how it is asked."""
        return self._launcher.harness

    def answer(self, observation: str) -> Answer:
        """Return the answer to an observation, or a hold with its fault."""
        self._n_asked += 1
        if self._before:
            return self._answered_before(observation)
        if self._gone:
            return Answer("", self._gone)
        try:
            answer = self._asked(observation)
            self._check_length(answer)
        except AgentError as fault:
            return self._held(fault)
        self._in_a_row = 0
        self._check_form(answer)
        return answer

    def _asked(self, observation: str) -> Answer:
        if self._session is None:
            self._session = self._begun()
            if self._failed is not None:
                self._session.go_on_from(self._failed)
            # `kill` may have come while there was nothing to kill.
            if self._is_killed:
                self._session.kill()
        text = self._session.answer(observation)
        return text if isinstance(text, Answer) else Answer(text)

    def _answered_before(self, observation: str) -> Answer:
        given = self._before.popleft()
        # One that fails whatever it is shown would take the time of all its answers.
        if not self._gone and self._n_failed_again < self._launcher.bounds.faults_in_a_row:
            try:
                self._asked(observation)
                self._n_failed_again = 0
            except AgentError as fault:
                self._drop(fault)
                self._n_failed_again += 1
                self._tell(fault, self._n_asked - 1)
        self._n_bytes += _n_bytes(given)
        self._count(given.fault)
        return given

    def _check_length(self, answer: Answer) -> None:
        most = self._launcher.bounds.run_bytes
        self._n_bytes += _n_bytes(answer)
        if self._n_bytes > most:
            self._gone = "agent_given_up"
            wanted = f"all answers of a run must be at most {most:,} bytes together"
            raise AgentError("answer_too_long", f"{wanted}; received more")

    def _begun(self) -> Session:
        try:
            return self._launcher.begin()
        except AgentError:
            raise
        except OpenOutcryError as error:
            raise AgentError(
                "agent_not_started", f"an agent must begin anew after a fault; received {error}"
            ) from error

    def _check_form(self, answer: Answer) -> None:
        try:
            read_decision(answer.text)
        except (OpenOutcryError, UnicodeEncodeError) as error:
            self._tell(AgentError("malformed", str(error)), self._n_asked - 1)

    def _held(self, fault: AgentError) -> Answer:
        self._drop(fault)
        self._count(fault.slug)
        self._tell(fault, self._n_asked - 1)
        return Answer("", fault.slug)

    def _drop(self, fault: AgentError) -> None:
        """End what has failed, to be begun anew."""
        # Of a run that is stopped this is no fault of the agent.
        if self._is_killed:
            raise fault
        if self._session is not None and not self._session.outlives_faults:
            self._end(self._session)

    def _count(self, slug: str | None) -> None:
        self._in_a_row = self._in_a_row + 1 if slug else 0
        if self._in_a_row >= self._launcher.bounds.faults_in_a_row:
            self._gone = self._gone or ("agent_lost" if slug in INFRASTRUCTURE else "agent_given_up")

    def _end(self, session: Session) -> None:
        self._session, self._failed = None, session
        session.kill()
        session.close()

    def finish(self) -> None:
        """Tell the agent that the run is over, and do not wait for it."""
        if self._session is not None:
            self._session.finish()

    def kill(self) -> None:
        """End the agent at once, from any thread."""
        self._is_killed = True
        session = self._session
        if session is not None:
            session.kill()

    def close(self) -> None:
        """End the agent, in time or by force."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


def _n_bytes(answer: Answer) -> int:
    return len(answer.text.encode("utf-8", "surrogatepass"))
