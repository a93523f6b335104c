"""Agents that are one-line Python programs."""

from __future__ import annotations

import sys

from openoutcry.harness import Bounds, CommandAgent

QUICK = Bounds(start_seconds=0.2, answer_seconds=0.5, end_seconds=0.3, answer_bytes=1000)
HOLD = '{"orders":[]}'


def python(text: str, bounds: Bounds = QUICK) -> CommandAgent:
    """Return an agent that runs a Python program text."""
    return CommandAgent([sys.executable, "-u", "-c", text], bounds=Bounds(20.0, bounds.answer_seconds, 0.3, 1000))
