"""The page of a scored board: headline, bands, figures, and equality of its numbers with the scorer's."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_pages import HOSTILE, PROVENANCE, Page, make_score, make_scores, make_view

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.records.run_record import RunRecord
from openoutcry.report.pages.metric_labels import METRICS
from openoutcry.report.pages.score_labels import DIAGNOSTICS, FIELD, GATES, SIDE, VERDICTS
from openoutcry.report.pages.score_page import headline_of, render_scores
from openoutcry.report.score_report import provenance_of, view_of, write_score_report
from openoutcry.report.text_format import DASH, escape, number
from openoutcry.report.views.score_view import Floor, ScoreGate, ScoreWindow
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import IMPLIED, Evaluation
from openoutcry.scoring.verdict import Board

pytestmark = pytest.mark.once

NAMES = ("momentum", "equal-weight", "buy-and-hold", "hold-cash")
QUICK = {"draws": {"replicates": 200}}


def small_suite() -> Suite:
    fields = json.loads(Suite.load().to_json())
    real = next(market for market in fields["markets"] if "fingerprint" in market)
    real["windows"] = [["2003-01-01", "2004-01-01"], ["2004-01-02", "2005-01-01"]]
    return Suite.from_json(json.dumps(fields | {"markets": [real], "seeds": [0, 1], "luck_floor": {"agents": 20}}))


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return Evaluation(small_suite())


@pytest.fixture(scope="module")
def records(evaluation: Evaluation) -> list[RunRecord]:
    made = [evaluation.run(name) for name in NAMES]
    return [made[0].sign(bytes(range(32))), *made[1:]]


@pytest.fixture(scope="module")
def board(evaluation: Evaluation, records: list[RunRecord]) -> Board:
    return oo.score(records, suite=evaluation, luck_floor=evaluation.luck_floor(), config=QUICK)


@pytest.fixture(scope="module")
def of_returns() -> Board:
    days = np.random.default_rng(1).normal(4e-4, 0.01, (3, 504))
    tracks = {"a": days[0], "copy": days[0], "b": days[1:]}
    return oo.score(tracks, periods_per_year=252, windows=[252, 252], config=QUICK, n_trials=50)  # type: ignore[arg-type]


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).strip()


def rows_of(page: str, kind: str) -> list[list[str]]:
    found = re.search(rf'<table class="{kind}">.*?</table>', page, re.DOTALL)
    assert found
    rows = re.findall(r"<tr.*?</tr>", found[0])
    return [[words(re.sub(r"<sup>.*?</sup>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", r)] for r in rows]


def test_the_headline_states_eligibility_and_separation() -> None:
    view = make_view()
    headline = (
        "None of 4 agents is eligible; momentum and equal-weight cannot be separated on 992 days: separating them takes"
        " about 5,000 days."
    )
    assert headline_of(view) == headline
    main = render_scores(view, PROVENANCE).partition("<main>")[2]
    assert words(main).startswith(f"{headline} {view.power}")


@pytest.mark.parametrize(
    ("verdicts", "headline"),
    [
        (["eligible"], "The only agent is eligible."),
        (["unknown"], "The only agent is unknown."),
        (["insufficient"], "The only agent has too little data."),
        (["eligible", "unknown"], "1 of 2 agents is eligible."),
        (["eligible", "eligible", "insufficient"], "2 of 3 agents are eligible."),
        (["insufficient", "insufficient"], "None of 2 agents is eligible."),
    ],
)
def test_the_headline_counts_eligible_agents(verdicts: list[str], headline: str) -> None:
    rows = [make_score(f"a{i}", i + 1, verdict=verdict) for i, verdict in enumerate(verdicts)]
    assert headline_of(make_view(rows, sentence="")) == headline


def test_agents_of_a_band_share_one_rank_and_one_group() -> None:
    page = make_scores()
    groups = re.findall(r'<tbody class="(band|unranked)">(.*?)</tbody>', page)
    assert [kind for kind, _ in groups] == ["band", "band", "unranked"]
    ranks = [words(cell) for _, group in groups for cell in re.findall(r'<td class="rank".*?</td>', group)]
    assert ranks == ["1 2 tied", "3", f"{DASH} unranked"]
    assert [group.count('class="who"') for _, group in groups] == [2, 1, 1]
    assert '<td class="rank" rowspan="4">' in groups[0][1]


def test_every_verdict_is_shown_with_its_reasons() -> None:
    page = make_scores([make_score("a", 1, because=["one", "two"]), make_score("b", None, copy_of="a")])
    reasons = [words(row) for row in re.findall(r'<tr class="why">.*?</tr>', page)]
    assert reasons[0] == "not eligible : one; two"
    assert reasons[1].endswith("above the benchmark (same return series as a)")


def test_undefined_is_a_dash_with_its_reason_and_never_a_zero() -> None:
    page = make_scores([make_score("cash", None)])
    assert '<span class="undefined" title="returns do not vary">\u2014</span>' in page
    assert re.search(r'<li id="rank-note-1">returns do not vary</li>', page)
    fold = page[page.index('<details id="agent0">') :]
    assert re.search(r'<li id="agent0-note-\d+">no trace</li>', fold)
    assert "<b>unknown</b>: no decisions" in fold
    assert "too few agents" in page


def test_the_null_distribution_is_behind_every_agent() -> None:
    floor = Floor(200, {0.0: -0.5, 0.05: -0.2, 0.5: 0.0, 0.95: 0.25, 1.0: 0.6}, 0.4)
    page = make_scores(floor=floor)
    # Two boxes in each of the rows of four agents and of the null agents.
    assert page.count('class="oo-luck"') == 2 * 5
    assert "Null agents: 0% below \u22120.50, 5% below \u22120.20, 50% below 0.00" in page
    assert 'class="oo-luck"' not in make_scores(floor=None)
    assert "Null agents below" not in make_scores(floor=None)


def test_every_null_agent_is_a_dot_in_both_figures(board: Board) -> None:
    floor = view_of(board).floor
    assert floor is not None
    assert board.luck_floor is not None
    assert (len(floor.each_sharpe), len(floor.each_z)) == (20, 20)
    assert max(filter(None, floor.each_z)) == board.luck_floor["best_z"]
    paths = re.findall(r'class="oo-lucky" d="([^"]+)"', make_scores(floor=floor))
    assert [path.count("h0") for path in paths] == [20, 20]
    assert all(0.0 <= float(x) <= 1000.0 for path in paths for x in re.findall(r"M([\d.]+) ", path))


def test_an_outlying_null_agent_is_a_dot_at_the_edge() -> None:
    floor = Floor(3, {0.0: -0.5, 1.0: 0.6}, 20.0, [0.0, 0.1, 0.2], [-30.0, 0.0, 20.0])
    page = make_scores(floor=floor)
    far, _ = re.findall(r'class="oo-lucky" d="([^"]+)"', page)
    places = [float(x) for x in re.findall(r"M([\d.]+) ", far)]
    assert (places[0], len(places), places[2]) == (0.0, 3, 1000.0)
    assert "each null agent is a dot, at the edge if outside" in page


def test_gates_on_sealed_windows_have_a_separate_table() -> None:
    sealed = [ScoreGate("dsr", False, 0.2, 0.95, "the deflated Sharpe ratio is not significant")]
    page = make_scores([make_score("a", 1, sealed=sealed)])
    assert "Only the sealed windows" in page
    assert page.count('<table class="gates">') == 2
    assert "Only the sealed windows" not in make_scores()


def test_a_board_without_a_suite_states_so(of_returns: Board, evaluation: Evaluation) -> None:
    assert view_of(of_returns).protocol.startswith("No suite; 3 agents")
    assert any("no suite" in notice for notice in view_of(of_returns).notices)
    implied = Evaluation(replace(evaluation.suite, edition=IMPLIED))
    assert "windows" not in implied.config()
    assert view_of(of_returns, implied).title == "Scores"


def test_null_agents_far_from_the_agents_stay_inside_the_figure() -> None:
    page = make_scores(floor=Floor(200, {0.0: -9.0, 0.5: 4.0, 1.0: 9.0}, 30.0))
    edges = re.findall(r'class="oo-luck" x="([\d.]+)%" width="([\d.]+)%"', page)
    assert edges
    assert all(float(x) >= 0.0 and float(x) + float(width) <= 100.01 for x, width in edges)


def test_an_outlying_z_is_an_arrow_and_does_not_compress_the_axis() -> None:
    rows = [make_score("a", 1, values={"z": 1.0}), make_score("b", 2, values={"z": 0.5})]
    alone, joined = (make_scores([*rows, *more]) for more in ([], [make_score("c", 3, values={"z": -400.0})]))
    places = [
        [float(x) for x in re.findall(r'<circle class="oo-point" cx="([\d.]+)%"', page)[:2]] for page in (alone, joined)
    ]
    assert joined.count("M0 10l8-5v10z") == alone.count("M0 10l8-5v10z") + 1
    assert places[1][0] - places[1][1] > 2.0


def test_missing_windows_are_empty_cells() -> None:
    whole, part = make_score("whole", None), make_score("part", None)
    part = replace(part, windows=[part.windows[2]])
    strip = rows_of(make_scores([part, whole]), "months strip tiles")
    assert strip[0][1:] == ["hard-1 1999", "ecb-fx 2000", "hard-1 2001", "ecb-fx 2002"]
    assert [bool(cell) for cell in strip[1][1:]] == [False, False, True, False]
    assert strip[2][1] == DASH
    assert strip[2][3] == number(min(z for z in whole.windows[2].z.values() if z is not None), 1)


def test_rows_not_sorted_by_rank_are_refused() -> None:
    with pytest.raises(ValueError, match="sorted by rank"):
        make_view([make_score("a", 2), make_score("b", 1)])
    with pytest.raises(ValueError, match="at least 1 agent"):
        make_view([])
    with pytest.raises(ValueError, match="quantile"):
        Floor(1, {1.5: 0.0}, None)


def test_the_page_shows_the_numbers_of_the_scorer(board: Board, evaluation: Evaluation, tmp_path: Path) -> None:
    path = write_score_report(board, tmp_path / "board.html", suite=evaluation, command="openoutcry score a b --json")
    page = Path(path).read_text(encoding="utf-8")
    Page(page)
    assert escape(board.sentence.rstrip(".")) in page
    assert board.power is not None
    assert escape(board.power["sentence"]) in page
    table = rows_of(page, "ranking stack scores")
    agents = [[cell for cell in row if cell not in ("1 2 tied", f"{DASH} unranked")] for row in table[1::2]]
    for score, viewed, row in zip(board.scores, view_of(board).rows, agents, strict=True):
        row = row[row.index(score.agent_id) :]
        assert row[1] == (DASH if score.z is None else number(score.z))
        assert row[5] == f"{score.n_won} of 2"
        assert row[7] == str(score.trials["n_trials"])
        side = min(viewed.sides, key=lambda each: math.inf if each.values["z"] is None else each.values["z"])
        ratio, error = side.values["sharpe"], side.values["standard_error"]
        shown = DASH if ratio is None else f"{number(ratio)} \u00b1 {number(error or 0.0)} over {side.name}"
        assert row[4] == shown
    for score, found in zip(board.scores, re.findall(r'<table class="gates">.*?</table>', page), strict=True):
        results = Counter(re.findall(r"passed|failed|unknown", words(found)))
        # Each return is a day, so that the gate of returns is that of days.
        gates = [gate for gate in score.gates if gate.slug != "returns"]
        assert results["failed"] == sum(gate.passed is False for gate in gates)
        assert results["passed"] == sum(gate.passed is True for gate in gates)
        texts = dict(zip(score.reasons, score.because, strict=True))
        assert all(escape(texts[gate.reason]) in found for gate in score.gates if gate.reason)
    assert {"public_windows"} < {reason for score in board.scores for reason in score.reasons}
    assert "every window is public" in page


def test_every_slug_and_number_of_the_scorer_has_a_label(board: Board, of_returns: Board) -> None:
    for scored in (board, of_returns):
        view = view_of(scored)
        for row in view.rows:
            assert row.verdict in VERDICTS
            assert {gate.slug for gate in row.gates} <= set(GATES)
            assert set(row.diagnostics) <= set(DIAGNOSTICS)
            assert set(row.metrics) <= set(METRICS)
            for side in row.sides:
                assert set(side.values) <= set(SIDE)
                assert all(name in side.reasons for name, value in side.values.items() if value is None)
            assert all(
                name in row.reasons for name, value in {**row.values, **row.diagnostics}.items() if value is None
            )
            assert all(gate.undefined for gate in row.gates if gate.value is None)
        assert all(set(FIELD) <= set(test.values) for test in view.tests if not test.reason)


def test_returns_alone_are_marked_as_such(of_returns: Board) -> None:
    page = render_scores(view_of(of_returns), provenance_of(of_returns))
    Page(page)
    assert "never eligible" in page
    assert "returns without a record" in page
    assert "no null agents" in page
    assert "(same return series as a)" in page
    assert "decisions from which they could be recomputed" in page
    strip = rows_of(page, "months strip tiles")
    assert strip[0] == ["Agent", "1: 252 days", "2: 252 days"]
    first = of_returns.scores[0]
    assert strip[1] == [first.agent_id, *(number(window["z_cash"], 1) for window in first.windows)]


def test_provenance_has_every_digest_and_the_command(
    board: Board, evaluation: Evaluation, records: list[RunRecord]
) -> None:
    suite = evaluation.suite
    command = "openoutcry score m.json.zst --suite s.json --keys s.keys"
    found = provenance_of(board, evaluation, command, records)
    page = render_scores(view_of(board, evaluation), found)
    foot = page[page.index("<footer>") :]
    for score in board.scores:
        assert str(score.digest) in foot
    assert f"{records[0].digest}, signed by {records[0].public_key}" in foot
    assert foot.count("signed by") == 1
    for sentence in (
        suite.digest,
        suite.edition,
        oo.__version__,
        escape(repr(suite.costs)),
        "engine stated by the records",
    ):
        assert sentence in foot
    assert f"<pre><code>{command}</code></pre>" in foot
    assert "This command recomputes the board from the decisions of every agent" in foot
    assert provenance_of(board, suite).groups == provenance_of(board, evaluation).groups


def test_markets_have_the_names_of_the_suite(board: Board, evaluation: Evaluation) -> None:
    rows = view_of(board, evaluation).rows
    assert {window.market for row in rows for window in row.windows} == {"ecb-fx"}
    other = json.loads(board.text)
    for score in other["scores"]:
        score["windows"][1] |= {"dataset": "ab" * 32}
    markets = {window.market for row in view_of(Board.from_json(json.dumps(other))).rows for window in row.windows}
    assert markets == {f"ecb-fx {evaluation.windows[0].dataset.fingerprint[:6]}", "ecb-fx ababab"}


def test_agent_names_are_escaped(board: Board) -> None:
    named = board.text.replace('"momentum"', json.dumps(HOSTILE))
    view = view_of(Board.from_json(named))
    page = render_scores(replace(view, title=HOSTILE, protocol=HOSTILE), provenance_of(Board.from_json(named)))
    names = [tag for tag, _ in Page(page).tags]
    assert (names.count("script"), names.count("img")) == (1, 0)
    assert page.count(escape(HOSTILE)) > 6


def year_by_year(windows: Sequence[ScoreWindow]) -> list[ScoreWindow]:
    return [replace(windows[i % 2], first=f"{2000 + i}-01-03", last=f"{2000 + i}-12-29") for i in range(24)]


def test_a_page_of_fifty_agents_and_24_windows_is_below_a_megabyte(board: Board) -> None:
    rows = view_of(board).rows
    many = [
        replace(rows[i % 4], name=f"agent-number-{i}", rank=1 + i // 10 * 10, windows=year_by_year(rows[i % 4].windows))
        for i in range(50)
    ]
    page = render_scores(replace(view_of(board), rows=many), PROVENANCE)
    assert len(page.encode()) < 1_000_000


def test_a_record_changed_after_signing_names_no_signer(board: Board, records: list[RunRecord]) -> None:
    signed = records[0]
    content = json.loads(signed.to_json())
    content["runs"][0]["steps"][0]["nav"] = 9.0
    edited = RunRecord.from_json(native.canonicalize(json.dumps(content)))
    assert edited.digest == signed.digest
    note = f"{signed.digest}, signed by {signed.public_key}"
    assert note in render_scores(view_of(board), provenance_of(board, records=[signed]))
    assert "signed by" not in render_scores(view_of(board), provenance_of(board, records=[edited]))
