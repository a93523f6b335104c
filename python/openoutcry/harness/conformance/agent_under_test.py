"""The agent under examination: its sessions, transcripts and response times."""

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
from openoutcry.harness.conformance.decision_rules import Failure, decision_error
from openoutcry.harness.conformance.kit import EPISODE, Case, Kit, episode
from openoutcry.harness.stdio_transport import ProcessExit, StdioSession
from openoutcry.untrusted.counted_nouns import counted

Transcript = list[tuple[str, str]]
"""Observations and their answers, in order."""


@dataclass
class Times:
    """Response times in seconds.

    Attributes:
        starts: From the start of each session to its first answer.
        answers: Each later answer.
    """

    starts: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)


class TimedSession(TextAgent):
    """A session that times, records and checks each answer.

    Args:
        session: The session.
        bounds: Limits of the agent.
        started: Time at which the agent was started.
        times: Receives the response times.

    Attributes:
        transcript: Observations and answers so far.
        n_orders: Number of orders in its answers.
    """

    def __init__(self, session: Session, bounds: Bounds, started: float, times: Times) -> None:
        self.session = session
        self.transcript: Transcript = []
        self.n_orders = 0
        self._bounds = bounds
        self._started = started
        self._times = times

    def answer(self, observation: str) -> str:
        """Send an observation and return the answer.

        Raises:
            Failure: the agent did not answer, or the answer is not a valid decision.
        """
        sent_at = perf_counter()
        with as_failure(observation):
            text = self.session.answer(observation)
        now = perf_counter()
        answer = text.text if isinstance(text, Answer) else text
        late = self._time_answer(now - sent_at) if self.transcript else self._time_start(now - self._started)
        symbols = {view["symbol"] for view in json.loads(observation)["symbols"]}
        if wrong := late or decision_error(answer, symbols):
            raise Failure(wrong, observation, answer)
        self.transcript.append((observation, answer))
        self.n_orders += len(json.loads(answer)["orders"])
        return answer

    def _time_start(self, seconds: float) -> str | None:
        self._times.starts.append(seconds)
        return self._late_error(seconds, self._bounds.start_seconds + self._bounds.answer_seconds)

    def _time_answer(self, seconds: float) -> str | None:
        self._times.answers.append(seconds)
        return self._late_error(seconds, self._bounds.answer_seconds)

    def _late_error(self, seconds: float, most: float) -> str | None:
        # Processes and servers are cut off at the timeout; a callable is checked afterwards.
        if seconds <= most or not isinstance(self.session, CallableSession):
            return None
        return f"agent_late: an agent must answer within {most:g} s; received its answer after {seconds:.3g} s"

    def end(self) -> ProcessExit | None:
        """Close the input and return how the process exits; None for other agents."""
        if not isinstance(self.session, StdioSession):
            return None
        with as_failure(None):
            return self.session.end()

    def check_end(self) -> None:
        """End the agent, and check how it exits."""
        process_exit = self.end()
        if process_exit is not None:
            check_exit(process_exit, self.transcript[-1])


@contextmanager
def as_failure(sent: str | None) -> Iterator[None]:
    """Convert a fault of the agent to a `Failure` with the exchanged texts."""
    try:
        yield
    except AgentError as error:
        received = error.received.decode("utf-8", "surrogateescape") if error.received else None
        blame = error.is_of_infrastructure
        raise Failure(str(error), sent, received, stderr=error.stderr, is_of_infrastructure=blame) from error
    except SystemExit as error:
        # Raised by the constructor of a callable, which must not end the examination.
        came = f"its exit, SystemExit: {error.code}"
        raise Failure(
            f"agent_died: an agent must start, and answer until its run ends; received {came}", sent
        ) from error


