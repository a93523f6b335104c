"""Boards and pages of records say that a run reads a holdout of research, as the command that ran it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from candidate_sessions import MARKET, TUNE, market_file, searched
from command_line import typed

import openoutcry as oo
from openoutcry.backtest.strategies.candidate_file import CandidateFile

pytestmark = pytest.mark.once

HELD = MARKET.dates[-40], MARKET.dates[-1]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a session that opened its holdout, with records of later runs."""
    folder = tmp_path_factory.mktemp("session")
    *_, (path,) = searched(folder, TUNE)
    path.rename(folder / "found.json")
    dataset = oo.Dataset.from_csv(market_file(folder / "market.csv"))
    for name, agent in {"read": "trend:fast=5,slow=65", "other": "trend:fast=6,slow=65"}.items():
        oo.run_backtest(dataset, agent, capture=True).record.save(folder / f"{name}.json")
    return folder


@pytest.fixture
def command(session: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command in the folder of the session; its ledger is the default one."""
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(session / "ledger"))

    def run(*words: str) -> Any:
        done = typed(*words, "--data", "market.csv", cwd=session)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


def reads(folder: Path) -> str:
    """Return the notice without the name of the agent."""
    opened = CandidateFile.read(folder / "found.json").session[:8]
    return f"this run reads the holdout that session {opened} opened, {HELD[0]} .. {HELD[1]}: its result is no test"


def test_a_board_says_which_record_reads_a_holdout(
    session: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "score", "read.json", "other.json"
    (note,) = json.loads(command(*words, "--json", "--report", "board.html").stdout)["notes"]
    assert note.startswith(f"trend:fast=5,slow=65,side=long: {reads(session)}")
    assert reads(session) in (session / "board.html").read_text()
    shown = command(*words).stdout
    assert "reads the holdout that session" in shown
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(session / "no ledger"))
    assert json.loads(command(*words, "--json").stdout)["notes"] == []


def test_a_page_of_a_record_says_that_it_reads_a_holdout(session: Path, command: Any) -> None:
    done = command("report", "read.json", "--out", "read.html")
    assert reads(session) in done.stderr
    assert reads(session) in (session / "read.html").read_text()
    assert "holdout" not in command("report", "other.json", "--out", "other.html").stderr


def test_the_page_of_a_run_has_its_notices_and_the_record_stays_as_it_is(session: Path, command: Any) -> None:
    command("run", "--agent", "found.json", "--no-ledger", "--record", "run.json", "--report", "run.html")
    assert "this run reads the holdout of the candidate" in (session / "run.html").read_text()
    record = oo.RunRecord.load(session / "run.json")
    assert record.agent_id.startswith("trend:fast=5,slow=65,side=long (candidate ")
    assert reads(session) in command("report", "run.json", "--out", "again.html").stderr


def test_every_opened_holdout_counts_for_code_that_a_record_does_not_contain(session: Path, command: Any) -> None:
    record = oo.RunRecord.load(session / "read.json")
    oo.RunRecord.join("Rising:span=20 (candidate 0123abcd)", record.runs()).save(session / "code.json")
    assert reads(session) in command("report", "code.json", "--out", "code.html").stderr
