"""An agent for one run: every fault is reported and the decision defaults to hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from openoutcry.agents import Answer, Harness
from openoutcry.harness.agent_faults import INFRASTRUCTURE, AgentError
from openoutcry.harness.agent_session import Launcher, Session
from openoutcry.openoutcry_py import OpenOutcryError, read_decision

ABANDONED = ("agent_given_up", "agent_lost")
"""Fault slugs of an agent that receives no more observations in this run."""

OnFault = Callable[[AgentError, int], object]
"""Callback for each fault: the error and the step of the run."""


class SupervisedAgent(Session):
    """An agent for one run, which continues after faults. Use it in a `with` block.

    After a fault the decision defaults to hold and the agent is restarted for the next observation: output left in its
    pipe would answer the wrong bar. A restarted agent has lost its state. After `Bounds.faults_in_a_row` consecutive
    faults, or more than `Bounds.run_bytes` of decisions in total, the agent receives no more observations and the
    remaining decisions are holds with the fault `agent_given_up`, or `agent_lost` if the last fault was one of
    infrastructure. Text that is not a valid decision is reported with the slug `malformed` and does not restart the
    agent.

    Args:
        launcher: Starts the agent.
        on_fault: Receives each fault and the number of decisions before it.
        prior_decisions: Decisions of an interrupted run. The agent sees their observations again to rebuild its state;
            the prior decisions stand, and faults while they are replayed do not count.
    """

    def __init__(
        self,
        launcher: Launcher,
        on_fault: OnFault = lambda fault, step: None,
        prior_decisions: Sequence[Answer] = (),
    ) -> None:
        self._launcher = launcher
        self._on_fault = on_fault
        self._prior_decisions = deque(prior_decisions)
        self._session: Session | None = launcher.start()
        self._failed: Session | None = None
        self._n_observations = self._n_bytes = self._in_a_row = 0
        self._n_replay_faults = 0
        last = prior_decisions[-1].fault if prior_decisions else None
        self._abandoned = last if last in ABANDONED else ""
        self._is_killed = False

    @property
    def harness(self) -> Harness | None:
        """Transport, tier and network access, as records state them."""
        return self._launcher.harness

    def answer(self, observation: str) -> Answer:
        """Return the decision for an observation, or a hold with its fault."""
        self._n_observations += 1
        if self._prior_decisions:
            return self._replay(observation)
        if self._abandoned:
            return Answer("", self._abandoned)
        try:
            answer = self._request(observation)
            self._check_length(answer)
        except AgentError as fault:
            return self._hold(fault)
        self._in_a_row = 0
        self._check_form(answer)
        return answer

    def _request(self, observation: str) -> Answer:
        if self._session is None:
            self._session = self._restart()
            if self._failed is not None:
                self._session.inherit_limits(self._failed)
            # `kill` may have been called while no session was running.
            if self._is_killed:
                self._session.kill()
        text = self._session.answer(observation)
        return text if isinstance(text, Answer) else Answer(text)

    def _replay(self, observation: str) -> Answer:
        prior = self._prior_decisions.popleft()
        # An agent that fails at every replayed bar would cost a timeout for each of them.
        if not self._abandoned and self._n_replay_faults < self._launcher.bounds.faults_in_a_row:
            try:
                self._request(observation)
                self._n_replay_faults = 0
            except AgentError as fault:
                self._drop(fault)
                self._n_replay_faults += 1
                self._on_fault(fault, self._n_observations - 1)
        self._n_bytes += _n_bytes(prior)
        self._count(prior.fault)
        return prior

    def _check_length(self, answer: Answer) -> None:
        most = self._launcher.bounds.run_bytes
        self._n_bytes += _n_bytes(answer)
        if self._n_bytes > most:
            self._abandoned = "agent_given_up"
            wanted = f"all decisions of a run must be at most {most:,} bytes in total"
            raise AgentError("answer_too_long", f"{wanted}; received more")

    def _restart(self) -> Session:
        try:
            return self._launcher.start()
        except AgentError:
            raise
        except OpenOutcryError as error:
            raise AgentError("agent_not_started", f"an agent must restart after a fault; received {error}") from error

    def _check_form(self, answer: Answer) -> None:
        try:
            read_decision(answer.text)
        except OpenOutcryError as error:
            self._on_fault(AgentError("malformed", str(error)), self._n_observations - 1)

    def _hold(self, fault: AgentError) -> Answer:
        self._drop(fault)
        self._count(fault.slug)
        self._on_fault(fault, self._n_observations - 1)
        return Answer("", fault.slug)

    def _drop(self, fault: AgentError) -> None:
        """End the failed session, so that the next observation starts a new one."""
        # The caller stopped the run: this is not a fault of the agent.
        if self._is_killed:
            raise fault
        if self._session is not None and not self._session.survives_faults:
            self._end(self._session)

    def _count(self, slug: str | None) -> None:
        self._in_a_row = self._in_a_row + 1 if slug else 0
        if self._in_a_row >= self._launcher.bounds.faults_in_a_row:
            self._abandoned = self._abandoned or ("agent_lost" if slug in INFRASTRUCTURE else "agent_given_up")

    def _end(self, session: Session) -> None:
        self._session, self._failed = None, session
        session.kill()
        session.close()

    def finish(self) -> None:
        """Signal the end of the run to the agent without waiting for it."""
        if self._session is not None:
            self._session.finish()

    def kill(self) -> None:
        """Kill the agent, from any thread."""
        self._is_killed = True
        session = self._session
        if session is not None:
            session.kill()

    def close(self) -> None:
        """End the agent, by force after `Bounds.end_seconds`."""
        session, self._session = self._session, None
        if session is not None:
            session.close()


def _n_bytes(answer: Answer) -> int:
    return len(answer.text.encode("utf-8", "surrogatepass"))
