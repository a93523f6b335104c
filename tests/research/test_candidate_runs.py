"""What research found runs everywhere, with the numbers of the research, its name and its provenance."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from candidate_sessions import CODE, MARKET, RESEARCHED, RISING, TUNE, market_file, searched
from command_line import typed
from ledger_runs import ledger_at, ledger_run

import openoutcry as oo
from openoutcry.backtest.replay import replay
from openoutcry.backtest.strategies import LIBRARY, from_json
from openoutcry.backtest.strategies.candidate_file import CandidateFile
from openoutcry.harness import SupervisedAgent
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.ledger import Ledger, Market, RunFilter, recorder
from openoutcry.research.candidate_agents import CodeCandidate, load_candidate
from openoutcry.research.code_loader import CodeStrategy
from openoutcry.research.trial import Result
from openoutcry.research.walkforward_validation import table_of

pytestmark = pytest.mark.once
sandboxed = pytest.mark.skipif(this_host().tier < Tier.T2, reason=str(dict(this_host().missing)))


@pytest.fixture(autouse=True)
def folder_of_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the default ledger of the test, and not that of the user."""
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "looked"))
    return tmp_path / "looked"


@pytest.fixture
def tuned(tmp_path: Path) -> tuple[Result, Any, Path]:
    result, setup, (path,) = searched(tmp_path, TUNE)
    return result, setup, path


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    """Run `openoutcry run` on the market of the session, and return its process."""
    market = market_file(tmp_path / "market.csv")

    def command(*words: Any, data: Any = market) -> Any:
        folder = tmp_path / "ledger"
        return typed("run", "--data", data, *words, *(("--ledger-dir", folder) if "--ledger" in words else ()))

    return command


def assert_reproduces(path: Path, result: Result, setup: Any, runs: Any) -> None:
    """Assert that runs over the tests of all folds have the weights and the returns of the research.

    A test ends flat: its last decision closes all positions, so the last weights and return are another.
    """
    trial = next(each.trial for each in result.shortlist if each.trial.candidate.name in path.name)
    strategy = from_json(trial.candidate.identity) if "strategy" in trial.candidate.identity else None
    table = None if strategy is None else table_of(setup, strategy)
    start = 0
    for fold, done in zip(setup.folds, runs, strict=True):
        end = start + fold.test[1] - fold.test[0] - 1
        assert done.returns[:-1].tobytes() == trial.oos.returns[start : end - 1].tobytes()
        if table is not None:
            assert done.decisions[:-1].tobytes() == table[fold.test[0] : fold.test[1] - 2].tobytes()
        start = end
    assert start == len(trial.oos.returns)


def test_a_candidate_reproduces_the_numbers_of_its_research_to_the_bit(tuned: Any) -> None:
    result, setup, path = tuned
    content = json.loads(path.read_text())
    rules = oo.CostModel(**content["costs"]), oo.Limits(**content["limits"])
    assert rules[0].fee_bps == 3.0
    for market in (MARKET, setup.dataset):
        runs = [oo.run_backtest(market, str(path), tuple(fold["test"]), *rules) for fold in content["folds"]]
        assert_reproduces(path, result, setup, runs)
    # Over both tests at once, only the bars around the exit between them differ.
    (_, first), (second, end) = (fold["test"] for fold in content["folds"])
    whole = oo.run_backtest(MARKET, str(path), (content["folds"][0]["test"][0], end), *rules)
    assert whole.decisions[second - end + 1 : -1].tobytes() == runs[1].decisions[:-1].tobytes()
    assert second == first


@sandboxed
@pytest.mark.skipif(not os.environ.get("OPENOUTCRY_FULL"), reason="starts a hundred workers")
def test_a_candidate_that_is_code_reproduces_the_numbers_of_its_research_to_the_bit(tmp_path: Path) -> None:
    result, setup, (path,) = searched(tmp_path, CODE, inner_trials=1)
    content = json.loads(path.read_text())
    rules = oo.CostModel(**content["costs"]), oo.Limits(**content["limits"])
    strategy = load_candidate(path, allow_code=True)
    runs = [oo.run_backtest(MARKET, strategy, fold.test, *rules) for fold in setup.folds]
    assert_reproduces(path, result, setup, runs)


