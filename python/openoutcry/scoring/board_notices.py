"""Notices of a board about its own gates and its edition."""

from __future__ import annotations

import json

from openoutcry.scoring.verdict import BENCHMARKS, Board, Score

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
_SECOND, _CURRENT = 2, 3
# What an agent may do to beat the benchmarks of an edition.
_BEATEN_BY = {1: "rebalancing alone", 2: "raising its exposure after losses"}


def edition_notices(edition: int, subject: str = "the suite") -> list[str]:
    """Return what an earlier edition of the scorer leaves undecided, as sentences."""
    if edition >= _CURRENT:
        return []
    n_decide = 2 * edition
    decide, absent = BENCHMARKS[:n_decide], ", ".join(BENCHMARKS[n_decide:])
    first = f"{subject} has scorer edition {edition}, in which {absent} do not decide: an agent may beat"
    beaten = f"{', '.join(decide[:-1])} and {decide[-1]} by {_BEATEN_BY[edition]}"
    return [f'{first} {beaten}; hint: `"benchmarks": {json.dumps(list(BENCHMARKS))}` in a new suite']


def board_notices(board: Board) -> list[str]:
    """Return what the edition and the gates of a board do not judge, as sentences."""
    gates = {gate.slug for score in board.scores for gate in score.gates}
    reasons = {reason for score in board.scores for reason in score.reasons}
    notices = edition_notices(board.edition, "the board")
    if "pooled_windows" in gates:
        notices.append(_POOLED)
    if any(map(_windows_decide, board.scores)):
        notices.append(_EACH)
    if reasons & {"delay_sensitive", "delay_implausible"}:
        notices.append(_DELAY)
    return notices


def _windows_decide(score: Score) -> bool:
    # Return whether only single windows stop an agent that is significant on all days.
    is_stopped = bool(set(score.reasons) & {"too_few_wins", "window_below"})
    return is_stopped and all(score.ranking_gate(slug).passed for slug in ("dsr", "romano_wolf"))
