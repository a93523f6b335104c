"""A second look at a sealed holdout: the ledger recognizes it under every name of the strategy and of the market."""

from __future__ import annotations

import json
import pickle
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from candidate_sessions import CODE, CONFIG, MARKET, RISING, TUNE, market_file, searched
from command_line import typed
from ledger_runs import ledger_run

import openoutcry as oo
from openoutcry.audits.contamination import Design, check
from openoutcry.backtest.strategies import LIBRARY, from_json
from openoutcry.backtest.strategies.candidate_fields import digest_of_fields
from openoutcry.backtest.strategies.candidate_file import CandidateFile
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.ledger import Ledger, Market, RunFilter, recorder, run_of
from openoutcry.research.candidate_agents import load_candidate
from openoutcry.research.strategy_builder import StrategyBuilder
from openoutcry.scoring.baseline_board import run_board
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation

pytestmark = pytest.mark.once
sandboxed = pytest.mark.skipif(this_host().tier < Tier.T2, reason=str(dict(this_host().missing)))

TEXT = "trend:fast=5,slow=65"
HELD = MARKET.dates[-40], MARKET.dates[-1]
READS = f"this run reads the holdout that session {{}} opened, {HELD[0]} .. {HELD[1]}: its result is no test on unseen"
STATED = f"this run reads the holdout of the candidate, {HELD[0]} .. {HELD[1]}: its result is no test on unseen days"
RENAMED = oo.Dataset.from_arrays(MARKET.dates, ["X", "Y"], MARKET.close)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished session that opened its holdout."""
    folder = tmp_path_factory.mktemp("session")
    result, _, (path,) = searched(folder, TUNE)
    assert result.holdout_reuse == 0
    path.rename(folder / "found.json")
    market_file(folder / "market.csv")
    market_file(folder / "renamed.csv", RENAMED.symbols)
    return folder


@pytest.fixture
def folder(session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of it, whose ledger is the default one."""
    shutil.copytree(session, tmp_path / "copy")
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "copy" / "ledger"))
    return tmp_path / "copy"


@pytest.fixture
def run(folder: Path) -> Callable[..., Any]:
    """Run `openoutcry run` in the folder of the session, and return its process."""

    def command(*words: Any, data: str = "market.csv", code: int = 0) -> Any:
        done = typed("run", "--data", data, *words, cwd=folder)
        assert done.returncode == code, done.stderr
        return done

    return command


def edited(folder: Path, *, without: tuple[str, ...] = (), **changes: Any) -> str:
    """Write a changed candidate and return the name of its file."""
    content = json.loads((folder / "found.json").read_text()) | changes
    (folder / "edited.json").write_text(json.dumps({k: v for k, v in content.items() if k not in without}))
    return "edited.json"


def last_run(folder: Path) -> Any:
    ledger = Ledger(folder / "ledger")
    return ledger.show(ledger.list(RunFilter(kind="run"))[0].summary.id)


@pytest.mark.parametrize("data", ["market.csv", "renamed.csv"])
@pytest.mark.parametrize("agent", [TEXT, "found.json"])
def test_every_name_of_the_strategy_and_the_market_reads_the_holdout(
    folder: Path, run: Any, data: str, agent: str
) -> None:
    ranked = [(each.strategy, each.mean, each.n) for each in Ledger(folder / "ledger").top(5)]
    words = () if agent.endswith(".json") else ("--ledger",)
    done = run("--agent", agent, *words, data=data)
    opened = CandidateFile.read(folder / "found.json").session
    assert READS.format(opened[:8]) in done.stderr
    assert "the look at the holdout is recorded in the ledger, and never ranked" in done.stderr
    recorded = last_run(folder)
    assert recorded.holdout_touched
    assert recorded.notes["holdouts"] == [{"session": opened, "window": list(HELD)}]
    assert [(each.strategy, each.mean, each.n) for each in Ledger(folder / "ledger").top(5)] == ranked != []


def test_days_before_the_holdout_and_other_strategies_are_ranked(folder: Path, run: Any) -> None:
    before = run("--agent", TEXT, "--ledger", "--window", f":{HELD[0]}")
    assert "holdout" not in before.stderr
    assert not last_run(folder).holdout_touched
    other = run("--agent", "trend:fast=6,slow=65", "--ledger")
    assert f"opened a holdout on these days, {HELD[0]} .. {HELD[1]}, for other strategies" in other.stderr
    assert "this run counts as a look at it" in other.stderr
    assert not last_run(folder).holdout_touched
    assert Ledger(folder / "ledger").looks(Market.of(MARKET), HELD) == 1
    without = run("--agent", TEXT)
    assert without.stderr == "", "no ledger is used"


