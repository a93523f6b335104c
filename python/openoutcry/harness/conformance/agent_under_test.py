"""The agent that is examined: what it is asked and answers, and how long it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter

from openoutcry import openoutcry_py as native
from openoutcry.agents import Answer, TextAgent
from openoutcry.backtest.run import run_backtest
from openoutcry.backtest.settings import settings_of
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge
from openoutcry.harness import AgentError, Bounds, Launcher, Session
from openoutcry.harness.callable_agent import CallableSession
from openoutcry.harness.conformance import random_market
from openoutcry.harness.conformance.decision_rules import Failure, complaint
from openoutcry.harness.conformance.kit import EPISODE, Case, Kit, episode
from openoutcry.harness.stdio_transport import ProcessExit, StdioSession

Said = list[tuple[str, str]]
"""Observations and the answers to them, in order."""


@dataclass
class Times:
    """Seconds that answers took.

    Attributes:
        starts: From the beginning of each session to its first answer.
        answers: Each later answer.
    """

    starts: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)


class Watched(TextAgent):
    """A session whose answers are timed, kept and judged.

    Args:
        session: The session.
        bounds: What its agent may take.
        begun: When the agent was begun.
        times: What the times of its answers are added to.

    Attributes:
        said: What it was asked and answered.
        n_orders: Orders in its answers.
    """

    def __init__(self, session: Session, bounds: Bounds, begun: float, times: Times) -> None:
        self.session = session
        self.said: Said = []
        self.n_orders = 0
        self._bounds = bounds
        self._begun = begun
        self._times = times

    def answer(self, observation: str) -> str:
        """Return the answer to an observation.

        Raises:
            Failure: there is none, or it is not what an answer must be.
        """
        asked = perf_counter()
        with told(observation):
            text = self.session.answer(observation)
        now = perf_counter()
        answer = text.text if isinstance(text, Answer) else text
        late = self._timed(now - asked) if self.said else self._timed_start(now - self._begun)
        symbols = {view["symbol"] for view in json.loads(observation)["symbols"]}
        if wrong := late or complaint(answer, symbols):
            raise Failure(wrong, observation, answer)
        self.said.append((observation, answer))
        self.n_orders += len(json.loads(answer)["orders"])
        return answer

    def _timed_start(self, seconds: float) -> str | None:
        self._times.starts.append(seconds)
        return self._late(seconds, self._bounds.start_seconds + self._bounds.answer_seconds)

    def _timed(self, seconds: float) -> str | None:
        self._times.answers.append(seconds)
        return self._late(seconds, self._bounds.answer_seconds)

    def _late(self, seconds: float, most: float) -> str | None:
        # Others are cut off when their time is over; who is called cannot be.
        if seconds <= most or not isinstance(self.session, CallableSession):
            return None
        return f"agent_late: an agent must answer within {most:g} s; received its answer after {seconds:.3g} s"

    def end(self) -> ProcessExit | None:
        """Return how the agent takes the end of its input; None for one that has none."""
        if not isinstance(self.session, StdioSession):
            return None
        with told(None):
            return self.session.end()

    def check_end(self) -> None:
        """End the agent, and raise a failure if it does not end with its input, and well."""
        ending = self.end()
        if ending is not None:
            check_ending(ending, self.said[-1])


@contextmanager
def told(sent: str | None) -> Iterator[None]:
    """Tell the fault of an agent as a failure, with what was exchanged."""
    try:
        yield
    except AgentError as error:
        received = error.received.decode("utf-8", "surrogateescape") if error.received else None
        blame = error.is_of_infrastructure
        raise Failure(str(error), sent, received, stderr=error.stderr, is_of_infrastructure=blame) from error
    except SystemExit as error:
        # Of a callable, where it is made: who examines it goes on.
        came = f"its end, SystemExit: {error.code}"
        raise Failure(
            f"agent_died: an agent must begin, and answer until its run ends; received {came}", sent
        ) from error


@dataclass
class Subject:
    """An agent under examination, begun anew for everything that it is asked.

    Attributes:
        seed: Which market its second episode is played on.
        said: What it answered in each session, by what it was asked for.
        interleaved: What it answered in each of two episodes at a time, by the name of the episode.
        first: How the session of the first question ended.
        n_answers: Answers that were judged.
        n_orders: Orders in them.
    """

    launcher: Launcher
    kit: Kit
    seed: int = 0
    times: Times = field(default_factory=Times)
    said: dict[str, Said] = field(default_factory=dict)
    interleaved: dict[str, Said] = field(default_factory=dict)
    first: ProcessExit | None = None
    n_answers: int = 0
    n_orders: int = 0

    @contextmanager
    def session(self) -> Iterator[Watched]:
        """Begin the agent, and end it."""
        begun = perf_counter()
        with told(None):
            session = self.launcher.start()
        with session:
            watched = Watched(session, self.launcher.bounds, begun, self.times)
            try:
                yield watched
            finally:
                self.n_answers += len(watched.said)
                self.n_orders += watched.n_orders

    def ask(self, text: str) -> Said:
        """Return the answers of a fresh session to the opening, then to this text.

        So the time to answer this is none of the time to begin in.

        Raises:
            Failure: one is no good answer, or the agent does not end as it must.
        """
        with self.session() as watched:
            watched.answer(self.kit.opening)
            watched.answer(text)
            watched.check_end()
            return watched.said

    def ask_case(self, case: Case) -> Said:
        """Return the answers to a case, kept under its name the first time."""
        said = self.ask(case.text)
        self.said.setdefault(case.name, said)
        return said

    @cached_property
    def episodes(self) -> dict[str, tuple[Dataset, tuple[Edge, Edge]]]:
        """Market and window of each episode, by the name of its check."""
        return {
            "episode": (episode(), EPISODE),
            "drawn_episode": (random_market.market(self.seed), (0, self.kit.n_drawn)),
        }

    def play(self, name: str) -> Said:
        """Return the answers of an episode, kept under its name the first time.

        Raises:
            Failure: a bar has no good answer, or the agent does not end as it must.
        """
        with self.session() as watched:
            run_backtest(self.episodes[name][0], watched, self.episodes[name][1])
            watched.check_end()
        self.said.setdefault(name, watched.said)
        return watched.said

    def interleave(self) -> None:
        """Play both episodes at a time, a bar of each in turn, until one has ended.

        Raises:
            Failure: a bar has no good answer.
        """
        with ExitStack() as stack:
            runs = [
                (name, stack.enter_context(self.session()), _door(market, window))
                for name, (market, window) in self.episodes.items()
            ]
            seen = [door.reset() for _, _, door in runs]
            is_over = False
            while not is_over:
                for at, (_, watched, door) in enumerate(runs):
                    seen[at], _, done, _ = door.step(watched.answer(seen[at]))
                    is_over = is_over or done
        self.interleaved = {name: watched.said for name, watched, _ in runs}


def _door(market: Dataset, window: tuple[Edge, Edge]) -> native.TradingEnv:
    rules = settings_of(market, window, (None, None), 0, native.DEFAULT_LOOKBACK)
    return native.TradingEnv.from_dataset(
        market._core,
        window=rules["window"],
        costs=rules["costs"],
        limits=rules["limits"],
        lookback=rules["lookback"],
        seed=rules["seed"],
    )


def check_silence(ending: ProcessExit, last: tuple[str, str] | None) -> None:
    """Raise a failure if an agent wrote what nobody had asked for."""
    if ending.said:
        wanted = "an agent must write one line for each that it reads, and nothing else"
        sent, answer = last or (None, None)
        more = ending.said.decode("utf-8", "surrogateescape")
        whole = more if answer is None else f"{answer}\n{more}"
        raise Failure(f"answer_too_early: {wanted}; received {len(ending.said):,} bytes more", sent, whole)


def check_ending(ending: ProcessExit, last: tuple[str, str] | None) -> None:
    """Raise a failure if an agent did not end with its input, and well."""
    check_silence(ending, last)
    sent, answer = last or (None, None)
    wanted = "an agent must end with its input, in time and with exit code 0"
    if ending.code is None:
        raise Failure(f"agent_late: {wanted}; received no end", sent, answer, stderr=ending.stderr)
    if ending.code != 0:
        raise Failure(f"agent_died: {wanted}; received exit code {ending.code}", sent, answer, stderr=ending.stderr)