@sandboxed
def test_code_runs_in_the_sandbox_only_and_decides_as_in_research(tmp_path: Path, run: Callable[..., Any]) -> None:
    path, record = tmp_path / "rising.json", tmp_path / "run.json"
    content = {"format": "openoutcry/candidate/v1", "strategy": "Rising", "params": {"span": 7}, "source": RISING}
    path.write_text(json.dumps(content | {"costs": {"fee_bps": 3.0}, "market": RESEARCHED, "provenance": {}}))
    words = "--agent", path, "--window", "100:180", "--record", record
    refused = run(*words)
    assert refused.returncode == 2
    assert "`--allow-code-gen`" in refused.stderr
    done = run(*words, "--allow-code-gen", "--json")
    assert done.returncode == 0, done.stderr
    found, read = json.loads(done.stdout), oo.RunRecord.load(record)
    assert read.headers[0]["harness.tier"] == this_host().tier.name
    assert read.agent_id.startswith("Rising:span=7 (candidate ")
    # Research runs the table of the strategy; the command asks a worker bar by bar, in the protocol of agents.
    direct = oo.run_backtest(MARKET, load_candidate(path, allow_code=True), (100, 180), oo.CostModel(fee_bps=3.0))
    assert found["nav"] == direct.nav.tolist()
    assert found["strategy"] == direct.strategy
    path.unlink()
    assert replay(read, MARKET).n_steps == 79


def test_code_with_options_of_programs_or_without_a_sandbox_is_refused(tmp_path: Path, run: Callable[..., Any]) -> None:
    path = tmp_path / "rising.json"
    content = {"format": "openoutcry/candidate/v1", "strategy": "Rising", "params": {"span": 7}, "source": RISING}
    path.write_text(json.dumps(content | {"market": RESEARCHED, "provenance": {}}))
    for words in (["--sandbox", "none"], ["--allow-net"], ["--env", "HOME"]):
        assert "must be left out for a candidate" in run("--agent", path, "--allow-code-gen", *words).stderr
    assert "`--allow-code-gen`" in run("--agent", path, "--unsafe-no-isolation").stderr
    assert "are for a candidate that is code" in run("--agent", "trend", "--allow-code-gen").stderr


@sandboxed
def test_code_that_fails_holds_with_a_fault_and_never_runs_in_this_process(tmp_path: Path) -> None:
    failing = RISING.replace("return (", "return 1 // 0 if closes[-1, 0] > 120.0 else (")
    content = {"format": "openoutcry/candidate/v1", "strategy": "Rising", "params": {"span": 5}, "source": failing}
    found = CandidateFile.of(content | {"market": RESEARCHED, "provenance": {}})
    strategy = load_candidate(found, allow_code=True)
    assert isinstance(strategy, CodeStrategy)
    with SupervisedAgent(CodeCandidate(strategy, "rising", MARKET.symbols)) as agent:
        done = oo.run_backtest(MARKET, agent, (20, 400), capture=True)
    assert {"agent_died", "agent_given_up"} >= set(done.faults.values()) > set()
    assert done.record.headers[0]["harness.transport"] == "stdio"


def test_the_record_of_a_candidate_replays_without_its_file(tuned: Any, tmp_path: Path, run: Any) -> None:
    path, record = tuned[2], tmp_path / "run.json"
    done = run("--agent", path, "--window", "80:300", "--record", record)
    assert done.returncode == 0, done.stderr
    assert "notice: unless stated otherwise, costs and limits are those of the research: fee_bps 3.0" in done.stderr
    assert "holdout" not in done.stderr
    digest = CandidateFile.read(path).digest
    path.unlink()
    read = oo.RunRecord.load(record)
    assert read.agent_id == f"trend:fast=5,slow=65,side=long (candidate {digest[:16]})"
    assert read.headers[0]["costs.fee_bps"] == "3"
    again = typed("replay", record, "--data", tmp_path / "market.csv")
    assert again.returncode == 0, again.stderr


def test_a_run_on_the_holdout_is_recorded_and_never_ranked(tuned: Any, folder_of_ledger: Path, run: Any) -> None:
    path, folder = tuned[2], folder_of_ledger
    held = tuple(json.loads(path.read_text())["holdout"])
    looks = Ledger(folder).looks(Market.of(MARKET), held)
    done = run("--agent", path)
    assert done.returncode == 0, done.stderr
    assert f"this run reads the holdout of the candidate, {held[0]} .. {held[1]}" in done.stderr
    assert "recorded in the ledger" in done.stderr
    ledger = Ledger(folder)
    assert ledger.looks(Market.of(MARKET), held) == looks + 1
    (listed,) = ledger.list(RunFilter())
    shown = ledger.show(listed.summary.id)
    assert shown.holdout_touched
    provenance = CandidateFile.read(path).provenance
    assert shown.notes["candidate"] == provenance
    assert provenance["trial"] == tuned[0].shortlist[0].key
    assert ledger.top(5) == []
    silent = run("--agent", path, "--no-ledger")
    assert "not recorded, because of `--no-ledger`" in silent.stderr
    assert Ledger(folder).looks(Market.of(MARKET), held) == looks + 1
    before = run("--agent", path, "--window", f":{held[0]}")
    assert before.returncode == 0, before.stderr
    assert "this run does not read the holdout of the candidate" in before.stderr
    assert Ledger(folder).looks(Market.of(MARKET), held) == looks + 1


