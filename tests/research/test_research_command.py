"""`openoutcry research` on real data, from the shell."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import typed
from research_markets import trending

from openoutcry.data.snapshots.snapshot_files import freeze

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
PROPOSALS = f"fixed:{ROOT / 'examples' / 'proposals.json'}"
N_KILLS = 50 if os.environ.get("OPENOUTCRY_FULL") else 2


def research(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENOUTCRY_LEDGER", str(folder / "ledger"))
        done = typed("research", *words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "openoutcry", "research", *words]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "OPENOUTCRY_LEDGER": str(folder / "ledger")}


def output(folder: Path, *words: str, code: int = 0) -> Any:
    return json.loads(research(folder, *words, "--json", code=code).stdout)


JOURNAL = "research/logs/research_journal.jsonl"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("main-job")
    # Once as a separate process, as a user runs it.
    words = command("run", "--provider", PROPOSALS, "--data", "ecb-fx")
    done = subprocess.run(words, cwd=folder, env=environment(folder), capture_output=True, text=True, check=True)
    return folder, done.stdout


def test_a_run_writes_short_list_journal_and_report(first: tuple[Path, str]) -> None:
    folder, shown = first
    assert "ecb-fx  1999-01-04 .." in shown
    assert "prior trials on this family of markets: 0" in shown
    assert re.search(r"1\. trend fast=20 side=long-short slow=120, Sharpe -?\d\.\d\d out of sample: discarded", shown)
    assert "short list: 0 of 3 trials" in shown
    assert "the last rounds brought no improvement. `--max-dry-rounds` sets how many" in shown
    assert (folder / JOURNAL).exists()
    assert (folder / "research" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads((folder / "research" / "shortlist.json").read_text())["n_trials"] == 3
    assert len((folder / "research" / "run_ledger.jsonl").read_text().splitlines()) == 3 * 9


def test_a_replay_verifies_a_journal_and_rejects_a_changed_one(first: tuple[Path, str], tmp_path: Path) -> None:
    folder = first[0]
    assert re.fullmatch(
        r"reproduced: all 13 events, bit for bit\n", research(folder, "replay", "--verify", JOURNAL).stdout
    )
    content = (folder / JOURNAL).read_bytes()
    (tmp_path / "logs").mkdir()
    changed = tmp_path / "logs" / "research_journal.jsonl"
    changed.write_bytes(content.replace(b'"discarded"', b'"discard3d"', 1))
    verdict = output(tmp_path, "replay", "--verify", str(changed), code=1)
    assert verdict["reproduced"] is False
    assert "line 3" in verdict["fault"]
    research(tmp_path, "replay", "--verify", "no-such.jsonl", code=2)


def test_a_replay_compares_a_journal_with_its_anchors_in_the_ledger(first: tuple[Path, str], tmp_path: Path) -> None:
    """A18: the anchors detect a journal whose complete chain was rewritten."""
    folder = first[0]
    assert output(folder, "replay", "--verify", "--ledger", JOURNAL) == {
        "reproduced": True,
        "n_events": 13,
        "fault": None,
    }
    verdict = output(folder, "replay", "--verify", "--ledger-dir", str(tmp_path / "other"), JOURNAL, code=1)
    assert "a session without an anchor" in verdict["fault"]


def test_an_unreachable_model_is_an_error(tmp_path: Path) -> None:
    """A2, A17: silence must not look like a session without candidates."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        words = ("run", "--provider", url, "--model", "none", "--max-dry-rounds", "1", "--no-ledger")
        shown = research(tmp_path, *words, code=1).stdout
    assert "the model sent no reply in the last rounds" in shown


