"""The ledger store: runs persist, count once and are returned unchanged."""

from __future__ import annotations

import os
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from ledger_runs import id_of, ledger_at, ledger_run, market, returns

import openoutcry as oo
from openoutcry.ledger import Ledger, Market, RunFilter, RunMetadata, default_folder, failed_run, recorder, run_of

pytestmark = pytest.mark.once

FULL = bool(os.environ.get("OPENOUTCRY_FULL"))
FX = oo.data.load("ecb-fx", ["USD", "JPY"]).between(0, 900)


def test_queries_take_a_dataset_as_its_market(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, market=Market.of(FX))])
    for query in (ledger.count, ledger.prior_results, lambda market: ledger.top(5, market)):
        assert query(FX) == query(Market.of(FX))
    assert len(ledger.top(5, FX)) == 1
    with pytest.raises(oo.OpenOutcryError, match="`market` must be a Dataset or a Market; received str"):
        ledger.top(5, "ecb-fx")  # type: ignore[arg-type]


def test_a_run_is_returned_as_it_was_written(tmp_path: Path) -> None:
    run = ledger_run(
        1,
        returns=returns(),
        first="2020-01-02",
        rules={"costs": {"fee_bps": 1.0}},
        notes={"fold": [1, 2]},
        description="words",
        isolation="T2",
    )
    ledger = ledger_at(tmp_path)
    assert ledger.add([run]) == [id_of(1)]
    found = Ledger(tmp_path).show(id_of(1).upper())
    assert found == run
    assert np.array_equal(found.returns, returns())
    first, values = Ledger(tmp_path).returns(id_of(1))
    assert (first, values.tolist()) == ("2020-01-02", returns().tolist())
    assert ledger.returns(id_of(1)) is not None
    assert (ledger.id_of(id_of(1)[:20]), ledger.list()[0].summary) == (id_of(1), run.metrics)


