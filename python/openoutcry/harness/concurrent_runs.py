"""Concurrent runs of one window in lockstep, each with its own agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import TypeVar

from openoutcry.agents import Answer, Harness, TextAgent
from openoutcry.errors import add_note
from openoutcry.harness.agent_session import Session
from openoutcry.harness.cancellation import Stop
from openoutcry.harness.lockstep import Lockstep, Stopped
from openoutcry.openoutcry_py import OpenOutcryError

Result = TypeVar("Result")


def run_concurrently(
    starts: Sequence[Callable[[], Session]], runs: Sequence[Callable[[TextAgent], Result]], stop: Stop | None = None
) -> list[Result]:
    """Run several agents in lockstep and return the result of each run.

    No agent receives its next observation before the agents of all active runs have answered. Agents that communicate
    therefore gain no knowledge of later bars.

    Args:
        starts: Start the agents, one per run.
        runs: Functions that run a backtest with their agent.
        stop: Cancels all runs from another thread, as Ctrl-C does from this one.

    Raises:
        Exception: the exception of the first run that failed; the other runs were stopped at the same bar.
    """
    gate = Lockstep(len(runs))
    with ExitStack() as ends:
        try:
            sessions = [ends.enter_context(start()) for start in starts]
        except OpenOutcryError as refused:
            add_note(refused, f"while starting {len(runs)} agents at the same time, one for each seed of a window")
            raise

        def end_all() -> None:
            # Release threads that wait at the barrier or for an answer.
            gate.stop()
            for session in sessions:
                session.kill()

        ends.enter_context((stop or Stop()).on_stop(end_all))
        with ThreadPoolExecutor(len(runs)) as threads:
            futures: list[Future[Result]] = [
                threads.submit(_run, gate, session, run) for session, run in zip(sessions, runs, strict=True)
            ]
            try:
                wait(futures)
            except BaseException:
                end_all()
                raise
        # Signal all agents first, so that they exit concurrently.
        for session in sessions:
            session.finish()
    errors = [error for each in futures if (error := each.exception()) is not None]
    for error in errors:
        if not isinstance(error, Stopped):
            raise error
    return [each.result() for each in futures]


def _run(gate: Lockstep, session: Session, run: Callable[[TextAgent], Result]) -> Result:
    try:
        result = run(_GatedAgent(gate, session))
    except BaseException:
        gate.stop()
        raise
    gate.leave()
    return result


class _GatedAgent(TextAgent):
    """An agent that waits at the barrier before each observation."""

    def __init__(self, gate: Lockstep, session: Session) -> None:
        self._gate = gate
        self._session = session

    @property
    def harness(self) -> Harness | None:
        return self._session.harness

    def answer(self, observation: str) -> str | Answer:
        self._gate.wait()
        return self._session.answer(observation)
