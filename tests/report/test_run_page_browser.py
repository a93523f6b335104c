"""The analysis of a run page in Chromium: filters, links, narrow rows, accessibility.

Skipped without Chromium or Playwright.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import chromium
from report_pages import PROVENANCE

import openoutcry as oo
from openoutcry.report.pages import proof_panel
from openoutcry.report.pages.table_parts import csv_text
from openoutcry.report.pages.trades_section import MOST_ROWS
from openoutcry.report.render import render_run
from openoutcry.report.run_analysis import AnalysisInputs, resolved_benchmark
from openoutcry.report.run_report import benchmark_view, full_view_of
from openoutcry.report.views.run_view import RunView

pytestmark = pytest.mark.once

AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"
PHONE = 360


@cache
def run_page() -> tuple[RunView, str]:
    data = oo.data.load("ecb-fx")
    run = oo.run_backtest(data, "momentum", (100, 700))
    factors = {"a long name of a factor": np.random.default_rng(1).normal(0.0, 0.004, 599)}
    groups = {symbol: "dollars" if symbol in {"USD", "AUD", "NZD", "CAD"} else "others" for symbol in data.symbols}
    inputs = AnalysisInputs("USD", factors, groups)
    against = resolved_benchmark(run, inputs.benchmark)
    view = full_view_of(run, 46, inputs, against)
    return view, render_run(view, benchmark_view(run, against), ["No carry."], PROVENANCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open the page; console errors fail the test."""
    path = tmp_path / "run.html"
    path.write_text(run_page()[1], encoding="utf-8")
    contexts, faults = [], []

    def opened(width: int = 1280, **options: Any) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "light"), (1280, "dark")])
def test_axe_reports_no_violation_of_a_page_with_trades(visit: Callable[..., Any], width: int, scheme: str) -> None:
    page = visit(width, color_scheme=scheme)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = page.evaluate("(tags) => axe.run({ runOnly: tags, resultTypes: ['violations'] })", tags)
    assert {each["id"]: [node["html"][:120] for node in each["nodes"]] for each in found["violations"]} == {}


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no script"])
def test_a_page_with_trades_needs_no_horizontal_scrolling(visit: Callable[..., Any], scripted: bool) -> None:
    page = visit(PHONE, java_script_enabled=scripted)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE


def test_no_table_of_a_phone_page_is_cut_or_scrolls_sideways(visit: Callable[..., Any]) -> None:
    page = visit(PHONE)
    wide = """() => [...document.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth)
        .map((each) => each.getAttribute("aria-label"))"""
    assert page.evaluate(wide) == []
    cells = page.locator('[aria-label="Closed trades"] tbody tr:not([hidden]) td').all()
    assert len(cells) == 250
    assert all(each.bounding_box()["x"] + each.bounding_box()["width"] <= PHONE for each in cells[:20])


def test_print_shows_every_column_of_the_trades(visit: Callable[..., Any]) -> None:
    page = visit(688)
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") == 688
    assert page.locator(".filters").is_hidden()


def listed(page: Any) -> list[list[str]]:
    """Return the texts of the trades that are shown."""
    script = """() => [...document.querySelectorAll(".trades tbody tr:not([hidden])")]
        .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    return list(page.evaluate(script))


def test_the_list_of_trades_is_filtered_and_paged(visit: Callable[..., Any]) -> None:
    view = run_page()[0]
    assert view.analysis
    trades = view.analysis.tables["trades"].rows[:MOST_ROWS]
    page = visit()
    assert [row[3] for row in listed(page)] == [trade[3] for trade in trades[:25]]
    summary = page.locator(".filters output")
    assert summary.inner_text().startswith(f"{len(trades)} of {len(trades)} listed trades")
    page.get_by_role("button", name="Next", exact=True).click()
    assert [row[3] for row in listed(page)] == [trade[3] for trade in trades[25:50]]
    page.get_by_label("Symbol").select_option("USD")
    page.get_by_label("Outcome").select_option("winners")
    won = [trade for trade in trades if trade[0] == "USD" and trade[8] > 0.0]  # type: ignore[operator]
    assert [row[:4] for row in listed(page)] == [list(trade[:4]) for trade in won[:25]]
    assert summary.inner_text().startswith(f"{len(won)} of {len(trades)} listed trades, 100.0% won")
    page.get_by_label("Side").select_option("short")
    assert summary.inner_text() == f"0 of {len(trades)} listed trades, P&L 0"
    assert page.get_by_role("button", name="Next", exact=True).get_attribute("aria-disabled") == "true"


def test_without_a_script_all_listed_trades_are_in_the_table(visit: Callable[..., Any]) -> None:
    view = run_page()[0]
    assert view.analysis
    page = visit(java_script_enabled=False)
    assert len(listed(page)) == min(len(view.analysis.tables["trades"].rows), MOST_ROWS)


def test_a_link_saves_its_table(visit: Callable[..., Any]) -> None:
    view = run_page()[0]
    assert view.analysis
    page = visit(accept_downloads=True)
    for name in ("years", "metrics", "benchmark"):
        with page.expect_download() as found:
            page.get_by_role("link", name=f"{name}.csv").click()
        assert found.value.suggested_filename == f"{name}.csv"
        assert Path(found.value.path()).read_text(encoding="utf-8") == csv_text(view.analysis.tables[name])


def test_on_a_narrow_screen_every_number_of_the_analysis_is_inside_the_screen(visit: Callable[..., Any]) -> None:
    page = visit(width=PHONE)
    outside = page.evaluate(
        """() => [...document.querySelectorAll("table.data th, table.data td, .figures dd, .verdict")]
            .filter((cell) => cell.offsetParent && !cell.closest("thead"))
            .map((cell) => [cell.textContent, cell.getBoundingClientRect()])
            .filter(([, box]) => box.left < 0 || box.right > 360).map(([text]) => text)"""
    )
    assert outside == []
    label = "getComputedStyle(document.querySelector('table.stack td:nth-child(2)'), '::before').content"
    assert page.evaluate(label) not in {"none", '""'}
    top = page.evaluate("document.querySelector('.figures').getBoundingClientRect().bottom")
    assert top < page.evaluate("document.querySelector('h2').getBoundingClientRect().top")


def test_a_browser_reads_the_page_as_its_digest_does_and_every_curve_of_nav_is_that_of_the_run(
    visit: Callable[..., Any],
) -> None:
    """A self-verifying page compares both; here without the engine."""
    view, text = run_page()
    script = Path(proof_panel.__file__).with_name("proof_page.js").read_text(encoding="utf-8")
    page = visit(java_script_enabled=False)
    content = page.evaluate(f"() => {{ {script}; window.asWritten = pageAsWritten; return pageAsWritten.content; }}")
    assert hashlib.sha256(content.encode()).hexdigest() == proof_panel.content_digest(text)
    compare = "([dates, nav]) => asWritten.compareCurves({ start: 0, end: nav.length }, dates, nav)"
    page.evaluate(compare, [list(view.dates), view.nav.tolist()])
    assert page.locator('.oo-chart[data-axis$=" nav"]').count() == 2
    with pytest.raises(Exception, match=r"Differs|differs"):
        page.evaluate(compare, [list(view.dates), (1.0 + 1.1 * (view.nav - 1.0)).tolist()])