def test_a_second_session_starts_with_the_results_of_the_first(first: tuple[Path, str]) -> None:
    """L8: the second session's prompt holds the first session's results, and its trials are counted."""
    folder = first[0]
    shown = research(folder, "run", "--provider", PROPOSALS, "--data", "ecb-fx", "--out", "again").stdout
    assert "prior trials on this family of markets: 3" in shown
    assert shown.count("duplicate, already evaluated") == 3
    assert "trials counted: 3, including 3 prior trials of the ledger" in shown
    prompt = research(folder, "prompt", "again/logs/research_journal.jsonl").stdout
    assert "## Learnings from 3 prior backtests across 3 strategies" in prompt
    assert prompt.index("## Learnings") < prompt.index("Design a trading strategy")
    assert "## Learnings" not in research(folder, "prompt", JOURNAL).stdout


def test_a_second_session_appends_to_the_list_of_runs_and_reports_its_metrics(tmp_path: Path) -> None:
    """L8: the file is created, then appended to; drawdown, win rate and profit factor are in the prompt."""
    assert not (tmp_path / "research").exists()
    held = []
    for fast in (15, 25):
        why = "prices that have risen for weeks go on to rise, since investors react late"
        proposal = {"kind": "tune", "strategy": "trend", "params": {"fast": fast, "slow": 90}, "rationale": why}
        (tmp_path / "proposals.json").write_text(json.dumps([proposal]))
        provider = f"fixed:{tmp_path / 'proposals.json'}"
        assert output(tmp_path, "run", "--provider", provider, "--data", "ecb-fx")["n_trials"] == len(held) + 1
        held.append((tmp_path / "research" / "run_ledger.jsonl").read_text())
    assert held[1].startswith(held[0])
    assert [len(each.splitlines()) for each in held] == [9, 18]
    prompt = research(tmp_path, "prompt", JOURNAL).stdout
    assert "## Learnings from 1 prior backtest across 1 strategy" in prompt
    number = r"-?\d+\.\d+"
    entry = (
        rf"mean Sharpe {number} over 1 trial; .*max drawdown {number} %, win rate {number} %; profit factor {number}"
    )
    assert re.search(rf'1\. {entry}; "trend\(fast=15, side=long, slow=90\)" on ', prompt)


def test_a_spent_holdout_is_refused_in_the_next_session(tmp_path: Path) -> None:
    gates = tmp_path / "gates.json"
    none = {"min_sharpe": None, "min_profit_factor": None, "min_efficiency": None, "min_efficiency_if_sharpe": None}
    gates.write_text(json.dumps({**none, "max_drawdown_ratio": None, "min_dsr": None}))
    words = ("run", "--provider", "random", "--data", "ecb-fx", "--gates", str(gates), "--max-trials", "2")
    one = output(tmp_path, *words)
    assert one["candidates"]
    assert one["holdout"]["reuse"] == 0
    shown = research(tmp_path, *words, "--seed", "1").stdout
    assert "the holdout is spent" in shown
    assert "holdout: an unopened holdout is required" in shown
    assert "`--burn-holdout`, opens it again" in shown
    burnt = output(tmp_path, *words, "--seed", "2", "--burn-holdout")
    assert burnt["holdout"]["reuse"] == 1


def test_without_a_ledger_no_trial_is_recorded(tmp_path: Path) -> None:
    for _ in range(2):
        done = output(tmp_path, "run", "--provider", PROPOSALS, "--no-ledger", "--max-trials", "1")
        assert done["n_trials"] == 1
    assert not (tmp_path / "ledger").exists()


def test_a_report_can_be_recreated_from_the_journal(first: tuple[Path, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    research(first[0], "report", JOURNAL, "--out", str(page))
    written = (first[0] / "research" / "report.html").read_text(encoding="utf-8")
    # Except the command, which names the path of the journal.
    cut = re.compile(r"<pre><code>openoutcry.*?</code></pre>")
    assert cut.sub("", page.read_text(encoding="utf-8")).split(">Provenance<")[0] == written.split(">Provenance<")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--provider", "fixed:no-such.json"), "No such file"),
        (("--provider", "oracle"), "a provider must be"),
        (("--provider", "random", "--gates", "lax"), "`--gates` must be one of default, strict"),
        (("--provider", "random", "--data", "no-such"), "a dataset must be"),
        (("--provider", "random", "--holdout-bars", "7124"), "must leave two of"),
        (("--provider", "random", "--folds", "400"), "must have at least 30 bars"),
        (("--provider", "random", "--no-ledger", "--ledger-dir", "x"), "requires a ledger"),
        (("--provider", "random", "--mode", "sideways"), "`mode` must be"),
    ],
)
def test_invalid_options_are_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    done = research(tmp_path, "run", *words, code=2)
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not (tmp_path / "research").exists()


