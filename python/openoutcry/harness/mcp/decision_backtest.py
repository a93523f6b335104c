"""Backtests of the decisions of an episode: its score and its record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.agents import Agent, Harness, TextAgent
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.data.dataset import Dataset
from openoutcry.records.line_sink import LineSink

# A client is an unrestricted process on this machine, or connected through one.
HARNESS: Harness = {"allow_net": True, "tier": "T0", "transport": "stdio"}
BENCHMARKS = {"buy-and-hold": "buy-and-hold", "cash": "hold-cash"}


class EpisodeAbandoned(Exception):  # noqa: N818 not an error: the client has left
    """An episode ended before its window, so that its record is unfinished."""


@dataclass(frozen=True)
class EpisodeRules:
    """The settings of an episode.

    Args:
        agent: Name of the agent in the record.
        settings: Window, costs, limits, lookback and seed of the backtest.
    """

    agent: str
    settings: native.Settings

    @property
    def window(self) -> tuple[int, int]:
        """Bars `[start, end)` of the episode."""
        return self.settings["window"]


@dataclass(frozen=True)
class DecisionBacktest:
    """The backtest of the decisions of an episode so far.

    Args:
        dataset: The market, as its session sees it.
        rules: The settings of the episode.
        texts: The decisions so far, JSON texts.
        end: Exclusive end of the bars that they reached.
    """

    dataset: Dataset
    rules: EpisodeRules
    texts: Iterable[str]
    end: int

    def score(self) -> dict[str, Any]:
        """Return statistics of the decisions and of benchmarks over the same bars."""
        run = self._run(_RecordedDecisions(self.texts), self.end)
        benchmarks = {name: self._run(agent, self.end) for name, agent in BENCHMARKS.items()}
        return {
            **_statistics(run),
            "caveats": run.caveats,
            "paid": {kind: float(values.sum()) for kind, values in run.costs.items()},
            "events": run.event_counts,
            "ending": run.ending or None,
            "benchmarks": {name: _statistics(each) for name, each in benchmarks.items()},
        }

    def record(self, lines: LineSink) -> None:
        """Write the lines of the record of the complete window.

        Raises:
            EpisodeAbandoned: the decisions end before the window; the lines up to there were written.
        """
        self._run(_RecordedDecisions(self.texts), self.rules.window[1], lines)

    def _run(self, agent: Agent | TextAgent | str, end: int, capture: bool | LineSink = False) -> Run:
        settings = self.rules.settings
        window = self.rules.window[0], end
        run = partial(
            run_backtest, self.dataset, agent, window, settings["costs"], settings["limits"], settings["seed"]
        )
        return run(lookback=settings["lookback"], name=self.rules.agent, capture=capture)


class _RecordedDecisions(TextAgent):
    """An agent that replays given decisions."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._left = iter(texts)

    @property
    def harness(self) -> Harness:
        return HARNESS

    def answer(self, observation: str) -> str:
        for text in self._left:
            return text
        raise EpisodeAbandoned


def _statistics(run: Run) -> dict[str, Any]:
    return {"metrics": run.metrics, "undefined": run.undefined}
