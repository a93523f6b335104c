"""Call a Python agent or a `TextAgent` from a backtest.

Baselines run in Rust instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from openoutcry.agents import Agent, Answer, TextAgent
from openoutcry.agents.decision_codec import decision_text
from openoutcry.data.dataset import Dataset
from openoutcry.errors import add_note

T = TypeVar("T")


def call_agent(
    dataset: Dataset, start: int, agent: Agent | TextAgent, run: Callable[[Callable[[str], str | Answer]], T]
) -> T:
    """Pass the agent to `run` as a function from JSON to JSON, and return its result.

    Args:
        dataset: The market.
        start: Bar of the first decision.
        agent: The agent.
        run: Calls the function once per bar.

    Raises:
        Exception: raised by the agent or by `run`, with a note that names the bar.
    """
    n_calls = 0

    def decide(text: str) -> str | Answer:
        nonlocal n_calls
        n_calls += 1
        if isinstance(agent, TextAgent):
            return agent.answer(text)
        return decision_text(agent(json.loads(text)))

    try:
        return run(decide)
    except Exception as error:
        if n_calls:
            bar = start + n_calls - 1
            add_note(error, f"in the decision at the close of bar {bar} ({dataset.dates[bar]})")
        raise
