"""Reports in Chromium: accessibility, narrow screens, print, keyboard, and untrusted text.

Skipped without Chromium or Playwright.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import chromium
from builders import count
from explaining_agent import Outspoken
from report_pages import PROVENANCE, make_board, make_page, make_run, make_score, make_scores
from research_pages import make_compared_page, make_research

import openoutcry as oo
from openoutcry.report.render import render_run
from openoutcry.report.run_report import AnalysisInputs, benchmark_of, full_view_of, view_of
from openoutcry.report.views.run_view import Provenance, RunView
from openoutcry.report.views.score_view import FieldTest, ScoreGate, ScoreSide, ScoreWindow
from openoutcry.report.views.trace_view import Event, Fill, Order, Step, Trace

pytestmark = pytest.mark.once

AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Markup, script ends, JavaScript line separators, a bidirectional override, a lone surrogate.
HOSTILE = (
    "</script><script>hacked=1</script><img src=x onerror=hacked=1>\u2028\u2029\u202eevil\u0000\ud800'\"`${hacked=1}"
)
DESKTOP, PHONE = 1180, 360


def hostile_run() -> RunView:
    step = Step(
        [Order(HOSTILE, HOSTILE, 0.5, 0.9, HOSTILE)],
        HOSTILE,
        HOSTILE,
        [Fill("USD", 1.0, 2.0)],
        [Event(HOSTILE, "USD", HOSTILE)],
    )
    n_bars = 60
    trace = Trace(np.ones(n_bars), np.zeros((n_bars, 9)), np.ones((n_bars, 9)), [step] * (n_bars - 1))
    return make_run(HOSTILE, n_bars, 1, trace=trace, reasons={"sortino": HOSTILE})


def hostile_scores() -> str:
    side = ScoreSide(HOSTILE, {"sharpe": None, HOSTILE: 1.0}, {"sharpe": HOSTILE})
    gate = ScoreGate(HOSTILE, None, None, 0.5, HOSTILE, HOSTILE)
    window = ScoreWindow(HOSTILE, "", "", 3, 1, 0, {HOSTILE: None}, {"return": None}, {HOSTILE: HOSTILE})
    fields: dict[str, Any] = {"because": [HOSTILE], "sides": [side], "gates": [gate], "windows": [window]}
    fields |= {"faults": {HOSTILE: 1}, "events": {HOSTILE: {"": 1}}, "copy_of": HOSTILE, "diagnostics": {HOSTILE: None}}
    fields |= {"markets": [(HOSTILE, {}, {})], "metrics": {HOSTILE: 1.0}, "verdict": HOSTILE}
    rows = [make_score(f"{HOSTILE} {i}", i or None, 4, **fields) for i in (1, 2, 0)]
    tests = [FieldTest(HOSTILE, {}, HOSTILE)]
    return make_scores(
        rows, title=HOSTILE, protocol=HOSTILE, sentence=HOSTILE, power=HOSTILE, tests=tests, overfit_reason=HOSTILE
    )


@cache
def real_run() -> tuple[RunView, RunView]:
    limits = oo.Limits(max_weight=0.1, allow_short=False)
    data = oo.data.load("ecb-fx")
    run = oo.run_backtest(data, Outspoken(every=5), (100, 700), limits=limits, name="outspoken", capture=True)
    rng = np.random.default_rng(1)
    factors = {"value": rng.normal(0.0, 0.004, 599), "a long name of a factor": rng.normal(0.0, 0.004, 599)}
    groups = {symbol: "dollars" if symbol[1:] in {"UD", "AD", "ZD", "SD"} else "others" for symbol in data.symbols}
    inputs = AnalysisInputs(factors=factors, groups=groups)
    return full_view_of(run, 46, inputs), view_of(benchmark_of(run))


def full_page() -> str:
    view, held = real_run()
    return render_run(
        view, held, ["No carry."], Provenance([("agent", "outspoken")], {}, "openoutcry replay r.json", "0f" * 32)
    )


PAGES: dict[str, Callable[[], str]] = {
    "run with everything": full_page,
    "plain run": make_page,
    "run over decades": lambda: make_page(nav=np.exp(np.linspace(0.0, 3.0, 700))),
    "hostile run": lambda: render_run(hostile_run(), None, [], PROVENANCE),
    "board": lambda: make_board(2, 260),
    "scores": make_scores,
    "hostile scores": hostile_scores,
    "comparison": make_compared_page,
    "hostile comparison": lambda: make_compared_page((HOSTILE, "b" * 200, f"{HOSTILE} 2")),
    "research": make_research,
    "hostile research": lambda: make_research(HOSTILE),
}
# `make test` visits every page once, and a run and a board in light and dark, wide and narrow.
LOOKED_AT = [
    ("run with everything", DESKTOP, "light"),
    ("run with everything", PHONE, "dark"),
    ("run with everything", DESKTOP, "dark"),
    ("board", DESKTOP, "dark"),
    ("board", PHONE, "light"),
    ("hostile run", PHONE, "dark"),
    ("scores", DESKTOP, "light"),
    ("scores", PHONE, "dark"),
    ("comparison", DESKTOP, "light"),
    ("comparison", PHONE, "dark"),
    ("research", DESKTOP, "dark"),
    ("research", PHONE, "light"),
]
if count(1, 0):
    LOOKED_AT = [(name, width, scheme) for name in PAGES for width in (DESKTOP, PHONE) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name, make in PAGES.items():
        path = folder / f"{name.replace(' ', '-')}.html"
        path.write_text(make(), encoding="utf-8")
        found[name] = path.as_uri()
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any, paths: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Open a page by name; console errors and requests fail the test."""
    contexts, faults = [], []

    def opened(name: str, width: int = DESKTOP, **options: Any) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("request", lambda request: faults.append(request.url) if request.url != paths[name] else None)
        page.goto(paths[name])
        if options.get("java_script_enabled", True) and page.query_selector(".inspector"):
            page.wait_for_selector(".inspector .panel table")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def violations(page: Any) -> dict[str, list[str]]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("(tags) => axe.run({ runOnly: tags, resultTypes: ['violations'] })", TAGS)
    assert len(found["passes"]) > 10
    return {each["id"]: [node["html"][:120] for node in each["nodes"]] for each in found["violations"]}


