"""Boards of baselines: order, unranked agents, and the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.cli.demo import _write_report as write_boards
from openoutcry.report.pages import verdict_text
from openoutcry.report.run_report import view_of
from openoutcry.report.text_format import MINUS
from openoutcry.report.views.run_view import BoardRow
from openoutcry.scoring.baseline_board import Board, run_board

pytestmark = pytest.mark.once

TREASURIES = oo.data.load("us-treasury")


@pytest.fixture(scope="module")
def boards() -> list[Board]:
    limits = oo.Limits(allow_short=False)
    return [run_board(oo.data.load(name), n_windows=2, limits=limits) for name in ("ecb-fx", "us-treasury")]


@pytest.fixture(scope="module")
def page(boards: list[Board], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("board") / "report.html"
    write_boards(boards, path)
    return path.read_text(encoding="utf-8")


def sections(page: str) -> list[str]:
    return page.split('<section class="board">')[1:]


def text(html: str) -> str:
    return re.sub(r"<sup>.*?</sup>|<[^>]+>", "", html).strip()


def table(section: str, kind: str) -> list[list[str]]:
    found = re.search(rf'<table class="{kind}">.*?</table>', section, re.DOTALL)
    assert found
    return [
        [text(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>.*?</tr>", found[0])[1:]
    ]


def test_hold_cash_has_the_sharpe_ratio_of_the_risk_free_rate_and_is_unranked(boards: list[Board]) -> None:
    last = boards[1].entries[-1]
    assert last.agent == "hold-cash"
    rates = TREASURIES.risk_free
    assert rates is not None
    mine = rates[last.full_run.window.start + 1 :]  # type: ignore[operator]
    assert last.full_run.metrics["sharpe"] == pytest.approx(
        -mine.mean() / mine.std(ddof=1) * np.sqrt(TREASURIES.periods_per_year), rel=1e-12
    )
    assert last.unranked == last.full_run.caveats["sharpe"]
    assert "returns are constant" in last.unranked
    assert [entry.agent for board in boards for entry in board.entries if entry.unranked] == ["hold-cash"] * 2


def test_interest_at_a_constant_rate_has_a_caveat() -> None:
    paid = oo.run_backtest(TREASURIES, "hold-cash", costs=oo.CostModel(cash_bps=300.0))
    assert len(set(paid.returns.tolist())) > 1  # rounded
    assert paid.caveats.keys() == {"sharpe", "sortino"}
    assert oo.run_backtest(TREASURIES, "equal-weight").caveats == {}


def test_an_unranked_ratio_is_excluded_from_comparisons(boards: list[Board]) -> None:
    cash, first = (view_of(entry.full_run) for entry in (boards[1].entries[-1], boards[1].entries[0]))
    assert verdict_text.estimate(cash) == (None, None)
    assert verdict_text.separable(first, cash) is None
    assert not verdict_text.distinct_from_zero(cash)
    rows = [BoardRow(view.name, view.metrics, view.reasons, caveats=view.caveats) for view in (first, cash)]
    assert verdict_text.tied_with_first(rows) == [True, False]
    for sentence in (verdict_text.sharpe_verdict(cash), verdict_text.delay_sentence(cash)):
        assert cash.caveats["sharpe"] in sentence
    assert verdict_text.versus(cash, first).startswith("Its Sharpe ratio cannot be compared with that of ")
    # A caveat of another metric is not the reason: here the standard error is missing.
    unknown = replace(
        first, metrics={**first.metrics, "sharpe_se": None}, caveats={"cagr": "13% of the bars are missing"}
    )
    assert verdict_text.versus(unknown, first).startswith("Without both standard errors, ")


def test_the_ranking_shows_the_numbers_of_the_runs(page: str, boards: list[Board]) -> None:
    for section, board in zip(sections(page), boards, strict=True):
        rows = table(section, "ranking stack")
        assert [row[1] for row in rows] == [entry.agent for entry in board.entries]
        for place, (row, entry) in enumerate(zip(rows, board.entries, strict=True), 1):
            run = oo.run_backtest(board.dataset, entry.agent, limits=oo.Limits(allow_short=False))
            sharpe, error = run.metrics["sharpe"], run.metrics["sharpe_se"]
            text = "\u2014" if sharpe is None else f"{sharpe:.2f} \u00b1 {error:.2f}".replace("-", MINUS)
            # The ratio follows the name: the rank depends on it, and a narrow screen shows no more.
            assert row[2] == text.replace(f"{MINUS}0.00", "0.00")
            assert row[0].rstrip("=") == ("\u2014" if entry.unranked else str(place))
            assert row[4].replace(MINUS, "-") in {f"{run.nav[-1] - 1.0:+.1%}", "0.0%"}


def test_an_agent_has_one_colour_on_all_boards_of_a_page(page: str) -> None:
    legends = [re.findall(r'<li class="(c[\w-]+)" data-for="([^"]+)">', part) for part in sections(page)]
    colours = [
        {name: colour for colour, name in legend if colour[1:].isdigit() and name in oo.agents.NAMES}
        for legend in legends
    ]
    assert colours[0] == colours[1]
    assert len(set(colours[0].values())) == len(colours[0]) == len(oo.agents.NAMES) - 1


def test_a_page_shows_the_conditions_of_each_dataset(page: str, boards: list[Board]) -> None:
    provenance = page[page.index("Provenance") :]
    for board in boards:
        assert board.dataset.fingerprint in provenance
        for run in board.entries[0].windows:
            assert f"bars {run.window.start}:{run.window.end}, {run.dates[0]} .. {run.dates[-1]}" in provenance
    assert provenance.count("allow_short=False") == provenance.count("fee_bps=1.0") == 2
    assert "openoutcry demo --windows 2" in provenance


@pytest.fixture(scope="module")
def eventful() -> oo.Run:
    return oo.run_backtest(oo.data.load("ecb-fx", "all"), "equal-weight", limits=oo.Limits(allow_short=False))


def test_events_and_fills_are_counted_by_slug(eventful: oo.Run) -> None:
    counts = eventful.event_counts
    assert counts["filled"] == len(eventful.trades["bar"])
    assert {"unfilled", "delisted"} <= set(counts)
    assert sum(counts.values()) - counts["filled"] == len(eventful.events)
    assert oo.run_backtest(TREASURIES, "hold-cash").event_counts == {"filled": 0}


def test_a_report_shows_the_events_of_its_run_by_reason(eventful: oo.Run, tmp_path: Path) -> None:
    page = Path(eventful.report(tmp_path / "run.html")).read_text(encoding="utf-8")
    section = page[page.index("Orders and events") :]
    shown = {(row[0], row[2]): int(row[1].replace(",", "")) for row in table(section, "metrics")}
    expected = {("filled", ""): eventful.event_counts["filled"]}
    for event in eventful.events:
        key = event["slug"], event.get("reason", "")
        expected[key] = expected.get(key, 0) + 1
    assert shown == expected


def test_a_board_shows_the_events_of_every_agent(page: str, boards: list[Board]) -> None:
    for section, board in zip(sections(page), boards, strict=True):
        shown = {row[0]: int(row[1].replace(",", "")) for row in table(section, "events")}
        assert shown == {entry.agent: entry.full_run.event_counts["filled"] for entry in board.entries}


def test_every_event_of_the_contract_has_a_definition() -> None:
    from openoutcry.report.pages.event_counts import EVENTS

    errors = json.loads((Path(__file__).parents[2] / "contract" / "errors.json").read_text(encoding="utf-8"))
    assert set(EVENTS) == {event["slug"] for event in errors["events"]}


def test_every_metric_of_the_scorer_has_a_label_and_is_documented() -> None:
    from openoutcry.report.pages.metric_labels import METRICS

    names = native.summarize(np.array([0.1, -0.1]), periods_per_year=252.0)[0]
    assert set(names) <= set(METRICS)
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(names)
