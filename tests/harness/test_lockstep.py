"""Concurrent runs in lockstep: the order of observations, and how a failure stops all runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import openoutcry as oo
from openoutcry.agents import TextAgent
from openoutcry.harness import Launcher, Session
from openoutcry.harness.concurrent_runs import run_concurrently
from openoutcry.harness.lockstep import Lockstep, Stopped

MARKET = oo.Dataset.synthetic(2, 60, 1)


class Noted(Launcher):
    """Agents that record the times of their observations and answers, with different delays."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, int, int]] = []
        self.n_begun = 0

    @property
    def name(self) -> str:
        return "noted"

    def start(self) -> Session:
        self.n_begun += 1
        return NotedSession(self, self.n_begun - 1)


class NotedSession(Session):
    def __init__(self, noted: Noted, run: int) -> None:
        self.noted, self.run, self.bar = noted, run, 0

    def answer(self, observation: str) -> str:
        self.noted.notes.append(("asked", self.run, self.bar))
        time.sleep(0.0007 * ((self.run * 7 + self.bar * 3) % 4))
        self.noted.notes.append(("answered", self.run, self.bar))
        self.bar += 1
        return observation

    def finish(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


def test_no_run_gets_its_next_observation_before_all_active_runs_have_answered() -> None:
    lengths = (9, 4, 12, 1)
    noted = Noted()

    def of_length(n_bars: int) -> Callable[[TextAgent], list[str]]:
        return lambda agent: [agent.answer(str(bar)) for bar in range(n_bars)]

    made = run_concurrently([noted.start] * 4, [of_length(n_bars) for n_bars in lengths])
    assert made == [[str(bar) for bar in range(n_bars)] for n_bars in lengths]
    assert len(noted.notes) == 2 * sum(lengths)
    answered = dict.fromkeys(range(4), 0)
    for what, run, bar in noted.notes:
        if what == "answered":
            answered[run] += 1
        else:
            assert all(answered[other] >= min(bar, lengths[other]) for other in answered)


def test_a_failed_run_stops_the_others_at_the_same_bar_and_the_first_error_is_raised() -> None:
    noted = Noted()

    def failing_at(last: int, message: str) -> Callable[[TextAgent], None]:
        def run(agent: TextAgent) -> None:
            for bar in range(9):
                agent.answer("")
                if bar == last:
                    raise ValueError(message)

        return run

    with pytest.raises(ValueError, match="the first"):
        run_concurrently([noted.start] * 3, [failing_at(9, ""), failing_at(3, "the first"), failing_at(3, "another")])
    assert max(bar for _, _, bar in noted.notes) == 3


def test_a_stopped_barrier_raises_in_every_run() -> None:
    gate = Lockstep(2)
    caught: list[type[BaseException]] = []

    def wait() -> None:
        try:
            gate.wait()
        except Stopped as error:
            caught.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    gate.stop()
    thread.join(5.0)
    assert caught == [Stopped]
    with pytest.raises(Stopped):
        gate.wait()
