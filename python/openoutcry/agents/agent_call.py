"""How a backtest asks an agent that is no baseline."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from openoutcry.agents import Agent, Answer, TextAgent
from openoutcry.agents.decision_codec import decision_text
from openoutcry.data.dataset import Dataset
from openoutcry.errors import add_note

Made = TypeVar("Made")


def call_agent(
    dataset: Dataset, start: int, agent: Agent | TextAgent, run: Callable[[Callable[[str], str | Answer]], Made]
) -> Made:
    """Return what `run` makes of a function from observation to decision, both JSON.

    Args:
        dataset: The market.
        start: First bar that the agent is asked about.
        agent: The agent.
        run: What asks, bar by bar.

    Raises:
        Exception: what the agent or `run` raises, with a note of the bar.
    """
    n_asked = 0

    def decide(text: str) -> str | Answer:
        nonlocal n_asked
        n_asked += 1
        if isinstance(agent, TextAgent):
            return agent.answer(text)
        return decision_text(agent(json.loads(text)))

    try:
        return run(decide)
    except Exception as error:
        if n_asked:
            bar = start + n_asked - 1
            add_note(error, f"in the decision at the close of bar {bar} ({dataset.dates[bar]})")
        raise
