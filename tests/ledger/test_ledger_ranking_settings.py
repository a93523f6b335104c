"""Chosen windows and lower costs change neither ranks nor means, and the ranking states what it leaves out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from ledger_runs import id_of, ledger_at, ledger_run, market

import openoutcry as oo
from openoutcry.ledger import Ledger, LedgerRun, Market, Ranking, rules_of, run_of
from openoutcry.ledger.counted_windows import CountedWindow, weights_of, window_of
from openoutcry.ledger.run_settings import setting_digest
from openoutcry.openoutcry_py import CostModel, Limits

FULL = bool(os.environ.get("OPENOUTCRY_FULL"))
STANDARD, FREE = rules_of(CostModel(), Limits(), 20), rules_of(CostModel.zero(), Limits(), 20)
STRICT = rules_of(CostModel(fee_bps=5.0), Limits(), 20)
OTHERS = (FREE, rules_of(CostModel(fee_bps=0.5), Limits(), 20), rules_of(CostModel.zero(), Limits.off(), 1))
WHOLE, OTHER = market("whole", (1, 2, 3)), market("other")
PART = Market("f" * 64, "a part", ("A",), 252.0, (1, 2, 3))
"""One symbol of `WHOLE`."""
YEAR = ("2020-01-01", "2020-12-31")
FIRST = date(2020, 1, 1)


def between(start: int, end: int) -> tuple[str, str]:
    """Return the window between two days of 2020."""
    return str(FIRST + timedelta(start)), str(FIRST + timedelta(end))


def days_of(window: tuple[str, str]) -> tuple[int, int]:
    """Return the days of 2020 of a window."""
    start, end = ((date.fromisoformat(each) - FIRST).days for each in window)
    return start, end


def a_run(number: int, sharpe: float, **options: Any) -> LedgerRun:
    """Return a run of the strategy `a` at standard costs, with a key of its own."""
    given_ = {"strategy": {"name": "a"}, "market": WHOLE, "rules": STANDARD, "trial": f"{number:064x}", "kind": "run"}
    return ledger_run(number, sharpe, **given_ | options)


RUNS = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from([WHOLE, OTHER]), st.integers(0, 200), st.integers(10, 160)),
    min_size=1,
    max_size=4,
)
ADDED = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from(["rerun", "part", "symbol", "costs"]), st.floats(0, 1), st.floats(0, 1)
    ),
    min_size=1,
    max_size=5,
)


def added_run(number: int, run: LedgerRun, how: str, one: float, two: float) -> LedgerRun:
    """Return a rerun, a run over a part of the window or on one symbol, or one at other costs, with a high ratio."""
    if how == "rerun":
        return run.with_id(id_of(number))
    options: dict[str, Any] = {"strategy": run.strategy, "market": run.market, "window": run.window}
    if how == "costs":
        return a_run(number, 9.0, **options, rules=OTHERS[int(2.9 * one)])
    start, end = days_of(run.window)
    low, high = sorted((start + int(one * (end - start - 1)), start + int(two * (end - start - 1))))
    if how == "part":
        return a_run(number, 9.0, **options | {"window": between(low, high + 1)}, rules=run.rules)
    return a_run(
        number,
        9.0,
        **options | ({"market": PART} if run.market == WHOLE else {"window": between(low, high)}),
        rules=run.rules,
    )


@given(RUNS, ADDED, st.sampled_from([STANDARD, STRICT]))
@settings(max_examples=300 if FULL else 25, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_chosen_windows_symbols_and_costs_change_neither_ranks_nor_means(
    tmp_path_factory: pytest.TempPathFactory,
    planned: list[tuple[str, Market, int, int]],
    added: list[tuple[int, str, float, float]],
    rules: dict[str, Any],
) -> None:
    """The invariants of `docs/ledger.md`, to the bit."""
    runs = [
        a_run(
            number,
            number / 7,
            strategy={"name": name},
            market=where,
            window=between(start, start + length),
            rules=rules,
        )
        for number, (name, where, start, length) in enumerate(planned, 1)
    ]
    folder = tmp_path_factory.mktemp("ledger")
    with ledger_at(folder) as ledger:
        ledger.add(runs, sync=False)
        before = means(ledger)
        assert before[0]
        for number, (place, how, one, two) in enumerate(added, 100):
            ledger.add([added_run(number, runs[place % len(runs)], how, one, two)], sync=False)
        assert means(ledger) == before
        ledger.rebuild()
        assert means(ledger) == before
    shutil.rmtree(folder)


def means(ledger: Ledger) -> list[list[tuple[str, float | None, int]]]:
    """Return strategy, mean and number of trials of the default rankings."""
    return [[(each.strategy, each.mean, each.n) for each in ledger.top(9, where)] for where in (None, WHOLE, OTHER)]


def test_the_best_years_of_a_real_run_do_not_lift_its_mean(tmp_path: Path) -> None:
    """The attack of a reviewer: chosen years, and a run without costs."""
    market_, ledger = oo.data.load("ecb-fx", ["JPY"]), ledger_at(tmp_path)
    whole = oo.run_backtest(market_, "momentum")
    ledger.add([run_of(whole, "momentum")])
    (before,) = ledger.top()
    years = [
        oo.run_backtest(market_, "momentum", window=window)
        for window in ("2005-01-03:2008-01-03", "2013-01-03:2016-01-03")
    ]
    ledger.add([run_of(run, "momentum") for run in years])
    ledger.add([run_of(oo.run_backtest(market_, "momentum", costs=CostModel.zero()), "momentum")])
    (after,) = ledger.top()
    assert (after.mean, after.n, after.n_covered, after.n_elsewhere) == (before.mean, 1, 2, 1)
    assert after.mean == whole.metrics["sharpe"]
    assert (before.n_market_trials, after.n_market_trials) == (1, 4), "they count as trials"


# Windows


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([(0, 10)], [10]),
        ([(0, 10), (2, 5)], [10, 0]),
        ([(0, 10), (8, 12)], [10, 2]),
        ([(0, 4), (4, 8)], [4, 4]),
        ([(0, 6), (3, 9)], [6, 3]),
        ([(0, 5), (4, 10), (9, 13), (20, 21)], [4, 6, 3, 1]),
    ],
)
def test_the_longest_window_counts_for_each_moment(windows: list[tuple[int, int]], expected: list[int]) -> None:
    found = weights_of([CountedWindow(*each) for each in reversed(windows)])
    assert [found[CountedWindow(*each)] for each in windows] == expected


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), min_size=1, max_size=8))
def test_each_moment_counts_once(drawn: list[tuple[int, int]]) -> None:
    windows = {CountedWindow(start, start + length) for start, length in drawn}
    found = weights_of(windows)
    covered = {at for window in windows for at in range(window.start, window.end)}
    assert sum(found.values()) == len(covered)
    longest = max(windows, key=lambda window: window.end - window.start)
    assert found[longest] > 0


def test_labels_that_are_no_dates_share_a_window() -> None:
    assert window_of("bar 1", "bar 9") == window_of("x", "2020-01-01")
    assert window_of("2020-01-02", "2020-01-01").end > window_of("2020-01-02", "2020-01-01").start


def test_windows_side_by_side_weigh_by_their_length(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([a_run(1, 1.0, window=between(0, 30)), a_run(2, 4.0, window=between(30, 40))])
    assert ledger.top()[0].mean == pytest.approx((3 * 1.0 + 4.0) / 4)


# Settings


def ranking_at(folder: Path, *rules: dict[str, Any]) -> Ranking:
    """Return the ranking of one strategy for each setting, with a higher ratio for each."""
    ledger = ledger_at(folder)
    ledger.add(
        [
            a_run(number, float(number), rules=each, strategy={"name": f"s{number}"})
            for number, each in enumerate(rules, 1)
        ]
    )
    return ledger.ranking(9)


def test_the_standard_setting_is_ranked_else_the_strictest(tmp_path: Path) -> None:
    found = ranking_at(tmp_path / "a", FREE, STANDARD, STRICT)
    assert [each.mean for each in found.strategies] == [2.0]
    assert (found.setting.is_standard, found.setting.digest) == (True, setting_digest(CostModel(), Limits()))
    assert (found.counts.n_ranked, found.counts.n_elsewhere, found.counts.n_other) == (1, 2, 2)
    assert [(setting.text, n) for setting, n in found.others] == [
        ("fee 5 bps; otherwise standard", 1),
        ("fee 0 bps, slippage 0 bps, financing 0 bps, borrow 0 bps; otherwise standard", 1),
    ]
    assert ranking_at(tmp_path / "b", FREE, STRICT).setting.text == "fee 5 bps; otherwise standard"
    assert ranking_at(tmp_path / "c", {}, FREE).setting.text.startswith("fee 0 bps")
    assert ranking_at(tmp_path / "d", {}).setting.text == "costs and limits not stated"
    richer = rules_of(CostModel(capital=2e6), Limits(max_gross=2.0, allow_short=False), 20)
    assert ranking_at(tmp_path / "e", richer).setting.text == (
        "capital 2,000,000, gross exposure up to 2, long only; otherwise standard"
    )


def test_a_setting_is_chosen_by_a_prefix_of_its_digest(tmp_path: Path) -> None:
    ranking_at(tmp_path, FREE, STANDARD)
    ledger = Ledger(tmp_path)
    assert [each.mean for each in ledger.top(setting=setting_digest(CostModel.zero(), Limits())[:8].upper())] == [1.0]
    for wrong in ("", "zz", "0" * 64, 7):
        with pytest.raises(oo.OpenOutcryError, match="a prefix of"):
            ledger.top(setting=wrong)  # type: ignore[arg-type]


def test_lookback_and_seed_are_no_setting(tmp_path: Path) -> None:
    noisy = CostModel(slippage_jitter=0.5)
    found = ranking_at(tmp_path, *(rules_of(noisy, Limits(), at, seed=at) for at in (1, 2, 20)))
    assert (found.counts.n_ranked, found.counts.n_elsewhere) == (3, 0)


def test_a_failed_run_without_a_setting_counts_at_every_one(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([a_run(1, 1.0), a_run(2, 2.0, rules=FREE), a_run(3, 0.0, status="failed", rules={})])
    ledger.add([a_run(4, 0.0, status="failed", rules={}, strategy={"name": "b"})])
    free = ledger.top(setting=setting_digest(CostModel.zero(), Limits()))
    assert [(each.n, each.n_failed, each.n_elsewhere) for each in (*ledger.top(), *free)] == [(1, 1, 1), (1, 1, 1)]
    assert [(each.strategy, each.n_failed) for each in ledger.unranked()] == [('{"name":"b"}', 1)]
    assert ledger.ranking().counts.n_trials == 4


def test_untrusted_rules_are_no_text_of_a_setting(tmp_path: Path) -> None:
    hostile = {"costs": {"fee_bps": "obey\x1b[2J", "obey": 1, "capital": True}, "limits": {"max_gross": [1]}}
    text = ranking_at(tmp_path, hostile).setting.text
    assert "obey" not in text
    assert "fee not stated" in text
    assert "\x1b" not in text


def test_the_prompt_states_the_setting_and_what_it_leaves_out(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([a_run(1, 1.0), a_run(2, 9.0, window=between(5, 9)), a_run(3, 8.0, rules=FREE)])
    ledger.add([a_run(4, 7.77, rules=STRICT, strategy={"name": "b"})])
    text = ledger.prior_results() or ""
    assert text.startswith("## Learnings from 4 prior backtests across 2 strategies\n")
    assert "The means are at one setting of costs and limits (standard: fee 1 bps, slippage 2 bps" in text
    assert "1 trial within the window of a longer run" in text
    assert "2 trials at other costs or limits" in text
    assert "1 strategy has a Sharpe ratio, 0 have none (failed, or without a trade), 1 has only runs" in text
    assert "7.77" not in text
    own = ledger.prior_results(setting=setting_digest(CostModel(fee_bps=5.0), Limits())) or ""
    assert "7.77" in own, "a session prefers its own costs"
    assert ledger.prior_results(setting="0" * 64) == text


def test_the_command_states_the_setting_and_what_it_leaves_out(tmp_path: Path, top: Callable[..., str]) -> None:
    ledger = ledger_at(tmp_path / "ledger")
    ledger.add([a_run(9, 0.0, status="failed", rules={})])
    assert top() == "no strategy has a Sharpe ratio\n"
    ledger.add([a_run(1, 1.0), a_run(2, 9.0, window=between(5, 9)), a_run(3, 8.0, rules=FREE)])
    text = top()
    assert text.startswith("setting 0c433ce1, standard: fee 1 bps, slippage 2 bps, ")
    reasons = ("1 trial within the window of a longer run", "1 trial at other costs or limits", "1 trial failed")
    assert f"left out of these means: {', '.join(reasons)}" in text
    name = setting_digest(CostModel.zero(), Limits())[:8]
    assert f"other setting: `--setting {name}`, fee 0 bps, slippage 0 bps" in text
    (row,) = json.loads(top("--setting", name, "--json"))
    assert (row["mean"], row["n_elsewhere"], row["setting"]["digest"][:8]) == (8.0, 2, name)


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the output of `openoutcry ledger top`."""
    from command_line import typed

    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words: str) -> str:
        done = typed("ledger", "top", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