def test_every_door_of_the_ledger_marks_a_run_that_reads_the_holdout(folder: Path) -> None:
    """Runs and sweeps in Python, too: the ledger decides when it adds a run."""
    top = Ledger(folder / "ledger").top(5)
    with Ledger(folder / "ledger") as ledger, recorder(ledger, {"strategy": "trend"}) as record:
        oo.run_sweep(RENAMED, "trend", {"fast": [5, 6], "slow": [65]}, on_result=record)
        ledger.add([run_of(oo.run_backtest(MARKET, LIBRARY["trend"](fast=5, slow=65), (80, 400)))])
        early = run_of(oo.run_backtest(MARKET, LIBRARY["trend"](fast=5, slow=65), (80, 300)))
        ledger.add([early])
    found = [ledger.show(each.summary.id) for each in Ledger(folder / "ledger").list(RunFilter(kind="run"))]
    marked = {(each.strategy["params"]["fast"], each.window[1]): each.holdout_touched for each in found}
    last = MARKET.dates[-1]
    assert marked == {(5, last): True, (6, last): False, (5, MARKET.dates[399]): True, (5, MARKET.dates[299]): False}
    assert {each.strategy for each in top} <= {each.strategy for each in Ledger(folder / "ledger").top(5)}
    (folder / "ledger" / "index.sqlite").unlink()
    assert Ledger(folder / "ledger").show(early.run_id) == early, "the log has the marks"


def test_masked_and_levered_copies_of_the_market_are_recognized(folder: Path) -> None:
    ledger, strategy = Ledger(folder / "ledger"), LIBRARY["trend"](fast=5, slow=65).to_json()
    levered = np.vstack([np.ones((1, 2)), 1.0 + 1.5 * (MARKET.close[1:] / MARKET.close[:-1] - 1.0)]).cumprod(axis=0)
    for copy in (MARKET.masked(3), oo.Dataset.from_arrays(MARKET.dates, ["X", "Y"], levered)):
        window = copy.dates[0], copy.dates[-1]
        assert ledger.holdouts_read(Market.of(copy), window, strategy)
        assert not ledger.holdouts_read(Market.of(copy), window, {"name": "trend"})
    other = oo.data.load("us-treasury")
    assert not ledger.holdouts_read(Market.of(other), (other.dates[0], other.dates[-1]), strategy)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"holdout": None}, f"must be that of the ledger, {HELD[0]} .. {HELD[1]}; received null"),
        ({"holdout": ["2090-01-01", "2090-02-01"]}, "received 2090-01-01 .. 2090-02-01; hint: restore the file"),
        (
            {"params": {"fast": 6, "slow": 65}},
            "hint: restore the file, or use `--agent trend:fast=6,slow=65,side=long`",
        ),
    ],
)
def test_an_edited_candidate_is_refused(folder: Path, run: Any, changes: dict[str, Any], part: str) -> None:
    """By its digest, and without one by the ledger; nothing is recorded."""
    by_digest = run("--agent", edited(folder, **changes), code=2)
    assert "a candidate must be as research wrote it, with the digest" in by_digest.stderr
    assert "received an edited one" in by_digest.stderr
    content = json.loads((folder / "found.json").read_text()) | changes
    for name in (
        edited(folder, without=("digest",), **changes),
        edited(folder, digest=digest_of_fields(content), **changes),
    ):
        by_ledger = run("--agent", name, code=2)
        assert part in by_ledger.stderr
    assert Ledger(folder / "ledger").list(RunFilter(kind="run")) == []
    with pytest.raises(oo.OpenOutcryError, match="received an edited one"):
        oo.run_backtest(MARKET, str(folder / edited(folder, **changes)))


def test_a_candidate_without_its_trial_counts_every_opened_holdout(folder: Path, run: Any) -> None:
    name = edited(folder, without=("digest",), provenance={}, params={"fast": 6, "slow": 65}, holdout=None)
    done = run("--agent", name, data="renamed.csv")
    assert "this run reads the holdout that session" in done.stderr
    assert "the file is not confirmed" in done.stderr
    assert last_run(folder).holdout_touched


