"""Rankings count each trial once, by market first: a repeated run changes neither ranks nor prompts."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from ledger_runs import id_of, ledger_at, ledger_run, market

import openoutcry as oo
from openoutcry.ledger import Ledger, LedgerRun, StrategySummary, run_of
from openoutcry.ledger.jsonl_view import entries_of, rank_entries
from openoutcry.ledger.prior_knowledge import format_prior_results

FULL = bool(os.environ.get("OPENOUTCRY_FULL"))
MARKETS = [market("a", (1, 2, 3, 4)), market("b", (3, 4, 5)), market("c", (11, 12)), market("d")]
DAYS = ["2020-03-31", "2020-12-31"]


def test_reruns_on_one_market_do_not_move_the_mean(tmp_path: Path) -> None:
    """The mean of two markets, however often a run on one of them is repeated."""
    ledger = ledger_at(tmp_path)
    runs = [oo.run_backtest(oo.data.load(name), "momentum") for name in ("ecb-fx", "us-treasury")]
    ledger.add([run_of(run, "momentum") for run in runs])
    (before,) = ledger.top()
    ratios = [run.metrics["sharpe"] for run in runs]
    assert before.mean == pytest.approx(sum(ratios) / 2)
    assert f"{before.mean:.2f}" == "-0.03"
    text = ledger.prior_results()
    for _ in range(4):
        ledger.add([run_of(runs[1], "momentum")])
    assert ledger.top() == [replace(before, n_runs=6)]
    assert (before.n, before.n_runs) == (2, 2)
    assert ledger.prior_results() == text
    ledger.rebuild()
    assert ledger.top() == [replace(before, n_runs=6)]


def test_a_market_with_many_trials_weighs_as_much_as_one_with_a_single_trial(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    one = {"strategy": {"name": "one"}}
    many = [ledger_run(number, 1.0 + number, trial=f"{number:064x}", **one) for number in range(5)]
    ledger.add([*many, ledger_run(9, -1.0, market=market("n"), **one)])
    (found,) = ledger.top()
    assert (found.mean, found.n) == (1.0, 6)
    assert ledger.top(market=market())[0].mean == 3.0


def test_distinct_results_of_one_trial_are_averaged_within_the_trial(tmp_path: Path) -> None:
    """Runs of one trial differ if its key leaves out a seed: their mean counts as one trial."""
    ledger = ledger_at(tmp_path)
    one = {"strategy": {"name": "one"}, "trial": "a" * 64}
    ledger.add([ledger_run(number, ratio, **one) for number, ratio in enumerate([1.0, 3.0, 3.0, 3.0])])
    ledger.add([ledger_run(8, 8.0, strategy={"name": "one"}, trial="b" * 64)])
    # A failed or undefined attempt of a trial with a result changes nothing.
    ledger.add([ledger_run(9, None, **one), ledger_run(10, status="failed", **one)])
    (found,) = ledger.top()
    assert (found.mean, found.n, found.n_undefined, found.n_failed, found.n_runs) == (5.0, 2, 0, 0, 7)


def key_of(number: int, place: int) -> str:
    """Return a trial key; as every trial key, it depends on the market."""
    return f"{number}{place}" * 32


RUNS = st.lists(
    st.builds(
        lambda number, sharpe, place, strategy, day, options: ledger_run(
            number,
            sharpe,
            market=MARKETS[place],
            strategy={"name": strategy},
            description=f"words of {strategy}",
            window=("2020-01-01", DAYS[day]),
            **options | ({"trial": key_of(options["trial"], place)} if "trial" in options else {}),
        ),
        st.integers(0, 10**6),
        st.none() | st.floats(-3.0, 3.0),
        st.integers(0, 3),
        st.sampled_from("pqrstu"),
        st.integers(0, 1),
        st.fixed_dictionaries(
            {},
            optional={
                "status": st.sampled_from(["done", "failed"]),
                "kind": st.sampled_from(["run", "trial", "holdout"]),
                "holdout_touched": st.booleans(),
                "n_returns": st.sampled_from([100, 200]),
                "trial": st.integers(0, 1),
                "error": st.sampled_from(["one", "two"]),
                "metrics": st.fixed_dictionaries({"win_rate": st.floats(0.0, 1.0)}),
            },
        ),
    ),
    max_size=8,
    unique_by=lambda run: run.run_id,
)


def rankings(ledger: Ledger) -> list[object]:
    """Return everything that a ranking or a prompt shows, without the number of repeated runs."""
    seen: list[Any] = [ledger.prior_results()]
    for where in (None, *MARKETS):
        ranked = [*ledger.top(99, where), *ledger.top(99, where, worst=True), *ledger.unranked(99, where)]
        # A description is that of the first run, which may have used a holdout.
        seen.append([replace(each, n_runs=0, description=None) for each in ranked])
        seen += [ledger.prior_results(where, through=day) for day in DAYS if where is not None]
    return seen


@given(RUNS, st.data())
@settings(max_examples=400 if FULL else 8, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_repeating_runs_in_any_order_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, runs: list[LedgerRun], data: st.DataObject
) -> None:
    repeated = data.draw(st.lists(st.sampled_from(runs), max_size=12)) if runs else []
    copies = [run.with_id(id_of(10**7 + place)) for place, run in enumerate(repeated)]
    shuffled = data.draw(st.permutations([*runs, *copies]))
    folder = tmp_path_factory.mktemp("ledger")
    with ledger_at(folder / "one") as one, ledger_at(folder / "two") as two:
        one.add(runs, sync=False)
        for run in shuffled:
            two.add([run], sync=False)
        found = rankings(one)
        # Markets of a family get their IDs in the order of the log.
        assert rankings(two) == found
        two.rebuild()
        assert rankings(two) == found
        assert expected(runs, one) == [exact(each) for each in one.top(99)]
    shutil.rmtree(folder)


def exact(found: StrategySummary) -> tuple[str, object, int]:
    return found.strategy, pytest.approx(found.mean, rel=1e-12), found.n


def expected(runs: list[LedgerRun], ledger: Ledger) -> list[tuple[str, float, int]]:
    """Rank by the definition, in exact fractions."""
    base = ledger.connection()
    families = dict(base.execute("SELECT fingerprint, family FROM markets"))
    groups: dict[str, dict[int, list[LedgerRun]]] = {}
    for run in runs:
        is_ranked = run.kind != "holdout" and not run.holdout_touched and run.status == "done"
        if is_ranked and run.metrics.sharpe_ratio is not None:
            family = families[run.market.fingerprint]
            groups.setdefault(run.strategy["name"], {}).setdefault(family, []).append(run)
    made = []
    for name, by_family in groups.items():
        found = [family_mean(rated) for _, rated in sorted(by_family.items())]
        mean = float(sum(Fraction(each) for each, _ in found) / len(found))
        made.append((ledger_name(name), mean, sum(n for _, n in found)))
    ids = {each.strategy: each.strategy_id for each in ledger.top(99)}
    return sorted(made, key=lambda row: (-row[1], -row[2], ids[row[0]]))


def family_mean(rated: list[LedgerRun]) -> tuple[float, int]:
    """Return the mean of the days of a market, each by its longest window, and the number of its trials."""
    days: dict[tuple[str, str], int] = {}
    spans = {run.window: days_of(run.window) for run in rated}
    for day in set().union(*spans.values()):
        longest = max((window for window in spans if day in spans[window]), key=lambda window: len(spans[window]))
        days[longest] = days.get(longest, 0) + 1
    total, counted = Fraction(0), set()
    for window, weight in days.items():
        # Equal results count once; the deviation of the test data is in these fields.
        results = {
            (run.trial, run.metrics.sharpe_ratio, run.metrics.win_rate, run.track, run.market.fingerprint)
            for run in rated
            if run.window == window
        }
        trials = {each[0] for each in results}
        means = [exact_mean([each[1] for each in results if each[0] == trial]) for trial in trials]
        total += weight * Fraction(exact_mean(means))
        counted |= trials
    return float(total / sum(days.values())), len(counted)


def exact_mean(values: list[float]) -> float:
    return float(sum(map(Fraction, values)) / len(values))


def days_of(window: tuple[str, str]) -> range:
    """Return the numbers of the days from one date to another."""
    first, last = (date.fromisoformat(each).toordinal() for each in window)
    return range(first, last)


def ledger_name(name: str) -> str:
    return f'{{"name":"{name}"}}'


def test_the_run_list_counts_repeated_runs_once(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    one = {"strategy": {"name": "one"}}
    runs = [ledger_run(1, 1.0, **one), ledger_run(2, -2.0, market=replace(market("n"), symbols=("C",)), **one)]
    again = [runs[1].with_id(id_of(number)) for number in range(3, 7)]
    ledger.add([*runs, *again])
    texts = []
    for chosen in (runs, [*again, *runs], [runs[1], *again, runs[0]]):
        found = rank_entries([entry for run in chosen for entry in entries_of(run, "t")], ledger.compare)
        assert (found.n_runs, found.best[0].mean, found.best[0].n) == (2, -0.5, 2)
        assert found.best[0].markets == ("A", "B", "C")
        texts.append(format_prior_results(found))
    assert len(set(texts)) == 1
