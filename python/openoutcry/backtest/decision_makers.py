"""Kinds and names of decision makers: agents, baselines and arrays of weights."""

from __future__ import annotations

from typing import Any

from openoutcry.agents import Baseline, TextAgent

__all__ = ["is_weights", "name_of"]


def is_weights(agent_or_weights: Any) -> bool:
    """Return whether a decision maker is an array of weights, not an agent."""
    return not (callable(agent_or_weights) or isinstance(agent_or_weights, (str, Baseline, TextAgent)))


def name_of(agent: Any) -> str:
    """Return the default name of an agent or of weights."""
    if isinstance(agent, str):
        return agent
    if isinstance(agent, Baseline):
        return agent.name
    return str(getattr(agent, "__name__", type(agent).__name__)) if callable(agent) else "weights"
