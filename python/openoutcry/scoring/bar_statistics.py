"""Statistics of the bars of a run that are no metrics of its score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.scoring.drawdown_periods import Drawdowns, calendar_days
from openoutcry.scoring.period_returns import period_returns
from openoutcry.scoring.statistic_values import Statistics, collected

__all__ = ["bar_statistics"]

Floats = npt.NDArray[np.float64]


def bar_statistics(
    dates: Sequence[str], nav: Floats, returns: Floats, fallen: Drawdowns, time_in_market: float | None = None
) -> Statistics:
    """Return statistics of bars, streaks and drawdowns.

    Args:
        dates: ISO 8601, one per bar.
        nav: Shape `(n_bars,)`, float64.
        returns: Shape `(n_bars - 1,)`, float64.
        fallen: Its drawdowns.
        time_in_market: Share of bars after the first with a position; None for a series without positions.

    Returns:
        `omega` is the sum of gains over that of losses of bars (Keating and Shadwick 2002, at a threshold of 0),
        `gain_to_pain` the sum of monthly returns over that of the losing months (Schwager 2012), `recovery_factor` the
        total return over the maximum drawdown.
    """
    (gains, n_gains, longest_gain), (lost, _, longest_loss) = native.signed_sums(np.ascontiguousarray(returns))
    losses = -lost
    months = np.array(list(period_returns(dates, nav, "month").values()))
    pain = float(-months[months < 0.0].sum())
    n_drawdowns = len(fallen.depth)
    days = calendar_days(dates, fallen.peak, fallen.end)
    none = "the NAV never fell"
    found: dict[str, float | str] = {
        "best_bar": float(returns.max()),
        "worst_bar": float(returns.min()),
        "positive_bars": n_gains / len(returns),
        "longest_gain": float(longest_gain),
        "longest_loss": float(longest_loss),
        "omega": gains / losses if losses > 0.0 else "no return is negative",
        "gain_to_pain": float(months.sum()) / pain if pain > 0.0 else "no month lost",
        "mean_gain_month": float(months[months > 0.0].mean()) if (months > 0.0).any() else "no month gained",
        "mean_loss_month": float(months[months < 0.0].mean()) if pain > 0.0 else "no month lost",
        "recovery_factor": (float(nav[-1]) - 1.0) / -float(fallen.depth[0]) if n_drawdowns else none,
        "ulcer_index": fallen.ulcer_index,
        "mean_drawdown": float(fallen.depth.mean()) if n_drawdowns else none,
        "longest_drawdown": float(days.max()) if n_drawdowns else none,
        "mean_drawdown_days": float(days.mean()) if n_drawdowns else none,
        "n_drawdowns": float(n_drawdowns),
    }
    if time_in_market is not None:
        found["time_in_market"] = time_in_market
    return collected(found)