def test_without_a_ledger_the_file_decides_and_is_only_a_statement(folder: Path, run: Any) -> None:
    words = "--no-ledger", "--agent"
    read = run(*words, "found.json")
    assert f"{STATED} (a statement of its file only: no ledger confirms it)" in read.stderr
    renamed = run(*words, "found.json", data="renamed.csv")
    assert f"if this market has the prices of the researched one under other names, {STATED}" in renamed.stderr
    none = run(*words, edited(folder, without=("digest",), holdout=None))
    assert "states no holdout (a statement of its file only: no ledger confirms it, and the file has no digest" in (
        none.stderr
    )
    inside = run(*words, "found.json", "--window", "80:200")
    assert "holdout" not in inside.stderr
    assert Ledger(folder / "ledger").list(RunFilter(kind="run")) == []
    # An empty ledger knows nothing, and the look is recorded in it.
    other = run("--agent", "found.json", "--ledger", "--ledger-dir", "other")
    assert f"{STATED} (a statement of its file only" in other.stderr
    (recorded,) = Ledger(folder / "other").list(RunFilter())
    assert Ledger(folder / "other").show(recorded.summary.id).holdout_touched


def test_a_holdout_that_the_session_did_not_open_is_known_by_the_prices(folder: Path, run: Any) -> None:
    """A second session finds it spent: its candidate still may not read it, on a renamed market."""
    shutil.rmtree(folder / "out")
    result, _, (path,) = searched(folder, TUNE | {"params": {"fast": 9, "slow": 65}})
    assert result.holdout_reuse is None
    done = run("--agent", path, data="renamed.csv")
    assert "this run reads the holdout that session" in done.stderr
    assert last_run(folder).holdout_touched


def test_a_market_that_the_ledger_does_not_recognize_is_announced_as_without_it(folder: Path, run: Any) -> None:
    few = MARKET.between(320, 420).close[:, :1] + 20.0 + np.random.default_rng(1).normal(size=(100, 1))
    rows = [f"{date},{price!r}" for date, (price,) in zip(MARKET.dates[320:], few.tolist(), strict=True)]
    (folder / "few.csv").write_text("\n".join(["date,X", *rows]))
    agent = "--agent", "found.json"
    unknown = f"if this market has the prices of the researched one under other names, {STATED}"
    assert f"{unknown} (not compared: no ledger confirms it)" in run(*agent, "--no-ledger", data="few.csv").stderr
    assert f"{unknown} (the ledger does not recognize its prices)" in run(*agent, data="few.csv").stderr


@pytest.fixture
def suite(folder: Path) -> Path:
    """Return a suite with a window in the holdout of the session."""
    content = {"suite_version": "1.0", "name": "small", "edition": "1", "seeds": [1]}
    market = {"name": "held", "fingerprint": MARKET.fingerprint, "windows": [["2001-01-01", "2001-02-20"]]}
    (folder / "suite.json").write_text(json.dumps(content | {"markets": [market]}))
    return folder / "suite.json"


@pytest.mark.parametrize("agent", [TEXT, "found.json"])
def test_a_suite_announces_a_window_in_the_holdout(folder: Path, suite: Path, agent: str) -> None:
    words = "suite", "run", suite, "--data", "market.csv", "--record", "record.json", "--agent"
    done = typed(*words, agent, cwd=folder)
    assert done.returncode == 0, done.stderr
    opened = CandidateFile.read(folder / "found.json").session[:8]
    assert f"of `held`, 2001-01-01 .. 2001-02-19, {READS.format(opened).removeprefix('this run ')}" in done.stderr
    other = typed(*words, "trend:fast=6,slow=65", "--force", cwd=folder)
    assert other.returncode == 0, other.stderr
    assert "holdout" not in other.stderr


@pytest.mark.parametrize("agent", [TEXT, "found.json"])
def test_a_contamination_test_announces_a_window_in_the_holdout(folder: Path, agent: str) -> None:
    words = "contamination", "--data", "market.csv", "--repeats", "1", "--twins", "3", "--seed", "1", "--agent", agent
    done = typed(*words, "--window", "350:420", cwd=folder)
    opened = CandidateFile.read(folder / "found.json").session[:8]
    days = f"{MARKET.dates[350]} .. {MARKET.dates[419]}"
    assert f"window 350:420, {days}, {READS.format(opened).removeprefix('this run ')}" in done.stderr
    before = typed(*words, "--window", "200:300", cwd=folder)
    assert "named less masked" in before.stdout, before.stderr
    assert "holdout" not in before.stderr


def test_python_warns_as_the_command_line_does(folder: Path) -> None:
    path = str(folder / "found.json")
    with pytest.warns(UserWarning, match="reads the holdout of the candidate") as caught:
        oo.run_backtest(MARKET, path)
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]
    assert STATED in str(caught[0].message)
    with pytest.warns(UserWarning, match="reads the holdout") as caught:
        run_board(MARKET, n_windows=2, names=[path])
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]
    content = {"suite_version": "1.0", "name": "small", "edition": "1", "seeds": [1]}
    market = {"name": "held", "fingerprint": MARKET.fingerprint, "windows": [["2001-01-01", "2001-02-20"]]}
    (folder / "suite.json").write_text(json.dumps(content | {"markets": [market]}))
    evaluation = Evaluation(Suite.load(str(folder / "suite.json")), datasets=[MARKET])
    with pytest.warns(UserWarning, match="reads the holdout") as caught:
        evaluation.run(path)
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        oo.run_backtest(MARKET, path, (80, 300))
        oo.run_backtest(MARKET, TEXT)


