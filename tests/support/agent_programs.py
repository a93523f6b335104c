"""Agents that are programs: what a test is to meet, in a line or two of Python."""

from __future__ import annotations

import sys

from openoutcry.harness import Bounds, CommandAgent

QUICK = Bounds(start_seconds=0.2, answer_seconds=0.5, end_seconds=0.3, answer_bytes=1000)
HOLD = '{"orders":[]}'


def python(text: str, bounds: Bounds = QUICK) -> CommandAgent:
    """Return an agent that is a program of Python."""
    return CommandAgent([sys.executable, "-u", "-c", text], bounds=Bounds(20.0, bounds.answer_seconds, 0.3, 1000))
