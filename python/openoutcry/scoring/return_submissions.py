"""Submissions of returns without a record."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import Submission
from openoutcry.scoring.return_benchmarks import Sides
from openoutcry.scoring.return_dates import caveats_of, check_cash, dates_of, periods_of
from openoutcry.scoring.return_values import check_not_prices, doubts_of, numbers
from openoutcry.untrusted.counted_nouns import counted


def submit_returns(
    agent_id: str,
    returns: npt.ArrayLike,
    *,
    windows: Sequence[int] | None = None,
    benchmark: npt.ArrayLike | None = None,
    cash: npt.ArrayLike | None = None,
    equal_weight: npt.ArrayLike | None = None,
    passive: npt.ArrayLike | None = None,
    periods_per_year: float | None = None,
    in_sample_trials: int = 0,
    dates: Sequence[str] = (),
) -> Submission:
    """Return a submission of returns without a record.

    Args:
        agent_id: Name of the agent.
        returns: Simple returns, shape `(n_days,)`, or `(n_seeds, n_days)` for several seeds.
        windows: Days of each window; None is one window.
        benchmark: Buy-and-hold returns, shape `(n_days,)`.
        cash: Cash returns, shape `(n_days,)`; None is 0.
        equal_weight: Returns of all symbols kept at equal parts, shape `(n_days,)`.
        passive: Returns of other passive portfolios, shape `(n_days,)` or `(n_portfolios, n_days)`.
        periods_per_year: Bars per year; by default those that `dates` show. Required without dates.
        in_sample_trials: Trials declared by the author of the agent.
        dates: Date of each return; by default the index of a pandas series.

    Raises:
        OpenOutcryError: `argument_invalid` or `shape_mismatch`: the windows, dates and returns do not fit together.

    Warns:
        UserWarning: bars per year contradict the dates by a factor above 1.5, or bars are missing, or returns may be
            percentages or cumulative.
    """
    sides = Sides(benchmark, cash, equal_weight, passive)
    dates = dates_of(dates, {"returns": returns, **vars(sides)})
    submission = returns_of(agent_id, returns, windows, sides, dates, periods_per_year, in_sample_trials)
    doubts = doubts_of(sides.portfolios | {agent_id: returns}, periods_of(dates, periods_per_year))
    for caveat in (*caveats_of(dates, periods_per_year), *doubts):
        warnings.warn(native.readable_text(f"{agent_id}: {caveat}"), stacklevel=2)
    return submission


def returns_of(
    agent_id: str,
    returns: npt.ArrayLike,
    windows: Sequence[int] | None,
    sides: Sides,
    dates: Sequence[str],
    periods_per_year: float | None,
    in_sample_trials: int = 0,
) -> Submission:
    """Return the submission of checked returns and benchmarks."""
    table = np.atleast_2d(numbers("returns", returns, (1, 2)))
    check_not_prices("returns", table)
    n_days = table.shape[1]
    lengths = [n_days] if windows is None else [checked_integer("windows", each, 1, 2**31 - 1) for each in windows]
    if sum(lengths) != n_days or not n_days:
        raise refusal(
            "argument_invalid",
            f"`windows` must be positive lengths with a sum of {counted(n_days, 'day')}; received {lengths}",
        )
    held, idle, passive = sides.checked(n_days)
    if len(dates) not in (0, n_days):
        raise refusal("shape_mismatch", f"`dates` must have one date per return, {n_days}; received {len(dates)}")
    runs = []
    for end, length in zip(accumulate(lengths), lengths, strict=True):
        days = slice(end - length, end)
        of_window = [np.ascontiguousarray(portfolio[days]) for portfolio in passive]
        both = None if held is None else (held[days], np.zeros(length) if idle is None else idle[days], of_window)
        rate = None if idle is None else idle[days]
        named = list(map(str, dates[days]))
        for seed, row in enumerate(table):
            runs.append((days.start, end + 1, seed, np.ascontiguousarray(row[days]), both, rate, named))
    trials = checked_integer("in_sample_trials", in_sample_trials, 0, 2**53 - 1)
    periods = periods_of(dates, periods_per_year)
    if idle is not None:
        check_cash(idle, periods)
    return Submission.of_returns(agent_id, runs, periods_per_year=periods, in_sample_trials=trials)