def test_another_market_is_noticed_and_its_prices_are_not_the_holdout(tuned: Any, run: Any) -> None:
    done = run("--agent", tuned[2], "--window", "100:300", data="ecb-fx:USD")
    assert done.returncode == 0, done.stderr
    assert "the candidate was researched on trending-3, 2000-01-03 .. " in done.stderr
    assert "holdout" not in done.stderr


def test_a_file_without_a_stated_holdout_counts_all_later_days(tuned: Any) -> None:
    content = json.loads(tuned[2].read_text())
    last, held = content["market"]["last"], content.pop("holdout")
    del content["digest"]  # files of that version have none
    found = CandidateFile.of(content)
    day_after = MARKET.dates[MARKET.dates.index(last) + 1]
    assert found.reads_holdout(MARKET, (MARKET.dates[0], day_after))
    assert not found.reads_holdout(MARKET, (MARKET.dates[0], last))
    none = CandidateFile.of(content | {"holdout": None})
    assert not none.reads_holdout(MARKET, held)
    other = oo.Dataset.from_arrays(MARKET.dates, ["X", "Y"], MARKET.close)
    assert not found.reads_holdout(other, held)


def test_research_runs_and_sweeps_of_one_strategy_are_one_strategy(tuned: Any, tmp_path: Path, run: Any) -> None:
    """Both doors into one ledger: trials, rankings and `ledger top` join."""
    texts = ["trend:slow=65,fast=5", "trend:fast=5,slow=65,side=long", tuned[2]]
    for text in texts:
        done = run("--agent", text, "--window", "80:300", "--ledger", "--fee-bps", "3")
        assert done.returncode == 0, done.stderr
    with Ledger(tmp_path / "ledger", session="sweep") as ledger, recorder(ledger, {"strategy": "trend"}) as record:
        oo.run_sweep(MARKET, "trend", {"fast": [5], "slow": [65]}, window=(80, 300), on_result=record)
    ledger = Ledger(tmp_path / "ledger")
    (found,) = ledger.top(5)
    full = {"strategy": "trend", "params": {"fast": 5, "slow": 65, "side": "long"}}
    assert json.loads(found.strategy) == full
    listed = ledger.list(RunFilter(n=20))
    strategies = [ledger.show(each.summary.id).strategy for each in listed]
    # The trial, its holdout, the runs and the sweep.
    assert strategies == [full] * (2 + len(texts) + 1)
    # The runs decide alike: a trial of research, one of the three runs, one of the sweep under other costs.
    assert ledger.count(Market.of(MARKET)).n == 3


def test_a_baseline_with_the_name_of_a_strategy_is_another_strategy(tmp_path: Path, run: Any) -> None:
    for text in ("momentum", "momentum:"):
        done = run("--agent", text, "--window", "260:400", "--ledger")
        assert done.returncode == 0, done.stderr
        remark = "the strategy of this name, which research tunes, is `momentum:window=252,skip=21,"
        assert (remark in " ".join(done.stdout.split())) == (text == "momentum")
    found = [json.loads(each.strategy) for each in Ledger(tmp_path / "ledger").top(5)]
    assert {"name": "momentum"} in found
    assert LIBRARY["momentum"]().to_json() in found


def test_old_lines_with_a_part_of_the_parameters_count_as_the_strategy(tmp_path: Path) -> None:
    full = LIBRARY["trend"](fast=5).to_json()
    stated: list[Any] = [
        {"strategy": "trend", "params": {"fast": 5}},
        full,
        {"strategy": "trend", "params": {"fast": 6}},
        {"strategy": "trend", "params": {"fast": 500}},
        {"name": "trend", "params": {"fast": 5}},
        {"name": "trend"},
    ]
    with ledger_at(tmp_path) as ledger:
        ledger.add([ledger_run(number, 1.0, strategy=each) for number, each in enumerate(stated)])
    lines = [path.read_bytes() for path in sorted(tmp_path.glob("*.jsonl"))]
    (tmp_path / "index.sqlite").unlink()
    ledger = Ledger(tmp_path)
    found = {json.dumps(json.loads(each.strategy), sort_keys=True): each.n for each in ledger.top(9)}
    assert found.pop(json.dumps(full, sort_keys=True)) == 2
    assert set(found.values()) == {1}
    assert len(found) == 4, "a label of the user does not determine decisions, and an unknown value is kept"
    assert [path.read_bytes() for path in sorted(tmp_path.glob("*.jsonl"))] == lines, "lines are never rewritten"
    assert ledger.show(ledger.list(RunFilter(n=9))[-1].summary.id).strategy in stated


def test_research_files_state_folds_and_holdout(tuned: Any) -> None:
    _, setup, path = tuned
    content = json.loads(path.read_text())
    assert [fold["test"] for fold in content["folds"]] == [list(fold.test) for fold in setup.folds]
    assert content["holdout"] == [MARKET.dates[-40], MARKET.dates[-1]]
    assert np.isfinite(content["evidence"]["oos"]["sharpe"])
