"""Comparison of a trial with the incumbent, the best trial so far."""

from __future__ import annotations

from openoutcry.research.session_config import Guard
from openoutcry.research.trial_scores import OosScore

SCORE = "stitched out-of-sample Sharpe ratio a year"
"""The compared score: the Sharpe ratio of the test returns of all folds in sequence."""


def beats(new: OosScore, best: OosScore | None, guard: Guard) -> tuple[bool, str]:
    """Return whether a score beats the incumbent, and if not, why.

    Args:
        new: Score of a trial that passed all gates.
        best: Score of the incumbent; None without one, in which case the gates decide alone.
        guard: Required improvement and allowed additional drawdown.
    """
    if new.sharpe is None:
        return False, f"the {SCORE} is undefined"
    if best is None or best.sharpe is None:
        return True, ""
    wanted = best.sharpe + guard.min_improvement
    if not new.sharpe > wanted:
        return False, f"a {SCORE} above the incumbent's {wanted:.4g} is required; received {new.sharpe:.4g}"
    deepest = best.max_drawdown * (1.0 + guard.drawdown_tolerance) + guard.drawdown_floor
    if new.max_drawdown > deepest:
        return False, f"a drawdown of at most {deepest:.4g} is required; received {new.max_drawdown:.4g}"
    return True, ""
