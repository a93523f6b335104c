"""What a session may be told: nothing of a run over days that it must not know (A11, L7)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ledger_runs import ledger_at, made, market

import openoutcry as oo
from openoutcry.ledger import Ledger, LedgerRun

FAMILY, KIN_MARKS = (1, 2, 3), tuple((2 << 48) + at for at in range(5))
WHOLE, PART = market("whole", FAMILY), market("part", FAMILY)
OTHER = market("other", (7, 8, 9))


def run(number: int, sharpe: float | None, last: str, **options: Any) -> LedgerRun:
    """Return a run whose window ends at a date."""
    return replace(made(number, sharpe, **{"market": WHOLE, **options}), window=("2020-01-01", last))


def told(ledger: Ledger, through: str = "2020-06-30") -> str:
    """Return what is told of runs by a date; empty if nothing."""
    return ledger.prior_results(WHOLE, through=through) or ""


def without_luck(text: str) -> str:
    """Return a text without deflated ratios, and the number of trials that they are at."""
    return re.sub(r"DSR \S+ at \d+ trials|(?m:(?<=\d)  [\d.]+$)", "", text)


def test_runs_over_later_days_are_left_out_and_the_others_stay(tmp_path: Path) -> None:
    """L7, A11: by window, so that one look at a holdout does not silence all that was learned before it."""
    ledger = ledger_at(tmp_path)
    both, late = {"name": "both"}, {"name": "late"}
    ledger.add([run(1, 1.25, "2020-06-30", strategy=both), run(2, 0.5, "2020-03-31", market=PART)])
    kept = told(ledger)
    assert kept.startswith("## Learnings from 2 prior backtests across 2 strategies\n")
    # Failed, undefined, of a part of the market, of the same strategy: nothing of it is told, not even that it was.
    ledger.add([run(3, 7.77, "2020-07-01", strategy=both), run(4, 8.88, "2020-12-31", strategy=late)])
    ledger.add([run(5, None, "2020-07-01", market=PART), run(6, None, "2020-07-01", status="failed")])
    ledger.add([run(7, 9.99, "2020-06-30", holdout_touched=True), run(8, 9.99, "2020-06-30", kind="holdout")])
    # Tries are counted, and what is known is worth less after more of them.
    assert without_luck(told(ledger)) == without_luck(kept)
    assert "late" not in told(ledger)
    assert told(ledger, "2020-12-31").startswith("## Learnings from 6 prior backtests across 5 strategies\n")
    assert "7.77" not in told(ledger)
    assert "mean Sharpe 4.51 over 2 runs" in told(ledger, "2020-12-31")
    assert told(ledger, "2020-03-30") == ""
    ledger.rebuild()
    assert told(ledger, "2020-12-31").startswith("## Learnings from 6 prior backtests across 5 strategies\n")


def test_all_runs_by_a_date_teach_what_all_runs_do(tmp_path: Path) -> None:
    """L2, L7: the same order, means, deflated ratios and words, however they are added up."""
    ledger = ledger_at(tmp_path)
    for number in range(60):
        ratio = None if number % 7 == 0 else number / 10
        status = "failed" if number % 11 == 0 else "done"
        where = PART if number % 2 else WHOLE
        strategy = {"name": "s", "params": {"n": number % 23}}
        options = {"strategy": strategy, "status": status, "market": where, "description": f"words {number}"}
        ledger.add([run(number, ratio, "2020-03-31", n_returns=100 + number % 3, **options)])
    assert told(ledger) == ledger.prior_results(WHOLE)


def test_a_date_without_a_time_is_the_whole_day(tmp_path: Path) -> None:
    """L7, A11: bars of a day and of a minute may be of one family."""
    ledger = ledger_at(tmp_path)
    ledger.add([run(1, 1.0, "2020-06-30"), run(2, 2.0, "2020-06-30T10:00:00Z")])
    for through, n in (
        *(("2020-06-29T23:59:00Z", 0), ("2020-06-30T09:59:00Z", 0), ("2020-06-30T10:00:00Z", 1)),
        *(("2020-06-30T23:00:00Z", 1), ("2020-06-30", 2), ("2020-07-01T00:00:00Z", 2)),
    ):
        assert told(ledger, through).startswith(f"## Learnings from {n} ") == (n > 0)
    for window in (("2020-06-30T15:00:00Z", "2020-06-30T16:00:00Z"), ("2020-06-30", "2020-07-02")):
        assert ledger.looks(WHOLE, window) == (1 if "T" in window[0] else 2)
    assert ledger.open_holdout(WHOLE, ("2020-06-30", "2020-07-02"), seal="x") == 0
    with pytest.raises(oo.OpenOutcryError, match="a holdout that nobody opened is required"):
        ledger.open_holdout(WHOLE, ("2020-07-02T15:00:00Z", "2020-07-03T16:00:00Z"), seal="x")


def test_words_of_who_saw_later_days_are_not_told(tmp_path: Path) -> None:
    """L7, A11: a strategy keeps the words of its first run, which may say what it earned in the holdout."""
    ledger = ledger_at(tmp_path)
    seen = {"description": "gained 40 % in the holdout"}
    for number, (name, options) in enumerate(
        [("flagged", {"holdout_touched": True}), ("scored", {"kind": "holdout"}), ("late", {})]
    ):
        strategy = {"name": name}
        ledger.add([run(2 * number, 3.0, "2020-12-31", strategy=strategy, **seen, **options)])
        ledger.add([run(2 * number + 1, 1.0, "2020-03-31", strategy=strategy, description="plain words")])
    assert "gained" not in told(ledger)
    assert told(ledger).count("; on whole") == 3
    words = {each.strategy: each.description for each in ledger.top(9, WHOLE)}
    assert words == {'{"name":"flagged"}': None, '{"name":"scored"}': None, '{"name":"late"}': seen["description"]}
    # Days of another market are its own.
    ledger.add([run(20, 1.0, "2020-12-31", market=OTHER, strategy={"name": "other"}, description="from elsewhere")])
    ledger.add([run(21, 1.0, "2020-03-31", strategy={"name": "other"})])
    assert "from elsewhere" in told(ledger)


def test_nothing_is_told_of_the_same_prices_at_other_dates(tmp_path: Path) -> None:
    """L7, A11: which of their days are those of the holdout, nobody can say; their tries count."""
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


def test_a_date_is_asked_for_with_its_market(tmp_path: Path) -> None:
    with pytest.raises(oo.OpenOutcryError, match="`market` is required with `through`"):
        ledger_at(tmp_path).prior_results(through="2020-01-01")