@pytest.mark.parametrize("load", [load_candidate, lambda path: from_json(json.loads(path.read_text()))])
def test_python_warns_for_a_candidate_that_was_loaded_before(folder: Path, suite: Path, load: Any) -> None:
    strategy = load(folder / "found.json")
    evaluation = Evaluation(Suite.load(str(suite)), datasets=[MARKET])
    doors: list[Callable[[Any], Any]] = [
        lambda given: oo.run_backtest(MARKET, given),
        evaluation.run,
        lambda given: check(given, MARKET, [(350, 420)], Design(n_repeats=1, n_twins=3, seed=1)),
    ]
    for given in (strategy, pickle.loads(pickle.dumps(strategy))):
        for door in doors:
            with pytest.warns(UserWarning, match="reads the holdout of the candidate") as caught:
                door(given)
            assert len(caught) == 1
            assert STATED in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        oo.run_backtest(MARKET, strategy, (80, 300))
        oo.run_backtest(MARKET, LIBRARY["trend"](**strategy.params))


@sandboxed
def test_python_warns_for_code_that_was_loaded_before(folder: Path) -> None:
    content = {"strategy": "Rising", "source": RISING, "params": {"span": 33}}
    strategy = load_candidate(folder / edited(folder, without=("digest",), **content), allow_code=True)
    for given in (strategy, pickle.loads(pickle.dumps(strategy))):
        with pytest.warns(UserWarning, match="reads the holdout of the candidate"):
            oo.run_backtest(MARKET, given)


@sandboxed
def test_code_is_recognized_under_other_parameters_and_names(folder: Path, run: Any) -> None:
    """Research tunes code in each fold, so its file has other parameters than its trial."""
    identity, market = StrategyBuilder(CONFIG).check(CODE).identity, Market.of(MARKET)
    with Ledger(folder / "ledger", session="s2") as ledger:
        trial = ledger_run(1, strategy=identity, market=market)
        ledger.add([trial])
    renamed = RISING.replace("Rising", "Renamed").replace("Hold symbols", "Buy symbols")
    origin = {"session_id": "s2", "trial": trial.trial}
    content = {"strategy": "Renamed", "source": renamed, "params": {"span": 33}, "provenance": origin}
    name = edited(folder, without=("digest", "holdout"), **content)
    words = "--agent", name, "--allow-code-gen", "--window", f"{HELD[0]}:"
    done = run(*words, data="renamed.csv")
    assert READS.format(CandidateFile.read(folder / "found.json").session[:8]) in done.stderr
    assert "confirmed" not in done.stderr
    assert last_run(folder).notes["holdouts"][0]["window"] == list(HELD)
    edited(folder, without=("digest", "holdout"), **content | {"source": renamed.replace(">", "<")})
    assert "received an edited one, Renamed:span=33" in run(*words, code=2).stderr


@pytest.mark.parametrize("agent", ["momentum", TEXT, "found.json", "edited.json"])
def test_a_folder_of_a_ledger_has_an_effect_or_is_refused_for_every_agent(folder: Path, run: Any, agent: str) -> None:
    """`--ledger-dir` means that ledger, as in `research`, whatever the file of the agent says."""
    edited(folder, without=("digest", "holdout"))
    short = ("--agent", agent, "--window", "80:200")
    run(*short, "--ledger-dir", "x")
    assert len(Ledger(folder / "x").list(RunFilter())) == 1
    run(*short, "--ledger-dir", "x", "--output-dir", "y")
    assert (folder / "y" / "run_ledger.jsonl").exists()
    refused = run("--agent", agent, "--output-dir", "z", code=2)
    assert "`--output-dir` requires `--ledger`; received `--output-dir` without it; hint: add" in refused.stderr
    for option in ("--ledger-dir", "--output-dir"):
        refused = run("--agent", agent, option, "z", "--no-ledger", code=2)
        assert f"`{option}` requires " in refused.stderr
        assert "received `--no-ledger` with it; hint: omit one of the two" in refused.stderr
    assert not (folder / "z").exists()
    assert len(Ledger(folder / "x").list(RunFilter())) == 2
    assert Ledger(folder / "ledger").list(RunFilter(kind="run")) == []
