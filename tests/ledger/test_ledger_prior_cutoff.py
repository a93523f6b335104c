"""Prior results with a date cutoff contain nothing of runs over later days (A11, L7)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ledger_runs import ledger_at, ledger_run, market

import openoutcry as oo
from openoutcry.ledger import Ledger, LedgerRun

FAMILY, KIN_MARKS = (1, 2, 3), tuple((2 << 48) + at for at in range(5))
WHOLE, PART = market("whole", FAMILY), market("part", FAMILY)
OTHER = market("other", (7, 8, 9))


def run(number: int, sharpe: float | None, last: str, **options: Any) -> LedgerRun:
    """Return a run whose window ends at a date."""
    return ledger_run(number, sharpe, **{"market": WHOLE, "window": ("2020-01-01", last), **options})


def results_through(ledger: Ledger, through: str = "2020-06-30") -> str:
    """Return the prior results of runs by a date; empty without any."""
    return ledger.prior_results(WHOLE, through=through) or ""


def without_deflated_ratios(text: str) -> str:
    """Remove deflated ratios and their trial counts from a text."""
    return re.sub(r"DSR \S+ at \d+ trials?| \| +[\d.]+(?= \| \")", "", text)


def test_runs_over_later_days_are_excluded(tmp_path: Path) -> None:
    """L7, A11: the cutoff is by window, so that one holdout run does not hide earlier results."""
    ledger = ledger_at(tmp_path)
    both, late = {"name": "both"}, {"name": "late"}
    ledger.add([run(1, 1.25, "2020-06-30", strategy=both), run(2, 0.5, "2020-03-31", market=PART)])
    kept = results_through(ledger)
    assert kept.startswith("## Learnings from 2 prior backtests across 2 strategies\n")
    # Later runs, also failed, undefined, on a part of the market or of the same strategy, leave no trace.
    ledger.add([run(3, 7.77, "2020-07-01", strategy=both), run(4, 8.88, "2020-12-31", strategy=late)])
    ledger.add([run(5, None, "2020-07-01", market=PART), run(6, None, "2020-07-01", status="failed")])
    ledger.add([run(7, 9.99, "2020-06-30", holdout_touched=True), run(8, 9.99, "2020-06-30", kind="holdout")])
    # Trials still count, and lower the deflated ratios.
    assert without_deflated_ratios(results_through(ledger)) == without_deflated_ratios(kept)
    assert "late" not in results_through(ledger)
    assert results_through(ledger, "2020-12-31").startswith("## Learnings from 6 prior backtests across 5 strategies\n")
    assert "7.77" not in results_through(ledger)
    # The longer window counts.
    assert "mean Sharpe 7.77 over 1 trial;" in results_through(ledger, "2020-12-31")
    assert results_through(ledger, "2020-03-30") == ""
    ledger.rebuild()
    assert results_through(ledger, "2020-12-31").startswith("## Learnings from 6 prior backtests across 5 strategies\n")


def test_a_cutoff_after_all_runs_changes_nothing(tmp_path: Path) -> None:
    """L2, L7: the same order, means, deflated ratios and descriptions as without a cutoff."""
    ledger = ledger_at(tmp_path)
    for number in range(60):
        ratio = None if number % 7 == 0 else number / 10
        status = "failed" if number % 11 == 0 else "done"
        where = PART if number % 2 else WHOLE
        strategy = {"name": "s", "params": {"n": number % 23}}
        options = {"strategy": strategy, "status": status, "market": where, "description": f"words {number}"}
        ledger.add([run(number, ratio, "2020-03-31", n_returns=100 + number % 3, **options)])
    assert results_through(ledger) == ledger.prior_results(WHOLE)


def test_a_date_without_a_time_covers_the_whole_day(tmp_path: Path) -> None:
    """L7, A11: daily and minute bars may be in one family."""
    ledger = ledger_at(tmp_path)
    ledger.add([run(1, 1.0, "2020-06-30"), run(2, 2.0, "2020-06-30T10:00:00Z")])
    for through, n in (
        *(("2020-06-29T23:59:00Z", 0), ("2020-06-30T09:59:00Z", 0), ("2020-06-30T10:00:00Z", 1)),
        *(("2020-06-30T23:00:00Z", 1), ("2020-06-30", 2), ("2020-07-01T00:00:00Z", 2)),
    ):
        assert results_through(ledger, through).startswith(f"## Learnings from {n} ") == (n > 0)
    for window in (("2020-06-30T15:00:00Z", "2020-06-30T16:00:00Z"), ("2020-06-30", "2020-07-02")):
        assert ledger.looks(WHOLE, window) == (1 if "T" in window[0] else 2)
    assert ledger.open_holdout(WHOLE, ("2020-06-30", "2020-07-02"), seal="x") == 0
    with pytest.raises(oo.OpenOutcryError, match="an unopened holdout is required"):
        ledger.open_holdout(WHOLE, ("2020-07-02T15:00:00Z", "2020-07-03T16:00:00Z"), seal="x")


def test_descriptions_of_runs_over_later_days_are_excluded(tmp_path: Path) -> None:
    """L7, A11: a strategy keeps the description of its first run, which may reveal holdout results."""
    ledger = ledger_at(tmp_path)
    seen = {"description": "gained 40 % in the holdout"}
    for number, (name, options) in enumerate(
        [("flagged", {"holdout_touched": True}), ("scored", {"kind": "holdout"}), ("late", {})]
    ):
        strategy = {"name": name}
        ledger.add([run(2 * number, 3.0, "2020-12-31", strategy=strategy, **seen, **options)])
        ledger.add([run(2 * number + 1, 1.0, "2020-03-31", strategy=strategy, description="plain words")])
    assert "gained" not in results_through(ledger)
    assert results_through(ledger).count(' on "whole"') == 3
    words = {each.strategy: each.description for each in ledger.top(9, WHOLE)}
    assert words == {'{"name":"flagged"}': None, '{"name":"scored"}': None, '{"name":"late"}': seen["description"]}
    # Days of an unrelated market do not matter.
    ledger.add([run(20, 1.0, "2020-12-31", market=OTHER, strategy={"name": "other"}, description="from elsewhere")])
    ledger.add([run(21, 1.0, "2020-03-31", strategy={"name": "other"})])
    assert "from elsewhere" in results_through(ledger)


def test_results_on_the_same_prices_at_other_dates_are_excluded(tmp_path: Path) -> None:
    """L7, A11: the days of kin markets are unknown, so their results are hidden and their trials count."""
    here, away = (market(name, anchors) for name, anchors in (("here", (1, 2, 3)), ("away", (4, 5, 6))))
    here, away = replace(here, marks=KIN_MARKS), replace(away, marks=KIN_MARKS)
    ledger = ledger_at(tmp_path)
    strategy = {"name": "kin"}
    ledger.add([run(1, 7.77, "2000-01-01", market=away, strategy=strategy, description="gained 40 %")])
    ledger.add([run(2, 1.0, "2020-03-31", market=here, strategy=strategy), run(3, 0.5, "2020-03-31", market=here)])
    text = ledger.prior_results(here, through="2020-06-30") or ""
    assert text.startswith("## Learnings from 2 prior backtests across 2 strategies\n")
    assert "at 3 trials" in text
    assert not {word for word in ("7.77", "gained", "away") if word in text}


def test_a_cutoff_requires_a_market(tmp_path: Path) -> None:
    with pytest.raises(oo.OpenOutcryError, match="`market` is required with `through`"):
        ledger_at(tmp_path).prior_results(through="2020-01-01")
