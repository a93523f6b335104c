"""One session: an episode that is stepped by decisions in JSON, and its account."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.agents import Agent, Harness, TextAgent
from openoutcry.backtest import Run, run_backtest
from openoutcry.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.line_sink import LineSink

# A client is a process like any other on this machine, or behind one.
HARNESS: Harness = {"allow_net": True, "tier": "T0", "transport": "stdio"}
BENCHMARKS = {"buy-and-hold": "buy-and-hold", "cash": "hold-cash"}


class Unfinished(Exception):  # noqa: N818 no error: a client has left
    """An episode was left before its end, so that its record is unfinished."""


@dataclass(frozen=True)
class Rules:
    """What an episode is traded under.

    Args:
        agent: What its record calls whoever trades.
        settings: Window, costs, limits, lookback and seed, as backtests have them.
    """

    agent: str
    settings: native.Settings

    @property
    def window(self) -> tuple[int, int]:
        """Bars `[start, end)` of the episode."""
        return self.settings["window"]


@dataclass
class Episode:
    """An episode under way.

    Its steps and its score are of the one engine: a score is the backtest of the decisions made.

    Args:
        dataset: The market, as its session sees it.
        rules: What it is traded under.
    """

    dataset: Dataset
    rules: Rules
    _texts: list[str] = field(default_factory=list)
    _done: bool = False

    def __post_init__(self) -> None:
        told = self.rules.settings
        self._env = native.TradingEnv.from_dataset(
            self.dataset._core,
            window=told["window"],
            costs=told["costs"],
            limits=told["limits"],
            lookback=told["lookback"],
            seed=told["seed"],
        )
        self._observation = self._env.reset()

    @property
    def done(self) -> bool:
        """Whether no decision is asked for any more."""
        return self._done

    @property
    def n_made(self) -> int:
        """Decisions made so far."""
        return len(self._texts)

    @property
    def n_left(self) -> int:
        """Decisions still to be made, unless the account ends before."""
        start, end = self.rules.window
        return 0 if self._done else end - start - 1 - self.n_made

    def observe(self) -> dict[str, Any]:
        """Return the present observation."""
        seen: dict[str, Any] = json.loads(self._observation)
        return seen

    def step(self, decision: str) -> dict[str, Any]:
        """Carry out a decision, JSON text, and return what came of it.

        Raises:
            OpenOutcryError: it is no decision, or the episode is over; nothing has moved.
        """
        self._observation, reward, self._done, info = self._env.step(decision)
        self._texts.append(decision)
        return {"reward": reward, "terminated": self._env.terminated, "info": json.loads(info)}

    def score(self) -> dict[str, Any]:
        """Return what the decisions so far have come to, and benchmarks beside it.

        Nothing of a bar after the present one enters it.

        Raises:
            OpenOutcryError: there is none so far.
        """
        if not self._texts:
            raise refusal("argument_invalid", "a score must be of at least one decision; received none so far")
        run = self.run()
        beside = {name: self._run(agent) for name, agent in BENCHMARKS.items()}
        return {
            **_measured(run),
            "caveats": run.caveats,
            "paid": {kind: float(values.sum()) for kind, values in run.costs.items()},
            "events": run.event_counts,
            "ending": run.ending or None,
            "benchmarks": {name: _measured(each) for name, each in beside.items()},
        }

    def run(self, capture: bool | LineSink = False) -> Run:
        """Return the backtest of the decisions so far.

        With a writer it is of the whole window, which they may not reach.

        Raises:
            Unfinished: the writer was given decisions that end before the window.
        """
        return self._run(_Told(self._texts), capture)

    def _run(self, agent: Agent | TextAgent | str, capture: bool | LineSink = False) -> Run:
        start, end = self.rules.window
        told = self.rules.settings
        reached = end if self._done or capture else start + 1 + self.n_made
        run = partial(run_backtest, self.dataset, agent, (start, reached), told["costs"], told["limits"], told["seed"])
        return run(lookback=told["lookback"], name=self.rules.agent, capture=capture)


class _Told(TextAgent):
    """An agent that has made its decisions."""

    def __init__(self, texts: list[str]) -> None:
        self._left = iter(texts)

    @property
    def harness(self) -> Harness:
        return HARNESS

    def answer(self, observation: str) -> str:
        for text in self._left:
            return text
        raise Unfinished


def _measured(run: Run) -> dict[str, Any]:
    return {"metrics": run.metrics, "undefined": run.undefined}
