"""What a backtest can run: names of agents, agents, strategies and weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from openoutcry import openoutcry_py as native
from openoutcry.agents import NAMES, Baseline, TextAgent
from openoutcry.arguments import lookback_of, seed_of
from openoutcry.backtest.strategies.base import Strategy
from openoutcry.backtest.strategies.candidate_file import CandidateFile, is_candidate_path
from openoutcry.backtest.strategies.library import LIBRARY, from_json
from openoutcry.backtest.strategies.parameter_space import shown
from openoutcry.backtest.strategies.strategy_text import call_text, is_strategy_text, strategy_of_text, text_of_strategy
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

STRATEGY_NAMES = tuple(f"{name}:" if name in NAMES else name for name in LIBRARY)
"""Names of the strategies of the library; one with the name of a baseline, another rule, has a colon."""

_MOST_NAME = 200
_LONGEST_TYPO, _SIMILARITY = 40, 0.7


class NamedAgent(NamedTuple):
    """An agent of this package, selected by a name.

    Attributes:
        agent: A baseline or a strategy; None for a candidate that is code.
        name: Its name in records and boards.
        candidate: The candidate's file, if the name is that of one.
    """

    agent: Baseline | Strategy | None
    name: str
    candidate: CandidateFile | None = None


def is_named_agent(name: str) -> bool:
    """Return whether a name is that of a baseline, a strategy or a candidate.

    Every name without a colon is: nothing else has such a name."""
    return ":" not in name or is_strategy_text(name) or is_candidate_path(name)


def named_agent(name: str, seed: int = 0) -> NamedAgent:
    """Return the baseline, the strategy or the candidate of a name.

    A name of both a baseline and a strategy is the baseline; `momentum:` is the strategy with its default parameters.

    Args:
        name: The name.
        seed: Seed of the baseline `random`.

    Raises:
        OpenOutcryError: `unknown_agent`: there is no such agent or file. `argument_invalid`: a parameter or the file is
            invalid.
    """
    if name not in NAMES and is_candidate_path(name):
        found = CandidateFile.read(name)
        # The file is a member of its own, so that the strategy alone does not warn a second time.
        fields = {key: found.content[key] for key in ("strategy", "params")}
        strategy = None if found.source is not None else from_json(fields)
        return NamedAgent(strategy, candidate_name(found, strategy), found)
    if name not in NAMES and (is_strategy_text(name) or name.partition(":")[0] in LIBRARY):
        strategy = strategy_of_text(name)
        return NamedAgent(strategy, text_of_strategy(strategy))
    if name in NAMES:
        return NamedAgent(Baseline(name, seed), name)
    wanted = f"an agent must be one of {', '.join(NAMES)}, or a strategy: {', '.join(STRATEGY_NAMES)}"
    similar = similar_name(name)
    hint = "" if similar is None else f"; hint: `{similar}`"
    raise refusal("unknown_agent", f"{wanted}; received {shown(name)}{hint}")


def similar_name(name: str) -> str | None:
    """Return the baseline or strategy with the most similar name."""
    known = [*NAMES, *LIBRARY]
    similar = get_close_matches(name.lower(), known, 1, _SIMILARITY) if len(name) <= _LONGEST_TYPO else []
    return similar[0] if similar else None


def candidate_name(found: CandidateFile, strategy: Strategy | None = None) -> str:
    """Return the name of a candidate in records.

    It holds strategy, all parameters and the start of the digest.

    Args:
        found: The file.
        strategy: Its strategy, which has all parameters; without it, those that the file states.
    """
    params = found.content["params"] if strategy is None else strategy.params
    end = f" ({found.label})"
    return call_text(found.content["strategy"], params)[: _MOST_NAME - len(end)] + end


def library_agent(name: str, seed: int = 0) -> tuple[Baseline | Strategy, str]:
    """Return the baseline or strategy of a name, and its name in records.

    Raises:
        OpenOutcryError: as `named_agent`; and `argument_invalid`: the name is that of a candidate that is code.
    """
    named = named_agent(name, seed)
    return _in_process(named), named.name


def _in_process(named: NamedAgent) -> Baseline | Strategy:
    if named.agent is not None:
        return named.agent
    # Refuses code, and says how to run it.
    return from_json(None if named.candidate is None else named.candidate.content)


class DecisionMaker(NamedTuple):
    """The resolved input of a backtest.

    Attributes:
        agent: An agent, a strategy or weights.
        name: Its default name.
        lookback: Closes per symbol in an observation, at least those that a strategy needs.
        candidate: The candidate's file, if the input is the path or the strategy of one.
    """

    agent: Any
    name: str
    lookback: int
    candidate: CandidateFile | None = None

    def input_over(self, dataset: Dataset, window: tuple[int, int]) -> Any:
        """Return the agent, or the weights of a strategy over a window.

        A candidate that reads its holdout warns, as the command line does.
        """
        # At the caller of `run_backtest`.
        warn_of_holdout(self.candidate, self.name, [(dataset, window)], stacklevel=4)
        return self.agent.table(dataset, window[0], window[1] - 1) if isinstance(self.agent, Strategy) else self.agent


def warn_of_holdout(
    candidate: CandidateFile | None, name: str, runs: Iterable[tuple[Dataset, tuple[int, int]]], stacklevel: int
) -> None:
    """Warn of runs that read the holdout which the file of a candidate states.

    Args:
        candidate: The file; None for another agent.
        name: Name of the agent.
        runs: Market and window of each run; the first that reads the holdout is named.
        stacklevel: As in `warnings.warn`.
    """
    if candidate is None:
        return
    for dataset, (start, end) in runs:
        notice = candidate.stated_notice(dataset, (dataset.dates[start], dataset.dates[end - 1]))
        if notice is not None:
            text = f"{name}: {notice} (a statement of its file only)"
            warnings.warn(native.readable_text(text), stacklevel=stacklevel)
            return


def decision_maker_of(agent_or_weights: Any, seed: int, lookback: int) -> DecisionMaker:
    """Return what a backtest runs for its argument.

    Raises:
        OpenOutcryError: as `library_agent`.
    """
    agent, name, candidate = agent_or_weights, "", None
    if isinstance(agent, str):
        named = named_agent(agent, seed_of(seed))
        agent, name, candidate = _in_process(named), named.name, named.candidate
    if isinstance(agent, Strategy):
        candidate = candidate or agent.candidate_file
        lookback = max(lookback_of(lookback), agent.checked_lookback())
    if candidate is not None and isinstance(agent, Strategy):
        name = name or candidate_name(candidate, agent)
    return DecisionMaker(agent, name or name_of(agent), lookback, candidate)


def is_weights(agent_or_weights: Any) -> bool:
    """Return whether a decision maker is an array of weights, not an agent."""
    is_agent = callable(agent_or_weights) or isinstance(agent_or_weights, (str, Baseline, Strategy, TextAgent))
    return not is_agent


def name_of(agent: Any) -> str:
    """Return the default name of an agent or of weights."""
    if isinstance(agent, str):
        return agent
    if isinstance(agent, Strategy):
        return text_of_strategy(agent)[:_MOST_NAME]
    if isinstance(agent, Baseline):
        return agent.name
    return str(getattr(agent, "__name__", type(agent).__name__)) if callable(agent) else "weights"


def definition_of(agent: Any) -> Mapping[str, Any] | None:
    """Return the JSON that determines the decisions of a strategy, or None.

    The name of a class of the user does not determine its decisions.
    """
    if not isinstance(agent, Strategy):
        return None
    if LIBRARY.get(agent.name) is type(agent):
        return agent.to_json()
    definition: Mapping[str, Any] | None = getattr(agent, "definition", None)
    return definition
