"""Dated returns of a ledger run, for a comparison with other runs.

The ledger stores returns without dates; the market of the run supplies them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger.ledger_entry import LedgerRun
from openoutcry.scoring.return_tracks import Array, Track, conditions_of
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["check_comparable", "stitched_track", "track_of"]


def check_comparable(run: LedgerRun) -> None:
    """Refuse a run without dated returns.

    Raises:
        OpenOutcryError: `argument_invalid`: the run failed, or is a holdout result, or is a trial of a research session
            that an earlier version recorded.
    """
    wanted = "a ledger run with returns is required"
    if run.returns is None or run.first is None:
        what = "failed" if run.status == "failed" else "is a holdout result" if run.kind == "holdout" else "has none"
        hint = "hint: `openoutcry ledger list` shows the others"
        raise refusal("argument_invalid", f"{wanted}; received {run.run_id[:8]}, which {what}; {hint}")
    if run.rules.get("lookback") == 0 and "tests" not in run.notes:
        hint = "hint: name the candidate's file, or its session's, in place of the ID"
        raise refusal("argument_invalid", f"{wanted}; received trial {run.run_id[:8]} without its test dates; {hint}")


def track_of(run: LedgerRun, market: Dataset, name: str, origin: str) -> Track:
    """Return the track of a run.

    Args:
        run: The run.
        market: Its market, or one that starts with the same bars.
        name: Name in tables and charts.
        origin: Where the run comes from, as text.

    Raises:
        OpenOutcryError: `argument_invalid`: the run has no dated returns, or its dates are not those of the market.
    """
    check_comparable(run)
    assert run.returns is not None, "checked above"
    rules = run.rules
    conditions = conditions_of(market.name, market.fingerprint, rules.get("costs") or {}, rules.get("limits") or {})
    if "tests" in run.notes:
        return stitched_track(name, run.returns, _spans(run.notes["tests"]), market, (conditions, origin))
    first = market.dates.index(run.first) if run.first in market.dates else 0
    end = first + len(run.returns)
    if first == 0 or end > market.n_bars:
        wanted = (
            f"the market of run {run.run_id[:8]} must have its {counted(len(run.returns), 'date')} from {run.first}"
        )
        raise refusal("argument_invalid", f"{wanted}; received {market.name}, which has not")
    rates = None if market.risk_free is None else np.asarray(market.risk_free[first:end])
    dates = market.dates[first:end]
    year = market.periods_per_year
    return Track(name, dates, run.returns, rates, market.dates[first - 1], year, conditions, origin)


def stitched_track(
    name: str, excess: Array, tests: Sequence[tuple[str, str]], market: Dataset, about: tuple[Mapping[str, str], str]
) -> Track:
    """Return the track of the tests of all folds in sequence.

    Args:
        name: Name in tables and charts.
        excess: Returns over the risk-free rate, of every bar of a test after its first.
        tests: First and last date of each test.
        market: The market.
        about: Conditions, and where the returns come from.

    Raises:
        OpenOutcryError: `argument_invalid`: the dates of the tests are not those of the returns.
    """
    places = [place for first, last in tests for place, date in enumerate(market.dates) if first < date <= last]
    if len(places) != len(excess) or not places or places[0] == 0:
        wanted = f"the tests of {name!r} must have a date for each of its {counted(len(excess), 'return')}"
        raise refusal("argument_invalid", f"{wanted}; received {counted(len(places), 'date')} of {market.name}")
    rates = None if market.risk_free is None else np.asarray(market.risk_free)[places]
    returns = excess if rates is None else excess + rates
    dates = [market.dates[place] for place in places]
    return Track(name, dates, returns, rates, market.dates[places[0] - 1], market.periods_per_year, *about)


def _spans(tests: Any) -> list[tuple[str, str]]:
    try:
        return [(str(first), str(last)) for first, last in tests]
    except (TypeError, ValueError) as error:
        raise refusal("argument_invalid", f"tests of a ledger run must be pairs of dates; received {error}") from error
