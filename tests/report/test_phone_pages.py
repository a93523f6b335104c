"""Pages on a phone, 360 pixels wide: important values are in view, and others can be scrolled to.

Skipped without Chromium or Playwright.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import chromium
from report_pages import make_board, make_page, make_score, make_scores
from research_pages import make_compared_page, make_research

from openoutcry.report.views.score_view import ScoreSide
from openoutcry.scoring.verdict import BENCHMARKS

pytestmark = pytest.mark.once

WIDTH = 360


def make_five_sides() -> str:
    """Return a page of scores with every benchmark of the current edition, and with the regression of a market."""
    row = make_score("agent", 1)
    side = {"z": 0.5, "sharpe": -1.25, "sharpe_bar": -0.0297, "standard_error": 0.61, "n_trials": 43_800.0}
    sides = [ScoreSide(name, side | {"skew": float(place)}, {}) for place, name in enumerate(BENCHMARKS)]
    market = {"alpha": -0.0242, "alpha_error": 0.0213, "beta": 0.97, "n_days": 12_679.0}
    return make_scores([replace(row, sides=sides, markets=[("us-treasury-notes", market, {})])])


PAGES = {
    "board": lambda: make_board(6, 260),
    "scores": make_scores,
    "sides": make_five_sides,
    "comparison": lambda: make_compared_page(tuple(f"a long name of agent {i}" for i in range(8))),
    "research": make_research,
    "run": make_page,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module", params=PAGES)
def page(browser: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path: Path = tmp_path_factory.mktemp("phone") / "page.html"
    path.write_text(PAGES[request.param](), encoding="utf-8")
    context = browser.new_context(viewport={"width": WIDTH, "height": 740})
    opened = context.new_page()
    opened.goto(path.as_uri())
    opened.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    yield opened
    context.close()


# A cell is reachable if it is in the viewport, or if its box scrolls to it and no ancestor cuts it off.
UNREACHABLE = """(width) => [...document.querySelectorAll("td, th, dd, .verdict")].filter((cell) => {
    const box = cell.getBoundingClientRect();
    if (!box.width || !box.height || cell.closest(".hidden, thead")) return false;
    const scroller = cell.closest(".scroll");
    if (scroller && scroller.scrollWidth > scroller.clientWidth) {
        const outer = scroller.getBoundingClientRect();
        return getComputedStyle(scroller).overflowX !== "auto" || outer.left < 0 || outer.right > width;
    }
    return box.left < -0.5 || box.right > width + 0.5;
}).map((cell) => cell.outerHTML.slice(0, 160))"""


def test_no_page_scrolls_sideways_and_every_cell_is_reachable(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
    assert page.evaluate(UNREACHABLE, WIDTH) == []


def test_no_table_scrolls_sideways(page: Any) -> None:
    wide = page.evaluate(
        """() => [...document.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth)
            .map((each) => `${each.getAttribute("aria-label")}: ${each.scrollWidth} of ${each.clientWidth}`)"""
    )
    assert wide == []


def test_every_value_of_a_tile_has_its_label(page: Any) -> None:
    """A month, window or gate without its heading in view would be a number of nothing."""
    bare = page.evaluate(
        """() => [...document.querySelectorAll(".tiles tbody td, .stack tbody td")].filter((each) =>
            each.textContent.trim() && !each.matches(".help, .why td, [colspan]") && !each.querySelector("svg")
            && ["none", '""', "normal"].includes(getComputedStyle(each, "::before").content))
            .map((each) => each.outerHTML.slice(0, 160))"""
    )
    assert bare == []


def test_no_label_of_an_interval_overlaps_another(page: Any) -> None:
    overlapping = page.evaluate(
        """() => [...document.querySelectorAll("svg.oo-interval")]
            .filter((svg) => !svg.closest(".hidden, .stack thead")).flatMap((svg) => {
            const boxes = [...svg.querySelectorAll(":scope > text")].map((each) => each.getBoundingClientRect())
                .filter((box) => box.width).sort((one, other) => one.left - other.left);
            return boxes.slice(1).filter((box, place) => box.left < boxes[place].right + 2).map((box) => svg.outerHTML);
        })"""
    )
    assert overlapping == []


def test_a_value_is_not_broken_inside_a_number(page: Any) -> None:
    """A cell that stacks has its value on one line, unless it is a text of several words."""
    broken = page.evaluate(
        """() => [...document.querySelectorAll(".stack td > span:only-child")].filter((each) => {
            const lines = new Set([...each.getClientRects()].map((box) => Math.round(box.top)));
            return each.getClientRects().length && !each.textContent.trim().includes(" ") && (lines.size > 1
                || each.getBoundingClientRect().height > 1.9 * parseFloat(getComputedStyle(each).lineHeight));
        }).map((each) => each.parentElement.outerHTML)"""
    )
    assert broken == []


def test_the_dsr_and_the_romano_wolf_p_value_of_an_agent_are_in_view(browser: Any, tmp_path: Path) -> None:
    opened = _opened(browser, tmp_path, make_scores())
    for label, text in (("DSR", "0.4"), ("Romano-Wolf p-value", "0.3")):
        cells = opened.locator(f'.scores td[data-label="{label}"]').all()
        assert len(cells) == 4
        assert _in_view(cells[0], text)
    opened.close()


def test_the_gates_and_the_months_are_in_view(browser: Any, tmp_path: Path) -> None:
    opened = _opened(browser, tmp_path, make_research())
    cell = opened.locator('[aria-label="Gates by trial"] td[data-label="Perturbation >= 1.2"]').first
    assert _in_view(cell, "7.40")
    opened.close()
    opened = _opened(browser, tmp_path, make_page())
    months = opened.locator('.months td[data-label="Dec"]').all()
    assert months
    assert all(each.bounding_box()["x"] + each.bounding_box()["width"] <= WIDTH for each in months)
    opened.close()


def _opened(browser: Any, folder: Path, html: str) -> Any:
    (folder / "page.html").write_text(html, encoding="utf-8")
    opened = browser.new_page(viewport={"width": WIDTH, "height": 740})
    opened.goto((folder / "page.html").as_uri())
    return opened


def _in_view(cell: Any, text: str) -> bool:
    """Return whether the value of a cell, which must end in `text`, is inside the viewport."""
    box = cell.locator("span").first.bounding_box()
    assert text in cell.inner_text()
    return bool(box["x"] >= 0 and box["x"] + box["width"] <= WIDTH)


def test_the_holdout_and_the_dsr_of_a_candidate_are_in_view_without_scrolling(browser: Any, tmp_path: Path) -> None:
    opened = _opened(browser, tmp_path, make_research())
    for label, text in (("Holdout", "passed, Sharpe ratio 0.8 over 59 bars"), ("DSR", "0.961")):
        cells = opened.locator(f'.listed td[data-label="{label}"]').all()
        assert len(cells) == 2
        assert all(_in_view(cell, text) for cell in cells)
    opened.close()


def test_the_ranking_and_the_sides_fit_a_desktop(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(make_five_sides(), encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.goto(path.as_uri())
    opened.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    wide = "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth).length"
    assert opened.evaluate(wide) == 0
    opened.close()
