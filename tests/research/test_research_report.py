"""The report of a session, with all untrusted text escaped."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from research_markets import trending

from openoutcry.ledger import Ledger
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.proposers import FixedProposer, RandomProposer
from openoutcry.research.session_config import Budgets, ResearchConfig
from openoutcry.research.session_files import write_session_files
from openoutcry.research.session_manager import Workspace, recorded_setup, research
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result

MARKET = trending(0, 1500, 3)
GATES = Thresholds(*(None,) * 5, min_trades=0, min_dsr=0.5)
CONFIG = ResearchConfig(goal="find <b>trend</b> & keep it", budgets=Budgets(8, 40, 12), gates=GATES, seed=4)


def session_of_proposer(
    folder: Path, proposer: RandomProposer | FixedProposer, config: ResearchConfig = CONFIG
) -> tuple[Result, str]:
    workspace = Workspace(folder / "out", Ledger(folder / "ledger"), source="market.csv", provider="random")
    result = research(lambda: MARKET, proposer, config, workspace)
    recorded = session_of(workspace.journal)
    write_session_files(result, recorded_setup(lambda: MARKET, recorded), workspace.folder)
    return result, (workspace.folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result, str]:
    folder = tmp_path_factory.mktemp("report")
    return folder / "out", *session_of_proposer(folder, RandomProposer())


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_the_page_shows_proposals_gates_counts_and_the_holdout(session: tuple[Path, Result, str]) -> None:
    _, result, page = session
    text = text_of(page)
    assert f"{len(result.shortlist)} candidate" in text
    for trial in result.trials:
        assert f"{trial.round + 1}. {trial.candidate.name}" in text
        assert trial.candidate.proposal.rationale in text
    for reason in (reason for trial in result.trials for reason in trial.reasons):
        assert reason.split(";")[0].replace(">", "&gt;") in page
    assert "deflated for all 8 trials" in text
    assert "DSR, one trial" in text
    assert result.seal is not None
    assert " .. ".join(result.seal.window) in text
    assert result.session_id in text
    assert "openoutcry research replay --verify" in text


def test_untrusted_text_is_escaped_and_nothing_is_loaded(session: tuple[Path, Result, str]) -> None:
    page = session[2]
    assert "find &lt;b&gt;trend&lt;/b&gt; &amp; keep it" in page
    assert "<b>trend" not in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "default-src 'none'" in page


def test_a_candidate_file_holds_status_evidence_and_provenance(session: tuple[Path, Result, str]) -> None:
    """A14: the output is candidates, a journal and a report; nothing trades."""
    folder, result, _ = session
    files = sorted((folder / "candidates").iterdir())
    assert len(files) == len(result.shortlist)
    for path, listed in zip(files, result.shortlist, strict=True):
        values = json.loads(path.read_text(encoding="utf-8"))
        assert values["status"] == "candidate"
        assert values["strategy"] == listed.trial.candidate.name
        assert values["evidence"]["luck"]["n_trials"] == result.n_trials
        assert values["evidence"]["holdout"]["passed"] == (listed.verdict is not None and listed.verdict.passed)
        assert values["provenance"]["session_id"] == result.session_id
        strategy = oo_strategy(values)
        assert strategy.params == dict(listed.trial.candidate.params)
    assert {path.name for path in folder.iterdir()} == {
        *("candidates", "logs", "reports"),
        *("report.html", "run_ledger.jsonl", "shortlist.json"),
    }


def oo_strategy(values: dict) -> object:
    from openoutcry.backtest.strategies import from_json

    return from_json({"strategy": values["strategy"], "params": values["params"]})


def test_an_empty_short_list_is_presented_as_a_valid_result(tmp_path: Path) -> None:
    result, page = session_of_proposer(tmp_path, RandomProposer(), replace(CONFIG, gates=Thresholds(min_sharpe=99.0)))
    assert result.shortlist == ()
    text = text_of(page)
    assert "None of 8 trials passed the gates" in text
    assert "The best discarded trials" in text
    assert json.loads((tmp_path / "out" / "shortlist.json").read_text())["candidates"] == []


def test_a_session_without_any_trial_has_a_page(tmp_path: Path) -> None:
    wrong = {"strategy": "<script>alert(1)</script>", "rationale": "</details><script>", "params": {"a": "\u202e"}}
    _, page = session_of_proposer(tmp_path, FixedProposer([wrong]))
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "Nothing was evaluated" in page


def test_a_later_session_shows_prior_results(tmp_path: Path) -> None:
    session_of_proposer(tmp_path, RandomProposer())
    result, page = session_of_proposer(tmp_path, RandomProposer(), replace(CONFIG, seed=5))
    assert result.prior_trials.prior
    assert "Learnings from" in page
    before = result.n_trials - result.n_session
    assert before == 8
    assert f"{before} trials of earlier sessions" in text_of(page)
