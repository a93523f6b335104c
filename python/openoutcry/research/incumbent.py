"""Whether a trial takes the place of the best so far: one score, one guard."""

from __future__ import annotations

from openoutcry.research.session_config import Guard
from openoutcry.research.trial_scores import OosScore

SCORE = "stitched out-of-sample Sharpe ratio a year"
"""What is compared, of both: the returns of all tests one after another."""


def beats(new: OosScore, best: OosScore | None, guard: Guard) -> tuple[bool, str]:
    """Return whether a score beats the best so far, and why not.

    Args:
        new: The score of a trial that has passed all gates.
        best: That of the incumbent; None where there is none, and the gates alone decide.
        guard: How much better it must be, and how much deeper its drawdown may be.
    """
    if new.sharpe is None:
        return False, f"the {SCORE} is undefined"
    if best is None or best.sharpe is None:
        return True, ""
    wanted = best.sharpe + guard.min_improvement
    if not new.sharpe > wanted:
        return False, f"a {SCORE} above {wanted:.4g}, the incumbent's, is required; received {new.sharpe:.4g}"
    deepest = best.max_drawdown * (1.0 + guard.drawdown_tolerance) + guard.drawdown_floor
    if new.max_drawdown > deepest:
        return False, f"a drawdown of at most {deepest:.4g} is required; received {new.max_drawdown:.4g}"
    return True, ""