@pytest.mark.parametrize(("name", "width", "scheme"), LOOKED_AT)
def test_axe_reports_no_violation(visit: Callable[..., Any], name: str, width: int, scheme: str) -> None:
    page = visit(name, width, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert violations(page) == {}


def test_axe_reports_a_planted_violation(visit: Callable[..., Any]) -> None:
    page = visit("plain run")
    page.evaluate("document.querySelector('.verdict').style.color = 'silver'")
    page.evaluate("document.querySelector('svg[data-axis]').removeAttribute('aria-label')")
    assert set(violations(page)) >= {"color-contrast", "svg-img-alt"}


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("name", PAGES)
def test_a_narrow_screen_needs_no_horizontal_scrolling(visit: Callable[..., Any], name: str, scripted: bool) -> None:
    page = visit(name, PHONE, java_script_enabled=scripted)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE


@pytest.mark.parametrize("name", PAGES)
def test_print_cuts_no_chart(visit: Callable[..., Any], name: str) -> None:
    # A4 less the margins of the page, in CSS pixels.
    page = visit(name, 688, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") == 688
    figures = page.evaluate(
        """[...document.querySelectorAll("figure")].filter((f) => f.offsetParent).map((figure) => {
            const box = figure.getBoundingClientRect(), charts = [...figure.querySelectorAll("svg.oo-chart")];
            const edges = charts.map((chart) => chart.getBoundingClientRect().right);
            return [getComputedStyle(figure).breakInside, box.height, Math.max(...edges)];
        })"""
    )
    assert len(figures) >= (2 if "scores" in name else 3)
    assert all(inside == "avoid" and height < 900 and right <= 688 for inside, height, right in figures)
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(22, 25, 29)"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_nothing_moves(visit: Callable[..., Any]) -> None:
    page = visit("run with everything", reduced_motion="reduce")
    page.get_by_role("button", name="Next bar").click()
    assert page.evaluate("document.getAnimations().length") == 0
    still = "[...document.querySelectorAll('*')].every((each) => getComputedStyle(each).transitionDuration === '0s')"
    assert page.evaluate(still)


def test_every_focus_stop_is_visible(visit: Callable[..., Any]) -> None:
    page = visit("run with everything")
    n_stops = page.evaluate(
        "document.querySelectorAll('a[href], button, input:not([type=radio]:not(:checked)), [tabindex=\"0\"]').length"
    )
    script = """() => {
        const here = document.activeElement, style = getComputedStyle(here), label = here.nextElementSibling;
        const shown = here.matches(".switch > input") ? getComputedStyle(label) : style;
        return [here === document.body, shown.outlineStyle, here.className?.baseVal ?? here.className, here.tagName];
    }"""
    stops = []
    for _ in range(n_stops + 40):
        page.keyboard.press("Tab")
        is_over, outline, classes, tag = page.evaluate(script)
        if is_over:
            break
        stops.append((tag, classes))
        assert outline == "solid", stops[-1]
    assert ("DIV", "panel") in stops
    assert sum(tag == "svg" for tag, _ in stops) >= 7


def status(page: Any) -> str:
    return str(page.locator(".status").inner_text())


def test_the_inspector_navigates_to_bars_dates_and_events(visit: Callable[..., Any]) -> None:
    view, _ = real_run()
    trace, dates = view.trace, view.dates
    assert trace
    notable = [t for t, step in enumerate(trace.steps) if step.events]
    page = visit("run with everything")
    assert status(page).startswith(f"{dates[notable[0]]}, bar {notable[0] + 1} of 600")
    page.get_by_role("button", name="Next event").click()
    assert status(page).startswith(f"{dates[notable[1]]}, ")
    page.get_by_role("button", name="Previous bar").click()
    assert status(page).startswith(f"{dates[notable[1] - 1]}, ")
    page.get_by_label("Date", exact=True).fill(dates[300])
    page.get_by_role("button", name="Go").click()
    assert status(page).startswith(f"{dates[300]}, bar 301 of 600")
    page.locator(".panel").focus()
    for key, bar in (
        ("ArrowRight", 301),
        ("PageDown", 321),
        ("ArrowLeft", 320),
        ("End", 599),
        ("ArrowRight", 599),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        assert status(page).startswith(f"{dates[bar]}, bar {bar + 1} of 600"), key
    assert page.get_by_role("button", name="Previous bar").get_attribute("aria-disabled") == "true"
    page.get_by_role("slider").fill("450")
    assert status(page).startswith(f"{dates[450]}, ")


def cells(page: Any, caption: str) -> list[list[str]]:
    rows = page.locator(f"table:has(caption:has-text('{caption}')) tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]


def shows(text: str, value: float) -> bool:
    """Return whether a text is `value`, rounded to its digits."""
    shown = text.replace("\u2212", "-").replace(",", "").rstrip("%")
    return abs(float(shown) - value) <= 0.5001 * 10.0 ** -len(shown.partition(".")[2])


@pytest.mark.parametrize("bar", [0, 5, 6, 123, 598])
def test_the_inspector_shows_observation_decision_and_fills(visit: Callable[..., Any], bar: int) -> None:
    view, _ = real_run()
    trace = view.trace
    assert trace
    page = visit("run with everything")
    page.get_by_label("Date", exact=True).fill(view.dates[bar])
    page.get_by_role("button", name="Go").click()
    nav, cash = re.fullmatch(r"NAV (\S+), cash (\S+)", page.locator(".account").inner_text()).groups()  # type: ignore[union-attr]
    assert shows(nav, float(view.nav[bar]))
    assert shows(cash, float(trace.cash[bar]))
    for i, (symbol, close, shares, _) in enumerate(cells(page, "Observed at the close")):
        assert symbol == view.symbols[i]
        assert shows(close, float(trace.closes[bar, i]))
        assert shows(shares, float(trace.shares[bar, i]))
    step = trace.steps[bar]
    orders = cells(page, "Decided")
    assert [row[0] for row in orders] == [order.symbol for order in step.orders]
    assert [row[4] for row in orders] == [order.rationale for order in step.orders]
    assert all(shows(row[2], 100.0 * order.weight) for row, order in zip(orders, step.orders, strict=True))
    fills = cells(page, "Filled on")
    assert [row[0] for row in fills] == [fill.symbol for fill in step.fills]
    for (_, shares, price), fill in zip(fills, step.fills, strict=True):
        assert shows(shares, fill.shares)
        assert shows(price, fill.price)
    assert page.locator(".happened li").count() == len(step.events)


def test_a_chart_links_to_its_bar(visit: Callable[..., Any]) -> None:
    page = visit("run with everything")
    page.locator("svg.oo-chart[data-axis]").first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    # The cursor starts in the middle and moves by 1 % of the width.
    bar = int(re.search(r"bar (\d+) of 600", status(page))[1])  # type: ignore[index]
    assert abs(bar - 0.52 * 600) < 6
    assert page.evaluate("document.activeElement.className") == "panel"


def test_agent_text_stays_text(visit: Callable[..., Any]) -> None:
    page = visit("hostile run")
    for _ in range(3):
        page.get_by_role("button", name="Next bar").click()
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("img").count() == 0
    shown = page.locator(".panel").inner_text()
    assert shown.count("</script><script>hacked=1</script><img src=x onerror=hacked=1>") == 7
    assert "\u202e" not in page.content()
    assert page.locator(".panel .words").first.get_attribute("dir") == "auto"


def test_agent_names_stay_text(visit: Callable[..., Any]) -> None:
    page = visit("hostile scores")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("img").count() == 0
    assert page.locator("main").inner_text().count("<img src=x onerror=hacked=1>") > 40


def test_without_a_script_some_bars_are_listed(visit: Callable[..., Any]) -> None:
    page = visit("run with everything", java_script_enabled=False)
    folds = page.locator(".plain details")
    assert 1 < folds.count() <= 30
    folds.first.locator("summary").click()
    assert folds.first.locator("table").first.is_visible()
    page = visit("hostile run", java_script_enabled=False)
    assert page.locator("img").count() == 0


def test_a_browser_without_decompression_shows_an_error(
    visit: Callable[..., Any], browser: Any, paths: dict[str, str]
) -> None:
    context = browser.new_context()
    context.add_init_script("delete window.DecompressionStream")
    page = context.new_page()
    page.goto(paths["run with everything"])
    page.wait_for_selector(".inspector > .fault")
    assert "could not display the bars" in page.locator(".inspector > .fault").inner_text()
    assert page.locator(".plain details").count() > 1
    context.close()
