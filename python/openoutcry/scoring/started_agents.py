"""Agents that start again for every run, from a name or a strategy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from openoutcry.backtest.decision_makers import is_named_agent, library_agent, name_of, named_agent, warn_of_holdout
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.strategies.candidate_file import is_candidate_path
from openoutcry.backtest.strategies.observing_agent import observing_agent
from openoutcry.data.dataset import Dataset
from openoutcry.harness import CallableAgent, Launcher, connect


def started_agent(agent: Any) -> Any:
    """Return the launcher of a name or a strategy.

    Other agents, and names of baselines, are returned unchanged.

    Args:
        agent: An agent, or its name: a baseline, a strategy such as `trend:fast=20,slow=100`, a candidate's file,
            `module:function`, `cmd:PROGRAM` or `http://HOST:PORT`.

    Raises:
        OpenOutcryError: there is no such agent, a parameter is invalid, or the candidate is code.
    """
    if isinstance(agent, Strategy):
        return strategy_launcher(agent, name_of(agent))
    if not isinstance(agent, str):
        return agent
    if not is_named_agent(agent):
        return connect(agent)
    found, name = library_agent(agent)
    return strategy_launcher(found, name) if isinstance(found, Strategy) else agent


def strategy_launcher(strategy: Strategy, name: str, symbols: Sequence[str] = ()) -> Launcher:
    """Return the launcher of a strategy in this process."""
    return CallableAgent(lambda: observing_agent(strategy, name, symbols), name)


def warn_of_read_holdout(agent: Any, runs: Iterable[tuple[Dataset, tuple[int, int]]]) -> None:
    """Warn if a run reads the holdout of a candidate, a path or a strategy.

    The warning is at the caller of the function that calls this one.

    Args:
        agent: The agent, as the user gave it.
        runs: Market and window of each run.
    """
    candidate, name = (agent.candidate_file, name_of(agent)) if isinstance(agent, Strategy) else (None, "")
    if isinstance(agent, str) and is_candidate_path(agent):
        named = named_agent(agent)
        candidate, name = named.candidate, named.name
    warn_of_holdout(candidate, name, runs, stacklevel=4)
