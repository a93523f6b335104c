"""The runs of one window, made at the same time, each by an agent of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import TypeVar

from openoutcry.agents import Answer, Harness, TextAgent
from openoutcry.errors import tell
from openoutcry.harness.agent_session import Session
from openoutcry.harness.cancellation import Stop
from openoutcry.harness.lockstep import Lockstep, Stopped
from openoutcry.openoutcry_py import OpenOutcryError

Made = TypeVar("Made")


def run_together(
    begins: Sequence[Callable[[], Session]], runs: Sequence[Callable[[TextAgent], Made]], stop: Stop | None = None
) -> list[Made]:
    """Return what each run makes of an agent that was begun for it alone.

    No agent is asked again before those of all other runs that are under way have answered, so that none can know more
    of the market than another, whatever they tell each other.

    Args:
        begins: Begin the agents, one a run.
        runs: Each asks its agent, bar by bar.
        stop: Ends all runs from another thread, as Ctrl-C does from this one.

    Raises:
        Exception: what the first of the runs that failed has raised; the others were stopped at the same bar.
    """
    gate = Lockstep(len(runs))
    with ExitStack() as ends:
        try:
            sessions = [ends.enter_context(begin()) for begin in begins]
        except OpenOutcryError as refused:
            tell(refused, f"in beginning {len(runs)} agents at the same time, one for each seed of a window")
            raise

        def end_all() -> None:
            # Whoever waits for a gate or an answer waits no longer.
            gate.stop()
            for session in sessions:
                session.kill()

        ends.enter_context((stop or Stop()).calling(end_all))
        with ThreadPoolExecutor(len(runs)) as threads:
            made: list[Future[Made]] = [
                threads.submit(_run, gate, session, run) for session, run in zip(sessions, runs, strict=True)
            ]
            try:
                wait(made)
            except BaseException:
                end_all()
                raise
        # Each takes a while to end; all at the same time, they take one.
        for session in sessions:
            session.finish()
    errors = [error for each in made if (error := each.exception()) is not None]
    for error in errors:
        if not isinstance(error, Stopped):
            raise error
    return [each.result() for each in made]


def _run(gate: Lockstep, session: Session, run: Callable[[TextAgent], Made]) -> Made:
    try:
        made = run(_Gated(gate, session))
    except BaseException:
        gate.stop()
        raise
    gate.leave()
    return made


class _Gated(TextAgent):
    """An agent that is asked when all others have answered."""

    def __init__(self, gate: Lockstep, session: Session) -> None:
        self._gate = gate
        self._session = session

    @property
    def harness(self) -> Harness | None:
        return self._session.harness

    def answer(self, observation: str) -> str | Answer:
        self._gate.wait()
        return self._session.answer(observation)