def test_a_known_run_is_not_written_again(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    runs = [ledger_run(number) for number in range(3)]
    ledger.add([*runs, runs[0]])
    size = (tmp_path / "00000.jsonl").stat().st_size
    assert Ledger(tmp_path).add(runs) == [run.run_id for run in runs]
    assert (tmp_path / "00000.jsonl").stat().st_size == size
    assert ledger.count(market()).n == 3


def test_the_trial_of_a_backtest_is_determined_by_its_decisions(tmp_path: Path) -> None:
    """A3: a renamed copy counts once, and a changed function is another trial."""
    with ledger_at(tmp_path) as ledger:
        one = run_of(oo.run_backtest(FX, "momentum"), "mine", RunMetadata(key="k"))
        again = run_of(oo.run_backtest(FX, "momentum", name="other"), "mine")
        changed = run_of(oo.run_backtest(FX, "equal-weight"), "mine")
        assert (one.trial == again.trial, one.trial == changed.trial) == (True, False)
        assert run_of(oo.run_backtest(FX, "momentum"), "mine", RunMetadata(key="k")).run_id == one.run_id
        ledger.add([one, again, changed])
        assert ledger.count(Market.of(FX)).n == 2
        assert ledger.known(one.trial) == one.run_id
        assert ledger.known(one.trial, but_session="s1") is None
        assert ledger.show(one.run_id) == one
        assert one.track is not None
        assert one.metrics.sharpe_ratio == pytest.approx(one.track.sharpe * np.sqrt(FX.periods_per_year))


def test_seeds_are_separate_trials_with_random_slippage() -> None:
    """A3."""
    noisy = oo.CostModel(slippage_bps=3.0, slippage_jitter=0.5)
    for costs, n_trials in ((oo.CostModel(), 1), (noisy, 3)):
        runs = [oo.run_backtest(FX, "buy-and-hold", costs=costs, seed=seed) for seed in range(3)]
        assert len({run_of(run, "hold").trial for run in runs}) == n_trials


def test_a_sweep_is_recorded_by_one_writer(tmp_path: Path) -> None:
    def weights(share: float) -> np.ndarray:
        return np.full((FX.n_bars, FX.n_symbols), share)

    with ledger_at(tmp_path) as ledger, recorder(ledger, "constant", RunMetadata(key="sweep")) as record:
        oo.run_sweep(FX, weights, {"share": [0.1, 0.2, 0.3]}, on_result=record)
    with ledger_at(tmp_path, "s2") as ledger, recorder(ledger, "constant", RunMetadata(key="sweep")) as record:
        oo.run_sweep(FX, weights, {"share": np.array([0.1, 0.2, 0.3])}, on_result=record)
    found = Ledger(tmp_path).list()
    assert [each.summary.id for each in found] == record.ids[::-1]
    assert found[0].strategy == '{"name":"constant","params":{"share":0.3}}'


def test_an_interrupted_sweep_is_recorded_up_to_the_error(tmp_path: Path) -> None:
    def weights(share: float) -> np.ndarray:
        if share > 0.2:
            raise ValueError("enough")
        return np.full((FX.n_bars, FX.n_symbols), share)

    ledger = ledger_at(tmp_path)
    with pytest.raises(ValueError, match="enough"), recorder(ledger, "constant") as record:
        oo.run_sweep(FX, weights, {"share": [0.1, 0.2, 0.3]}, on_result=record)
    assert len(ledger.list()) == 2


def test_a_failed_run_is_recorded_and_not_ranked(tmp_path: Path) -> None:
    """L1."""
    ledger = ledger_at(tmp_path)
    run = failed_run(FX, ("1999-01-04", "2000-01-04"), "mine", ValueError("no idea\nof this"))
    ledger.add([run])
    (found,) = ledger.list(RunFilter(status="failed"))
    assert (found.error, found.summary.sharpe_ratio, ledger.top()) == ("ValueError: no idea", None, [])
    assert ledger.count(Market.of(FX)).n == 1
    assert ledger.unranked()[0].n_failed == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run_id": "x"}, "a run ID must be a UUID"),
        ({"trial": "ab"}, "`trial` must be 64 hexadecimal digits"),
        ({"kind": "other"}, "`kind` must be one of run, trial, holdout"),
        ({"n_configs": 0}, "`n_configs` must be an integer from 1"),
        ({"returns": np.array([np.nan])}, "`returns` must be finite"),
        ({"metrics": replace(ledger_run(1).metrics, id=id_of(2))}, "`metrics.id` must be the run ID"),
    ],
)
def test_an_invalid_run_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=message):
        replace(ledger_run(1), **change)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_is_refused_before_anything_is_written(tmp_path: Path, value: float) -> None:
    ledger = ledger_at(tmp_path)
    with pytest.raises(oo.OpenOutcryError, match="must be finite"):
        ledger.add([ledger_run(1), ledger_run(2, sharpe=value)])
    assert not (tmp_path / "00000.jsonl").exists()


# Comparing


def test_runs_are_compared_in_request_order_with_missing_ids(tmp_path: Path) -> None:
    """L4."""
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(number, number / 10) for number in range(60)])
    ids = [id_of(7), id_of(99), id_of(3), id_of(7), id_of(98)]
    found, missing = ledger.compare(ids)
    assert [each.id for each in found] == [id_of(7), id_of(3)]
    assert found[0] == ledger_run(7, 0.7).metrics
    assert missing == [id_of(99), id_of(98)]
    assert ledger.compare([]) == ([], [])
    assert len(ledger.compare([id_of(number) for number in range(50)])[0]) == 50
    for wrong in ([id_of(number) for number in range(51)], ["7"], [None], id_of(7)):
        with pytest.raises(oo.OpenOutcryError, match=r"must be|must have"):
            ledger.compare(wrong)


# Ranking