def listed(folder: Path) -> list[Any]:
    found = json.loads((folder / "research" / "shortlist.json").read_text())
    paths = [folder / "research" / name for name in found["candidates"]]
    output = [json.loads(path.read_text()) for path in paths]
    for each in output:
        del each["provenance"]["session_id"], each["digest"]  # which covers the session
    return [output, found["n_trials"], found["stopped_reason"], found["dropped"], found["holdout"], found["advice"]]


def test_a_session_killed_at_any_time_resumes_to_the_same_result(tmp_path: Path) -> None:
    """`kill -9`, then resume: the short list equals that of an uninterrupted session."""
    market = str(freeze(trending(0, 1500, 3), tmp_path, "made for a test"))
    gates = tmp_path / "gates.json"
    none = {"min_sharpe": None, "min_profit_factor": None, "min_efficiency": None, "min_efficiency_if_sharpe": None}
    gates.write_text(json.dumps({**none, "max_drawdown_ratio": None, "min_trades": 0}))
    words = ("run", "--provider", "random", "--data", market, "--gates", str(gates), "--max-trials", "15")
    words += ("--max-dry-rounds", "15", "--seed", "4")
    complete = tmp_path / "whole"
    complete.mkdir()
    research(complete, *words)
    assert listed(complete)[0]
    n_bytes = (complete / JOURNAL).stat().st_size
    draws = random.Random(8)
    n_cut = 0
    for kill in range(N_KILLS):
        folder = tmp_path / f"kill{kill}"
        folder.mkdir()
        until = draws.randrange(1, n_bytes)
        victim = subprocess.Popen(
            command(*words), cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        journal = folder / JOURNAL
        while victim.poll() is None and not (journal.exists() and journal.stat().st_size >= until):
            time.sleep(0.0005)
        time.sleep(draws.random() * 0.02)
        victim.send_signal(signal.SIGKILL)
        n_cut += victim.wait() == -signal.SIGKILL
        research(folder, "resume", JOURNAL)
        assert listed(folder) == listed(complete)
        research(folder, "replay", "--verify", JOURNAL)
    assert n_cut >= N_KILLS // 2, "sessions must be killed before they end"


def test_a_resumed_session_writes_the_tables_of_its_report(first: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = first
    resumed, reported = tmp_path / "resumed", tmp_path / "reported"
    found = output(folder, "resume", JOURNAL, "--tables", str(resumed), "--format", "csv")
    assert found["tables"]
    research(folder, "report", JOURNAL, "--out", str(tmp_path / "page.html"), "--tables", str(reported))
    names = sorted(path.name for path in resumed.iterdir())
    assert names == sorted(path.name for path in reported.iterdir())
    assert all((resumed / name).read_bytes() == (reported / name).read_bytes() for name in names)


def test_the_first_ctrl_c_stops_after_the_round(tmp_path: Path) -> None:
    words = (
        "run",
        "--provider",
        "random",
        "--data",
        "ecb-fx",
        "--max-trials",
        "500",
        "--max-dry-rounds",
        "500",
        "--json",
    )
    victim = subprocess.Popen(
        command(*words),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = tmp_path / JOURNAL
    while not (journal.exists() and journal.stat().st_size > 20_000):
        assert victim.poll() is None
        time.sleep(0.01)
    victim.send_signal(signal.SIGINT)
    shown, said = victim.communicate()
    assert victim.returncode == 0
    assert json.loads(shown)["stopped_reason"] == "cancelled"
    assert "press Ctrl-C again to abort" in said
    research(tmp_path, "replay", "--verify", JOURNAL)
