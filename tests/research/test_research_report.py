"""The report: what a person decides from, with everything that others wrote escaped."""

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


def made(folder: Path, proposer: RandomProposer | FixedProposer, config: ResearchConfig = CONFIG) -> tuple[Result, str]:
    place = Workspace(folder / "out", Ledger(folder / "ledger"), source="market.csv", provider="random")
    result = research(lambda: MARKET, proposer, config, place)
    stood = session_of(place.journal)
    write_session_files(result, recorded_setup(lambda: MARKET, stood), place.folder)
    return result, (place.folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result, str]:
    folder = tmp_path_factory.mktemp("report")
    return folder / "out", *made(folder, RandomProposer())


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_the_page_shows_hypotheses_gates_counts_and_the_holdout(session: tuple[Path, Result, str]) -> None:
    _, result, page = session
    text = text_of(page)
    assert f"{len(result.shortlist)} candidate" in text
    for trial in result.trials:
        assert f"{trial.round + 1}. {trial.candidate.name}" in text
        assert trial.candidate.proposal.rationale in text
    for reason in (reason for trial in result.trials for reason in trial.reasons):
        assert reason.split(";")[0].replace(">", "&gt;") in page
    assert "deflated by all 8 trials" in text
    assert "DSR if one trial" in text
    assert result.seal is not None
    assert " .. ".join(result.seal.window) in text
    assert result.session_id in text
    assert "openoutcry research replay --verify" in text


def test_what_others_wrote_is_escaped_and_nothing_is_loaded(session: tuple[Path, Result, str]) -> None:
    page = session[2]
    assert "find &lt;b&gt;trend&lt;/b&gt; &amp; keep it" in page
    assert "<b>trend" not in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "default-src 'none'" in page


def test_a_candidate_file_says_what_it_is_and_where_it_came_from(session: tuple[Path, Result, str]) -> None:
    """A14: candidates, a journal and a report are all that there is; nothing trades."""
    folder, result, _ = session
    files = sorted((folder / "candidates").iterdir())
    assert len(files) == len(result.shortlist)
    for path, listed in zip(files, result.shortlist, strict=True):
        told = json.loads(path.read_text(encoding="utf-8"))
        assert told["status"] == "candidate"
        assert told["strategy"] == listed.trial.candidate.name
        assert told["evidence"]["luck"]["n_trials"] == result.n_trials
        assert told["evidence"]["holdout"]["passed"] == (listed.verdict is not None and listed.verdict.passed)
        assert told["provenance"]["session_id"] == result.session_id
        strategy = oo_strategy(told)
        assert strategy.params == dict(listed.trial.candidate.params)
    assert {path.name for path in folder.iterdir()} == {
        *("candidates", "logs", "reports"),
        *("report.html", "run_ledger.jsonl", "shortlist.json"),
    }


def oo_strategy(told: dict) -> object:
    from openoutcry.backtest.strategies import from_json

    return from_json({"strategy": told["strategy"], "params": told["params"]})


def test_an_empty_list_is_told_as_the_good_answer_it_is(tmp_path: Path) -> None:
    result, page = made(tmp_path, RandomProposer(), replace(CONFIG, gates=Thresholds(min_sharpe=99.0)))
    assert result.shortlist == ()
    text = text_of(page)
    assert "None of 8 trials is worth your time" in text
    assert "The best of those discarded" in text
    assert json.loads((tmp_path / "out" / "shortlist.json").read_text())["candidates"] == []


def test_a_session_in_which_nothing_could_be_evaluated_has_a_page(tmp_path: Path) -> None:
    wrong = {"strategy": "<script>alert(1)</script>", "rationale": "</details><script>", "params": {"a": "\u202e"}}
    _, page = made(tmp_path, FixedProposer([wrong]))
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "Nothing was evaluated" in page


def test_a_later_session_shows_what_was_known_before(tmp_path: Path) -> None:
    made(tmp_path, RandomProposer())
    result, page = made(tmp_path, RandomProposer(), replace(CONFIG, seed=5))
    assert result.prior_trials.prior
    assert "Learnings from" in page
    before = result.n_trials - result.n_session
    assert before == 8
    assert f"{before} trials of earlier sessions" in text_of(page)