@dataclass
class AgentUnderTest:
    """An agent under examination, restarted for every session.

    Attributes:
        seed: Seed of the market of the second episode.
        transcripts: Transcript of each session, by the name of its check.
        interleaved: Transcripts of the interleaved episodes, by the name of the episode.
        first_exit: How the process exited after the first observation.
        n_answers: Number of checked answers.
        n_orders: Number of orders in them.
    """

    launcher: Launcher
    kit: Kit
    seed: int = 0
    times: Times = field(default_factory=Times)
    transcripts: dict[str, Transcript] = field(default_factory=dict)
    interleaved: dict[str, Transcript] = field(default_factory=dict)
    first_exit: ProcessExit | None = None
    n_answers: int = 0
    n_orders: int = 0

    @contextmanager
    def session(self) -> Iterator[TimedSession]:
        """Start the agent for the block, and end it."""
        started = perf_counter()
        with as_failure(None):
            session = self.launcher.start()
        with session:
            timed = TimedSession(session, self.launcher.bounds, started, self.times)
            try:
                yield timed
            finally:
                self.n_answers += len(timed.transcript)
                self.n_orders += timed.n_orders

    def run_text(self, text: str) -> Transcript:
        """Return the transcript of a new session with the opening observation and a text.

        The opening observation absorbs the start time of the agent.

        Raises:
            Failure: an answer is invalid, or the agent does not exit correctly.
        """
        with self.session() as timed:
            timed.answer(self.kit.opening)
            timed.answer(text)
            timed.check_end()
            return timed.transcript

    def run_case(self, case: Case) -> Transcript:
        """Return the transcript of a case; the first one is stored under its name."""
        transcript = self.run_text(case.text)
        self.transcripts.setdefault(case.name, transcript)
        return transcript

    @cached_property
    def episodes(self) -> dict[str, tuple[Dataset, tuple[Edge, Edge]]]:
        """Market and window of each episode, by the name of its check."""
        return {
            "episode": (episode(), EPISODE),
            "drawn_episode": (random_market.market(self.seed), (0, self.kit.n_drawn)),
        }

    def run_episode(self, name: str) -> Transcript:
        """Return the transcript of an episode; the first one is stored under its name.

        Raises:
            Failure: an answer is invalid, or the agent does not exit correctly.
        """
        with self.session() as timed:
            run_backtest(self.episodes[name][0], timed, self.episodes[name][1])
            timed.check_end()
        self.transcripts.setdefault(name, timed.transcript)
        return timed.transcript

    def run_interleaved(self) -> None:
        """Run both episodes concurrently, one bar of each in turn, until one has ended.

        Raises:
            Failure: an answer is invalid.
        """
        with ExitStack() as stack:
            runs = [
                (name, stack.enter_context(self.session()), _environment(market, window))
                for name, (market, window) in self.episodes.items()
            ]
            observations = [environment.reset() for _, _, environment in runs]
            is_over = False
            while not is_over:
                for at, (_, timed, environment) in enumerate(runs):
                    observations[at], _, done, _ = environment.step(timed.answer(observations[at]))
                    is_over = is_over or done
        self.interleaved = {name: timed.transcript for name, timed, _ in runs}


def _environment(market: Dataset, window: tuple[Edge, Edge]) -> native.TradingEnv:
    rules = settings_of(market, window, (None, None), 0, native.DEFAULT_LOOKBACK)
    return native.TradingEnv.from_dataset(
        market._core,
        window=rules["window"],
        costs=rules["costs"],
        limits=rules["limits"],
        lookback=rules["lookback"],
        seed=rules["seed"],
    )


def check_no_extra_output(process_exit: ProcessExit, last: tuple[str, str] | None) -> None:
    """Check that an agent wrote nothing beyond its answers."""
    if process_exit.extra_output:
        wanted = "an agent must write one line for each line that it reads, and nothing else"
        sent, answer = last or (None, None)
        more = process_exit.extra_output.decode("utf-8", "surrogateescape")
        output = more if answer is None else f"{answer}\n{more}"
        n_bytes = len(process_exit.extra_output)
        raise Failure(f"answer_too_early: {wanted}; received {counted(n_bytes, 'byte')} more", sent, output)


def check_exit(process_exit: ProcessExit, last: tuple[str, str] | None) -> None:
    """Check that an agent exited in time, with code 0 and without extra output."""
    check_no_extra_output(process_exit, last)
    sent, answer = last or (None, None)
    wanted = "an agent must exit at the end of its input, in time and with code 0"
    code, stderr = process_exit.code, process_exit.stderr
    if code is None:
        raise Failure(f"agent_late: {wanted}; received no exit", sent, answer, stderr=stderr)
    if code != 0:
        raise Failure(f"agent_died: {wanted}; received exit code {code}", sent, answer, stderr=stderr)
