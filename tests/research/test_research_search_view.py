"""Parameter maps, trials over time and folds of a session's page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from report_pages import HOSTILE
from research_markets import trending
from research_pages import make_research, make_search

from openoutcry.report.charts.search_charts import fold_chart, history_chart, map_chart
from openoutcry.report.pages.search_sections import fold_section, history_section, map_section
from openoutcry.report.views.search_view import SearchView
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.parameter_maps import neighbours_of, parameter_maps
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.search_history import search_of
from openoutcry.research.session_config import Budgets, ResearchConfig
from openoutcry.research.session_manager import Workspace, recorded_setup, research
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result

MARKET = trending(0, 1200, 3)
WHY = "Rising prices may continue to rise for some weeks."


def proposal(strategy: str, **params: object) -> dict[str, object]:
    return {"strategy": strategy, "rationale": WHY, "params": params}


PROPOSALS = [
    proposal("trend", fast=5, slow=70),
    proposal("trend", fast=10, slow=70),
    proposal("trend", fast=10, slow=100),
    proposal("trend", fast=30, slow=150),
    {"strategy": "no such strategy", "rationale": WHY, "params": {}},
    proposal("risk-parity", window=20),
    proposal("risk-parity", window=60),
    proposal("momentum", window=60),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, SearchView]:
    gates = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None)
    config = ResearchConfig(budgets=Budgets(9, 40, 12), gates=gates, seed=4)
    workspace = Workspace(tmp_path_factory.mktemp("session"))
    result = research(lambda: MARKET, FixedProposer(PROPOSALS), config, workspace)
    setup = recorded_setup(lambda: MARKET, session_of(workspace.journal))
    return result, search_of(result, setup, [result.shortlist[0].trial])


def test_a_map_has_every_configuration_with_its_ratio_and_the_best_is_chosen(
    session: tuple[Result, SearchView],
) -> None:
    result, search = session
    (drawn,) = [each for each in search.maps if each.strategy == "trend"]
    trials = [trial for trial in result.trials if trial.candidate.name == "trend"]
    assert {drawn.x, drawn.y} == {"fast", "slow"}
    assert [(p.number, p.sharpe) for p in drawn.points] == [(t.round + 1, t.oos.sharpe) for t in trials]
    listed = {each.trial.round + 1 for each in result.shortlist}
    best = max(trials, key=lambda trial: (trial.round + 1 in listed, trial.oos.sharpe or -9.0))
    assert [point.number for point in drawn.points if point.role == "chosen"] == [best.round + 1]
    assert sum(point.role == "neighbour" for point in drawn.points) == 3


def test_neighbours_are_ordered_by_distance_in_the_range_of_each_parameter(
    session: tuple[Result, SearchView],
) -> None:
    trials = [trial for trial in session[0].trials if trial.candidate.name == "trend"]
    near = neighbours_of(trials[0], trials, 2)
    assert [dict(trial.candidate.params)["fast"] for trial in near] == [10, 10]
    assert [dict(trial.candidate.params)["slow"] for trial in near] == [70, 100]


def test_one_parameter_is_a_line_and_one_configuration_has_no_map(session: tuple[Result, SearchView]) -> None:
    search = session[1]
    (line,) = [each for each in search.maps if each.strategy == "risk-parity"]
    assert (line.x, line.y, line.others) == ("window", "", [])
    assert map_chart(line, 1.0).count('class="oo-hair"') == 1
    assert search.not_drawn == ["momentum: only one configuration was evaluated"]


def test_the_history_has_every_round_and_the_leader(session: tuple[Result, SearchView]) -> None:
    result, search = session
    assert [point.number for point in search.history] == list(range(1, 9))
    assert search.history[4].outcome == "rejected"
    assert search.history[4].sharpe is None
    chart = history_chart(search.history)
    assert chart.count('class="oo-round') == 8
    assert "without a ratio" in chart
    n_advanced = sum(trial.outcome == "advanced" for trial in result.trials)
    # A level until the next leader, and the rise to it.
    assert chart.count('class="oo-leader"') == 2 * n_advanced
    assert search.budget.startswith("Used: 7 of 9 trials, 8 of 12 rounds")


def test_folds_are_those_of_the_session_with_the_ratio_of_each_test(session: tuple[Result, SearchView]) -> None:
    result, search = session
    assert len(search.folds) == len(result.start["folds"])
    for fold, recorded, score in zip(search.folds, result.start["folds"], result.shortlist[0].oos.folds, strict=True):
        assert fold.train == (MARKET.dates[recorded["train"][0]], MARKET.dates[recorded["train"][1] - 1])
        assert fold.test == (score.first, score.last)
        assert fold.n_gap == recorded["test"][0] - recorded["train"][1]
        assert list(fold.sharpes) == [score.sharpe]
    assert search.holdout is not None
    assert [search.holdout.first, search.holdout.last] == result.start["holdout"]
    chart = fold_chart(search.folds, search.holdout, search.fold_names)
    for part in ("train", "gap", "test"):
        assert chart.count(f'class="oo-part {part}"') == len(search.folds)
    assert chart.count('class="oo-part holdout"') == 1


def test_more_than_two_parameters_are_drawn_by_the_pairs_with_the_most_values(
    session: tuple[Result, SearchView],
) -> None:
    result, _ = session
    trend = [trial for trial in result.trials if trial.candidate.name == "trend"]
    first = replace(trend[0].candidate, params={**trend[0].candidate.params, "side": "long-short"})
    changed = [replace(trend[0], candidate=first), *trend[1:]]
    maps, _ = parameter_maps(replace(result, trials=tuple(changed)))
    pairs = [(each.x, each.y, each.others) for each in maps]
    assert len(pairs) == 3
    assert {pairs[0][0], pairs[0][1]} == {"fast", "slow"}
    assert pairs[0][2] == ["side"]


def test_what_a_session_does_not_have_is_said_and_not_drawn() -> None:
    empty = SearchView()
    assert "no record of its folds" in fold_section(empty)
    assert "Nothing was proposed." in history_section(empty)
    assert "it needs two evaluated configurations" in map_section(empty)
    assert not re.search("<svg", "".join(section(empty) for section in (fold_section, history_section, map_section)))


def test_the_chosen_point_and_its_neighbours_are_listed_with_their_differences() -> None:
    text = re.sub(r"<[^>]+>", " ", map_section(make_search()))
    assert "place 1 of the short list" in text
    assert re.search(r"chosen\s+window 31, trend\s+4\s+\u22120.10\s+\u2014", text)
    assert re.search(r"window 17, trend\s+2\s+\u22120.30\s+\u22120.20", text)


def test_hostile_names_parameters_and_sources_stay_text(tmp_path: Path) -> None:
    body = make_research(HOSTILE).partition("<body>")[2]
    assert "<script>alert" not in body
    assert "<img" not in body
    assert body.count("&lt;script&gt;alert") > 60
