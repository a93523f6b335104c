"""What the decisions of an episode come to: backtests of them."""

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


@dataclass(frozen=True)
class Decided:
    """Decisions of an episode. They do not change when it goes on.

    Args:
        dataset: The market, as its session sees it.
        rules: What it is traded under.
        texts: The decisions so far, JSON texts.
        end: One past the last bar that they have led to.
    """

    dataset: Dataset
    rules: Rules
    texts: Iterable[str]
    end: int

    def score(self) -> dict[str, Any]:
        """Return what they have come to, and benchmarks beside it.

        Nothing of a bar after the last one enters it.
        """
        run = self._run(_Told(self.texts), self.end)
        beside = {name: self._run(agent, self.end) for name, agent in BENCHMARKS.items()}
        return {
            **_measured(run),
            "caveats": run.caveats,
            "paid": {kind: float(values.sum()) for kind, values in run.costs.items()},
            "events": run.event_counts,
            "ending": run.ending or None,
            "benchmarks": {name: _measured(each) for name, each in beside.items()},
        }

    def record(self, lines: LineSink) -> None:
        """Tell the lines of the record of the whole window.

        Raises:
            Unfinished: the decisions end before it; lines of those there are have been told.
        """
        self._run(_Told(self.texts), self.rules.window[1], lines)

    def _run(self, agent: Agent | TextAgent | str, end: int, capture: bool | LineSink = False) -> Run:
        told = self.rules.settings
        window = self.rules.window[0], end
        run = partial(run_backtest, self.dataset, agent, window, told["costs"], told["limits"], told["seed"])
        return run(lookback=told["lookback"], name=self.rules.agent, capture=capture)


class _Told(TextAgent):
    """An agent that has made its decisions."""

    def __init__(self, texts: Iterable[str]) -> None:
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