def test_strategies_are_ranked_by_mean_ratio_then_runs_then_id(tmp_path: Path) -> None:
    """L2."""
    ledger = ledger_at(tmp_path)
    plan = {"a": [1.0, 3.0], "b": [2.0], "c": [2.0], "d": [None, 5.0], "e": [None], "f": [0.5], "g": [0.25]}
    number = 0
    for name, ratios in plan.items():
        for ratio in ratios:
            number += 1
            ledger.add([ledger_run(number, ratio, strategy={"name": name}, market=market(f"m{number}"))])
    ledger.add([ledger_run(90, strategy={"name": "e"}, status="failed")])
    top = ledger.top(10)
    names = [each.strategy[9] for each in top]
    tied = sorted((ledger_run(0, strategy={"name": name}).strategy_id, name) for name in "bc")
    assert names == ["d", "a", *(name for _, name in tied), "f", "g"]
    assert (top[0].mean, top[0].n, top[0].n_undefined) == (5.0, 1, 1)
    assert [each.strategy[9] for each in ledger.top(2, worst=True)] == ["f", "g"]
    (failed,) = ledger.unranked()
    assert (failed.strategy, failed.n_undefined, failed.n_failed) == ('{"name":"e"}', 1, 1)


def test_a_holdout_run_counts_and_is_not_ranked(tmp_path: Path) -> None:
    """L7."""
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, 0.5), ledger_run(2, 9.0, holdout_touched=True), ledger_run(3, 9.0, kind="holdout")])
    assert [each.mean for each in ledger.top()] == [0.5]
    assert ledger.count(market()).n == 3
    assert "9.00" not in (ledger.prior_results() or "")


def test_a_ratio_is_deflated_by_all_trials_of_its_market(tmp_path: Path) -> None:
    """L7, A10: the deflated ratio decreases with more trials, and the count reports their spread."""
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, 1.5, n_returns=1000)])
    alone = ledger.top(1)[0]
    ledger.add([ledger_run(number, number % 5 / 10, n_returns=1000) for number in range(2, 300)])
    after = ledger.top(1)[0]
    assert (alone.n_trials, after.n_trials) == (1, 299)
    assert alone.dsr is not None
    assert after.dsr is not None
    assert alone.dsr > 0.9 > after.dsr
    found = ledger.count(market())
    ratios = np.array([1.5, *(number % 5 / 10 for number in range(2, 300))]) / 16.0
    n, mean, squares = found.sharpes_at(1000)
    assert (n, found.sharpes_at(999)) == (299, (0, 0.0, 0.0))
    assert mean == pytest.approx(ratios.mean())
    assert squares == pytest.approx(ratios.var() * 299)
    assert found.spread_at(1000) == pytest.approx(ratios.std(ddof=1))
    assert found.spread_at(1000, least=300) is None


def test_the_ranking_is_by_the_raw_mean_with_the_deflated_ratio_next_to_it(tmp_path: Path) -> None:
    """L7: a short run may rank first with a lower deflated ratio than the next one."""
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, 2.0, n_returns=30), ledger_run(2, 1.5, n_returns=5000)])
    ledger.add([ledger_run(number, 0.0, n_returns=5000) for number in range(3, 40)])
    first, second = ledger.top(2)
    assert (first.mean, first.n_trials, second.mean, second.n_trials) == (2.0, 39, 1.5, 39)
    assert first.dsr is not None
    assert second.dsr is not None
    assert first.dsr < 0.5 < 0.99 < second.dsr
    text = ledger.prior_results() or ""
    for rank, each in enumerate((first, second), 1):
        name = f"trend(n={rank})"
        assert f"{rank}. mean Sharpe {each.mean:.2f} over 1 trial; DSR {each.dsr:.2f} at 39 trials;" in text
        assert f'{rank} |      1 |        {each.mean:.2f} |  {each.dsr:.2f} | "{name}"\n' in text


def test_the_trials_of_one_session_can_be_excluded(tmp_path: Path) -> None:
    """A10."""
    one, two = ledger_at(tmp_path, "one"), ledger_at(tmp_path, "two")
    one.add([ledger_run(number, number / 10) for number in range(12)])
    # Another session repeats three trials with other IDs, and adds one with several configurations.
    shared = [ledger_run(100 + number, number / 10, trial=ledger_run(number).trial) for number in range(3)]
    two.add([*shared, ledger_run(200, 2.0, n_configs=7)])
    counted = {name: one.count(market(), but_session=name) for name in ("one", "two", "three")}
    assert {name: found.n for name, found in counted.items()} == {"one": 10, "two": 12, "three": 19}
    assert one.count(market()) == counted["three"]
    for name, ratios in (("one", [0.0, 0.1, 0.2, 2.0]), ("two", [number / 10 for number in range(12)])):
        n, mean, squares = counted[name].sharpes_at(250)
        assert n == len(ratios)
        assert mean == pytest.approx(np.mean(ratios) / 16.0)
        assert squares == pytest.approx(np.var(ratios) * n / 256.0)
    again = ledger_run(300, 0.0, trial=ledger_run(0).trial, n_configs=4)
    two.add([again])
    assert (one.count(market()).n, one.count(market(), but_session="two").n) == (22, 12)


