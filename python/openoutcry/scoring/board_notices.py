"""Notices of a board about its own gates and its edition."""

from __future__ import annotations

import json

from openoutcry.scoring.suite import BENCHMARKS, Suite
from openoutcry.scoring.verdict import Board

_POOLED = (
    "the windows are judged together (`windows: pooled`): an agent may lose in most windows if all days together are "
    "significant, and still gain without its best window"
)
_EACH = (
    "most windows must be won and none may be significantly lost, so a convex style, which loses a little in most "
    "windows, cannot be eligible; a suite with the gate `windows: pooled` judges it on all days together"
)
_DELAY = (
    "an agent that is sensitive to a delay of one bar may trade on stale prices: check how its prices were made "
    "(`openoutcry data check`) and whether its orders could have been executed at them"
)
# Boards of the first edition are rendered as they were.
_SECOND = 2


def edition_notices(suite: Suite) -> list[str]:
    """Return what a suite of the first edition leaves undecided, as sentences.

    Pages of such suites are recomputed to the bit, so they do not show them; commands do.
    """
    if suite.scorer_edition >= _SECOND:
        return []
    absent = ", ".join(name for name in BENCHMARKS if name not in suite.benchmarks)
    first = f"the suite has scorer edition {suite.scorer_edition}, in which {absent} do not decide: an agent may beat"
    wanted = f'`"benchmarks": {json.dumps(list(BENCHMARKS))}`'
    return [f"{first} {' and '.join(suite.benchmarks)} by rebalancing alone; hint: {wanted} in a new suite"]


def gate_notices(board: Board) -> list[str]:
    """Return what the gates mean for styles that they do not fit, as sentences."""
    gates = {gate.slug for score in board.scores for gate in score.gates}
    reasons = {reason for score in board.scores for reason in score.reasons}
    notices = [_POOLED] if "pooled_windows" in gates else []
    if board.edition < _SECOND:
        return notices
    if reasons & {"too_few_wins", "window_below"}:
        notices.append(_EACH)
    if reasons & {"delay_sensitive", "delay_implausible"}:
        notices.append(_DELAY)
    return notices
