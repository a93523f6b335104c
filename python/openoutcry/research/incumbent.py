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
        return False, f"not advanced: its {SCORE} is undefined"
    if best is None or best.sharpe is None:
        return True, ""
    wanted = best.sharpe + guard.min_improvement
    if not new.sharpe > wanted:
        return False, _not_above("stitched Sharpe ratio", new.sharpe, best.sharpe, guard.min_improvement)
    deepest = best.max_drawdown * (1.0 + guard.drawdown_tolerance) + guard.drawdown_floor
    if new.max_drawdown > deepest:
        limit = f"{deepest:.4g}, the limit beside an incumbent with {best.max_drawdown:.4g}"
        return False, f"not advanced: its drawdown of {new.max_drawdown:.4g} exceeds {limit}"
    return True, ""


def _not_above(what: str, new: float, best: float, margin: float) -> str:
    text = f"not advanced: {what} {new:.4g} does not exceed the incumbent's {best:.4g}"
    if f"{new:.4g}" == f"{best:.4g}":
        text = f"not advanced: {what} {new!r} does not exceed the incumbent's {best!r}"
    return text + (f" by more than {margin:g}" if margin else "")
