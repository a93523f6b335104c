"""Copies of a market that were made for a better or worse result change no rank of a strategy on the original."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from ledger_runs import id_of, ledger_at, ledger_run, market

import openoutcry as oo
from openoutcry.ledger import Ledger, LedgerRun, Market, run_of
from openoutcry.ledger.market_families import UNDATED
from openoutcry.ledger.market_fingerprints import KINDS_FROM
from openoutcry.ledger.market_versions import BUNDLED

FULL = bool(os.environ.get("OPENOUTCRY_FULL"))
MARKS = tuple(UNDATED << KINDS_FROM | at for at in range(6))
ONE = replace(market("one", (1, 2, 3)), marks=MARKS[:3])
TWO = replace(market("two", (11, 12, 13)), marks=MARKS[3:])
NAMES = "pqr"


def a_run(number: int, name: str, sharpe: float, where: Market, **options: Any) -> LedgerRun:
    """Return a run with a trial key of its own."""
    return ledger_run(
        number, sharpe, strategy={"name": name}, market=where, trial=f"{number:064x}", kind="run", **options
    )


def changed_copy(how: str, number: int) -> Market:
    """Return a changed copy of `ONE`."""
    copy = replace(market(f"copy {number}", ONE.anchors), marks=ONE.marks)
    if how == "padded":
        return replace(copy, symbols=tuple(f"S{at}" for at in range(50)))
    if how == "bridge":
        return replace(copy, anchors=ONE.anchors + TWO.anchors, marks=MARKS)
    return replace(copy, anchors=()) if how == "moved" else copy


ADDED = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(["padded", "prepended", "appended", "changed", "moved", "bridge"]),
        st.sampled_from([-9.0, 9.0]),
    ),
    min_size=1,
    max_size=5,
)
WINDOWS = {"prepended": ("1900-01-01", "2020-12-31"), "appended": ("2020-01-01", "2099-12-31")}


@given(ADDED, st.sets(st.sampled_from(NAMES), min_size=1))
@settings(max_examples=200 if FULL else 15, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_added_copies_of_a_market_change_neither_means_nor_ranks(
    tmp_path_factory: pytest.TempPathFactory, added: list[tuple[str, str, float]], on_both: set[str]
) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    with ledger_at(folder) as ledger:
        ledger.add([a_run(at, name, at / 3, ONE) for at, name in enumerate(NAMES, 1)], sync=False)
        ledger.add([a_run(at, name, -at, TWO) for at, name in enumerate(NAMES, 11) if name in on_both], sync=False)
        before = ranks(ledger)
        for number, (name, how, sharpe) in enumerate(added, 100):
            where = changed_copy(how, number)
            options = {"window": WINDOWS[how]} if how in WINDOWS else {}
            ledger.add([a_run(number, name, sharpe, where, **options)], sync=False)
        after = ledger.top(9)
        assert [(each.strategy, each.mean) for each in after] == before
        assert sum(each.n_copied for each in after) == len(added)
        ledger.rebuild()
        assert ledger.top(9) == after
    shutil.rmtree(folder)


def ranks(ledger: Ledger, where: Market | None = None) -> list[tuple[str, float | None]]:
    """Return strategies and means, in descending order."""
    return [(each.strategy, each.mean) for each in ledger.top(9, where)]


def test_padded_and_prepended_prices_do_not_displace_a_run(tmp_path: Path) -> None:
    """The attack of a reviewer, on prices."""
    days = np.datetime_as_string(np.datetime64("2010-01-01") + np.arange(1_600)).tolist()
    close = 100.0 * np.exp(np.cumsum(np.random.default_rng(5).normal(0.0, 0.01, (1_600, 2)), 0))
    trend = np.append(np.linspace(1.0, close[600, 0], 600), close[600:, 0])
    original = oo.Dataset.from_arrays(days[600:], ["A", "B"], close[600:], periods_per_year=252.0)
    padded = np.append(close[600:], np.repeat(close[600:, :1], 9, axis=1), axis=1)
    names = ["A", "B", *(f"A{at}" for at in range(9))]
    copies = [
        oo.Dataset.from_arrays(days[600:], names, padded, periods_per_year=252.0),
        oo.Dataset.from_arrays(days, ["A", "B"], np.column_stack([trend, close[:, 1]]), periods_per_year=252.0),
    ]
    ledger = ledger_at(tmp_path)
    ledger.add([run_of(oo.run_backtest(original, "momentum"), "momentum")])
    (before,) = ledger.top()
    for copy in copies:
        ledger.add([run_of(oo.run_backtest(copy, "momentum"), "momentum")])
    (after,) = ledger.top()
    assert (after.mean, after.n, after.n_copied, after.n_market_trials) == (before.mean, 1, 2, 3)
    assert ledger.top(market=Market.of(original))[0].mean == before.mean


def test_the_named_version_of_a_market_counts_before_the_first_one(tmp_path: Path) -> None:
    """A file with corrected prices, or with later days, can be ranked by its name."""
    ledger, later = ledger_at(tmp_path), changed_copy("changed", 1)
    ledger.add([a_run(1, "p", 1.0, ONE), a_run(2, "q", 2.0, ONE), a_run(3, "p", 5.0, later)])
    for where, expected in ((None, [2.0, 1.0]), (ONE, [2.0, 1.0]), (later, [5.0, 2.0])):
        assert [mean for _, mean in ranks(ledger, where)] == expected
    text = ledger.prior_results(later, through="2020-12-31") or ""
    assert "mean Sharpe 5.00" in text
    assert "They leave out 1 trial on another version of a market" in text


def test_a_bundled_dataset_counts_before_a_copy_that_was_recorded_first(tmp_path: Path) -> None:
    market_ = oo.data.load("us-treasury")
    assert {oo.data.load(name, universe).fingerprint for name in oo.data.names() for universe in (None, "all")} == set(
        BUNDLED
    )
    copy = replace(Market.of(market_), fingerprint="f" * 64)
    ledger = ledger_at(tmp_path)
    ledger.add([a_run(1, "p", 9.0, copy), a_run(2, "q", 3.0, copy)])
    ledger.add([a_run(3, "p", 1.0, Market.of(market_))])
    assert [mean for _, mean in ranks(ledger)] == [3.0, 1.0]
    ledger.add([a_run(4, "q", 2.0, Market.of(market_))])
    found = ranks(ledger)
    assert [mean for _, mean in found] == [2.0, 1.0]
    ledger.rebuild()
    assert ranks(ledger) == found


def test_a_version_without_a_finished_run_does_not_count(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, status="failed", strategy={"name": "p"}, market=ONE)])
    ledger.add([a_run(2, "p", 1.0, changed_copy("changed", 1))])
    (found,) = ledger.top()
    assert (found.mean, found.n, found.n_failed, found.n_copied) == (1.0, 1, 1, 0)
    ledger.add([a_run(3, "p", None, ONE)])  # type: ignore[arg-type]
    assert ledger.top() == [], "an undefined ratio on the original is no reason to count a copy"
    assert ledger.unranked()[0].n_copied == 1


def test_markets_that_a_later_one_connects_count_as_before(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([a_run(1, "p", 1.0, ONE), a_run(2, "p", 3.0, TWO)])
    ledger.add([a_run(3, "p", 9.0, changed_copy("bridge", 1))])
    assert ranks(ledger, ONE) == ranks(ledger) == [('{"name":"p"}', 2.0)]
    assert ledger.top()[0].n_runs == 3
    assert id_of(3) in {each.summary.id for each in ledger.list()}