# Holdouts


def test_a_holdout_is_opened_once_for_all_markets_with_its_prices(tmp_path: Path) -> None:
    """A11."""
    ledger = ledger_at(tmp_path, "one")
    whole, part, other = market("m", (1, 2, 3, 4)), market("part", (2, 3, 4)), market("other", (7, 8, 9))
    window = ("2020-01-01", "2020-02-01")
    assert ledger.open_holdout(whole, window, seal="x") == 0
    assert ledger.open_holdout(whole, window, seal="x") == 0, "the same session resumes after a crash"
    refused = [
        (ledger, whole, window, "another seal"),
        (ledger_at(tmp_path, "two"), whole, window, "x"),
        (ledger, part, ("2020-02-01", "2020-03-01"), "x"),
    ]
    for who, where, when, seal in refused:
        with pytest.raises(oo.OpenOutcryError, match="an unopened holdout is required"):
            who.open_holdout(where, when, seal=seal)
    assert ledger.open_holdout(other, window, seal="x") == 0
    assert ledger.open_holdout(whole, ("2020-02-02", "2020-03-01"), seal="x") == 0
    assert ledger_at(tmp_path, "two").open_holdout(part, ("2020-01-05", "2020-01-06"), seal="y", burn=True) == 1
    assert ledger_at(tmp_path, "three").open_holdout(whole, window, seal="z", burn=True) == 2
    ledger.rebuild()
    with pytest.raises(oo.OpenOutcryError, match="opened 3 times, first by session one"):
        ledger_at(tmp_path, "four").open_holdout(whole, window, seal="z")
    for wrong in (("2020-02-01", "2020-01-01"), (1, 2)):
        with pytest.raises(oo.OpenOutcryError, match="must be a first and a last date"):
            ledger.open_holdout(whole, wrong, seal="x")


# Location and concurrent writers


def test_the_default_folder_belongs_to_the_user_and_not_to_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENOUTCRY_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_folder() == tmp_path / "data" / "openoutcry" / "ledger"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".local" / "share" / "openoutcry" / "ledger"
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "mine"))
    assert Ledger().folder == tmp_path / "mine"
    (tmp_path / "file").touch()
    with pytest.raises(oo.OpenOutcryError, match="a ledger must be a folder"):
        Ledger(tmp_path / "file")


def _write(folder: Path, writer: int, n: int) -> None:
    with Ledger(folder, session=f"w{writer}", rotate_at=50_000) as ledger:
        for number in range(n):
            # All writers share every fourth trial.
            strategy = {"name": "shared", "n": number} if number % 4 == 0 else {"name": f"w{writer}", "n": number}
            ledger.add([ledger_run(1 + writer * 10_000 + number, strategy=strategy)], sync=False)


@pytest.mark.once
def test_concurrent_processes_lose_no_runs_and_count_every_trial_once(tmp_path: Path) -> None:
    n_writers, n = (8, 600) if FULL else (4, 60)
    with get_context("spawn").Pool(n_writers) as pool:
        pool.starmap(_write, [(tmp_path, writer, n) for writer in range(n_writers)])
    ledger = Ledger(tmp_path)
    found = ledger.verify()
    assert (found.is_intact, found.n_records) == (True, n_writers * n + 1)
    assert len(ledger.list(RunFilter(n=1_000_000))) == n_writers * n
    assert ledger.count(market()).n == n_writers * (n - n // 4) + n // 4
    assert len(found.segments) > 1
