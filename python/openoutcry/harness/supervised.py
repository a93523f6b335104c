"""An agent for the time of one run, whose faults are told and held."""

from __future__ import annotations

from collections.abc import Callable

from openoutcry.agents import Answer, Harness
from openoutcry.harness.faults import AgentError
from openoutcry.harness.session import Launcher, Session
from openoutcry.openoutcry_py import OpenOutcryError

GONE = ("agent_given_up", "agent_lost")
"""Slugs of the holds of an agent that is asked no more."""

Tell = Callable[[AgentError, int], object]
"""What is given each fault when it happens, and the step of the run."""


class Supervised(Session):
    """An agent of which no fault ends the run. A `with` block ends it.

    A fault is a hold. After it the agent is begun anew when it is asked next: what is left in its pipe answers another
    bar, and what it knew is lost. After `faults_in_a_row` of its bounds, or answers of more than `run_bytes` together,
    it is asked no more; the rest of the run are holds, as `agent_given_up`, or `agent_lost` where the last fault was
    one of infrastructure.

    Args:
        launcher: Begins it.
        tell: What is given each fault, and how many answers came before it.
    """

    def __init__(self, launcher: Launcher, tell: Tell = lambda fault, step: None) -> None:
        self._launcher = launcher
        self._tell = tell
        self._session: Session | None = launcher.begin()
        self._failed: Session | None = None
        self._n_asked = self._n_bytes = self._in_a_row = 0
        self._gone = ""
        self._is_killed = False

    @property
    def harness(self) -> Harness | None:
        """What records say of how it is asked."""
        return self._launcher.harness

    def answer(self, observation: str) -> Answer:
        """Return the answer to an observation, or a hold with its fault."""
        self._n_asked += 1
        if self._gone:
            return Answer("", self._gone)
        try:
            if self._session is None:
                self._session = self._begun()
                if self._failed is not None:
                    self._session.go_on_from(self._failed)
                # `kill` may have come while there was nothing to kill.
                if self._is_killed:
                    self._session.kill()
            text = self._session.answer(observation)
            answer = text if isinstance(text, Answer) else Answer(text)
            self._check_length(answer)
        except AgentError as fault:
            return self._held(fault)
        self._in_a_row = 0
        return answer

    def _check_length(self, answer: Answer) -> None:
        most = self._launcher.bounds.run_bytes
        self._n_bytes += len(answer.text.encode("utf-8", "surrogatepass"))
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

    def _held(self, fault: AgentError) -> Answer:
        # Of a run that is stopped this is no fault of the agent.
        if self._is_killed:
            raise fault
        if self._session is not None and not self._session.outlives_faults:
            self._end(self._session)
        self._in_a_row += 1
        if self._in_a_row >= self._launcher.bounds.faults_in_a_row:
            self._gone = "agent_lost" if fault.is_of_infrastructure else "agent_given_up"
        self._tell(fault, self._n_asked - 1)
        return Answer("", fault.slug)

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
