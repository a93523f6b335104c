"""Run and board pages: HTML validity, security policy, accessibility, text, charts and raster frames."""

from __future__ import annotations

import base64
import hashlib
import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from report_pages import HOSTILE, PROVENANCE, SYMBOLS, Page, make_board, make_page, make_row, make_run, make_scores

from openoutcry.report import charts
from openoutcry.report.charts import downsampling, equity_charts, palette, plot_frame
from openoutcry.report.charts.raster import render_frame
from openoutcry.report.charts.scales import HEIGHT, date_scale, value_scale
from openoutcry.report.pages import verdict_text
from openoutcry.report.render import render_board, render_run
from openoutcry.report.views.run_view import BoardRow, BoardSection, BoardWindow, Provenance

pytestmark = pytest.mark.once

PAGES = {
    "run": make_page,
    "run without a benchmark": lambda: render_run(make_run("momentum", 700, 1), None, [], PROVENANCE),
    "run of two bars": lambda: render_run(make_run("momentum", 2, 1), None, [], PROVENANCE),
    "ruined run": lambda: make_page(nav=np.concatenate([[1.0, 5.0], np.zeros(698)]), delayed_nav=None),
    "run in cash": lambda: make_page(nav=np.ones(700), weights=np.zeros((700, 9)), costs={}),
    "run with a wide range": lambda: make_page(nav=np.exp(np.linspace(0.0, 9.0, 700))),
    "board": make_board,
    "scores": make_scores,
}


@pytest.fixture(params=list(PAGES.values()), ids=list(PAGES))
def page(request: pytest.FixtureRequest) -> str:
    return str(request.param())


def test_a_page_is_well_formed_and_its_links_resolve(page: str) -> None:
    read = Page(page)
    ids = read.attributes("id")
    assert len(ids) == len(set(ids))
    assert all(href.startswith("#") and href[1:] in ids for href in read.attributes("href"))


def test_a_page_loads_nothing_and_runs_only_its_own_script(page: str) -> None:
    read = Page(page)
    assert not re.search(r"https?://|//[a-z]|url\(|@import", re.sub(r"\s//.*", "", page))
    assert read.attributes("src") == []
    assert not [name for _, attrs in read.tags for name in attrs if name.startswith("on")]
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(attrs["content"] for _, attrs in read.tags if attrs.get("http-equiv"))
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_a_page_is_accessible_to_screen_readers(page: str) -> None:
    read = Page(page)
    assert ("html", {"lang": "en"}) in read.tags
    names = [tag for tag, _ in read.tags]
    assert all(names.count(tag) == 1 for tag in ("h1", "main", "header", "footer"))
    levels = [int(tag[1]) for tag in names if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert names.count("caption") == names.count("table")
    assert all(attrs.get("scope") in ("row", "col") for tag, attrs in read.tags if tag == "th")
    pictures = re.findall(r'<svg class="oo-chart[^>]*>(<title>[^<]+</title><desc>[^<]+</desc>)?', page)
    assert "" not in pictures
    assert 0 < len(pictures) == read.attributes("role").count("img")


def test_a_page_supports_both_colour_schemes_and_narrow_screens(page: str) -> None:
    assert "@media screen and (prefers-color-scheme:dark){:root{" in page
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "@media print" in page
    assert all(f"--page:{colour}" in page for colour in palette.COLOURS["page"])
    # A colour outside the variables would ignore the scheme.
    assert not re.search(r"#[0-9a-f]{6}\b", page[page.index("<body>") :])


def test_all_untrusted_text_is_escaped() -> None:
    hostile: dict[str, Any] = {"name": HOSTILE, "dataset": HOSTILE, "window": HOSTILE, "symbols": [HOSTILE] * 9}
    hostile |= {"costs": {HOSTILE: np.full(399, 1e-5)}, "metrics": {HOSTILE: 1.0, "sharpe": None}}
    hostile |= {"reasons": {HOSTILE: HOSTILE, "sharpe": HOSTILE}}
    run = make_run("", 400, 1, **hostile)
    row = BoardRow(HOSTILE, run.metrics, run.reasons, [BoardWindow(HOSTILE, run.nav)])
    section = BoardSection(HOSTILE, [row, row], [run, run], run, [HOSTILE], HOSTILE)
    provenance = Provenance([(HOSTILE, HOSTILE)])
    for text in (render_board(HOSTILE, [section], [HOSTILE], provenance), render_run(run, run, [HOSTILE], provenance)):
        names = [tag for tag, _ in Page(text).tags]
        assert (names.count("script"), names.count("img")) == (1, 0)
        assert "alert(1)" in text


def test_control_and_bidirectional_characters_are_replaced() -> None:
    text = render_run(make_run("a\x00b\u202ec\nd", 50, 1), None, [], PROVENANCE)
    assert "a\ufffdb\ufffdc d" in text


def test_an_undefined_metric_is_a_dash_with_its_reason_and_never_a_zero() -> None:
    metrics = {"return": 0.0, "sharpe": None, "vol": math.nan, "turnover": math.inf}
    reasons = {"sharpe": "returns do not vary"}
    text = render_run(make_run("cash", 50, 1, metrics=metrics, reasons=reasons), None, [], PROVENANCE)
    assert '<span class="undefined" title="returns do not vary">\u2014</span>' in text
    assert re.search(r'<li id="run-note-\d+">returns do not vary</li>', text)
    assert "Sharpe undefined: returns do not vary." in text
    for label in ("Volatility", "Annual turnover"):
        cell = re.search(rf'<th scope="row">{label}</th><td>(.*?)</td>', text)
        assert cell
        assert '<span class="undefined" title="undefined for this run">\u2014</span>' in cell[1]
    assert '<th scope="row">Return</th><td><span data-metric="return" data-unit="gain">0.0%</span></td>' in text


def test_the_verdict_reflects_the_standard_error() -> None:
    verdict = verdict_text.sharpe_verdict
    assert verdict(make_row("a", 0.07, 0.19)) == "Sharpe 0.07 \u00b1 0.19: not distinguishable from zero"
    assert verdict(make_row("a", 0.5, 0.2)) == "Sharpe 0.50 \u00b1 0.20: above zero by 2.5 standard errors"
    assert verdict(make_row("a", -0.5, 0.2)).endswith("below zero by 2.5 standard errors")
    assert "luck cannot be ruled out" in verdict(make_row("a", 3.0, None))


def test_a_board_states_which_agents_differ_significantly() -> None:
    close = [make_row("a", 0.21), make_row("b", 0.15), make_row("c", None)]
    assert verdict_text.tied_with_first(close) == [True, True, False]
    assert verdict_text.board_verdict(close).startswith("No agent is significantly different from the first, a.")
    far = [make_row("a", 1.5), make_row("b", 1.4), make_row("c", 0.1)]
    assert verdict_text.tied_with_first(far) == [True, True, False]
    claim = "The first, a, is tied with one other and significantly better than one other."
    assert verdict_text.board_verdict(far) == f"{claim} 2 of 3 Sharpe ratios are significantly above zero."
    apart = verdict_text.board_verdict([make_row("a", 1.5), make_row("b", 0.1)])
    assert apart.startswith("The first, a, is significantly better")


def test_the_delay_is_reported_as_a_change_of_the_sharpe_ratio() -> None:
    sentence = verdict_text.delay_sentence(make_run("momentum", 50, 1))
    assert sentence.endswith("Sharpe ratio of 0.05 instead of 0.07: the delay costs 0.02 (its standard error is 0.19).")


def decode(path: str) -> list[tuple[int, int]]:
    numbers = [int(n) for n in re.findall(r"-?\d+", path)]
    return list(zip(itertools.accumulate(numbers[::2]), itertools.accumulate(numbers[1::2]), strict=True))


@pytest.mark.parametrize("n_bars", [2, 999, 1001, 7126])
def test_downsampling_preserves_the_highest_and_lowest_points_of_a_line(n_bars: int) -> None:
    run = make_run("momentum", n_bars, n_bars)
    chart = equity_charts.equity_chart([equity_charts.Line(run.name, run.dates, run.nav)], points=1000)
    (path,) = re.findall(r'class="oo-line[^>]* d="([^"]+)"', chart)
    drawn = decode(path)
    axis, dates = value_scale([run.nav], "auto", [1.0]), date_scale([downsampling.seconds(run.dates)])
    exact = list(zip(dates.units(downsampling.seconds(run.dates)), axis.units(run.nav), strict=True))
    assert set(drawn) <= set(exact)
    assert (drawn[0], drawn[-1]) == (exact[0], exact[-1])
    assert min(y for _, y in drawn) == min(y for _, y in exact)
    assert max(y for _, y in drawn) == max(y for _, y in exact)
    assert len(drawn) <= 1002
    assert all(0 <= y <= HEIGHT for _, y in drawn)


def test_downsampling_preserves_the_extremes_of_every_bucket() -> None:
    values = np.random.default_rng(3).normal(size=5000)
    kept = set(downsampling.decimate(values, 1000).tolist())
    for start in range(0, 5000, 10):
        bucket = values[start : start + 10]
        assert start + int(bucket.argmin()) in kept
        assert start + int(bucket.argmax()) in kept


def test_the_columns_of_the_weights_chart_are_the_means_of_their_bars() -> None:
    weights = np.random.default_rng(4).normal(size=(1003, 3))
    means, starts = downsampling.bucket_means(weights, 100)
    edges = [*starts.tolist(), 1003]
    expected = [weights[a:b].mean(axis=0) for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(means, expected, rtol=1e-12)


def monthly_by_hand(dates: Sequence[str], nav: Sequence[float]) -> dict[str, float]:
    growth: dict[str, float] = {}
    for (_, before), (date, after) in itertools.pairwise(zip(dates, nav, strict=True)):
        for period in (date[:4], date[:7]):
            growth[period] = growth.get(period, 1.0) * (after / before)
    return {period: value - 1.0 for period, value in growth.items()}


@pytest.mark.parametrize("first", [0, 19, 20, 21])
def test_the_monthly_table_shows_compounded_returns(first: int) -> None:
    run = make_run("momentum", 900, 5)
    dates, nav = run.dates[first:], run.nav[first:]
    expected = monthly_by_hand(dates, nav.tolist())
    months = {f"{y}-{m:02d}": v for (y, m), v in downsampling.month_returns(dates, nav).items()}
    years = {str(y): v for y, v in downsampling.year_returns(dates, nav).items()}
    assert {**months, **years} == pytest.approx(expected, rel=1e-9, abs=1e-12)
    rows = re.findall(r'<tr><th scope="row">(\d+)</th>(.*?)</tr>', charts.monthly_table(dates, nav, "months"))
    shown: dict[str, str] = {}
    for year, cells in rows:
        for month, cell in enumerate(re.findall(r"<td[^>]*>(.*?)</td>", cells)):
            shown[f"{year}-{month:02d}" if month else year] = cell
    texts = {period: f"{value * 100:.1f}".replace("-", "\u2212") for period, value in expected.items()}
    assert {k: cell for k, cell in shown.items() if cell} == {
        k: v.replace("\u22120.0", "0.0") for k, v in texts.items()
    }


def test_the_weights_chart_stacks_longs_and_shorts_separately() -> None:
    weights = np.tile([0.6, -0.4, 0.0], (50, 1))
    chart = charts.weights_chart(make_run("a", 50, 1).dates, ["LONG", "SHORT", "NEVER"], weights)
    assert re.findall(r'data-name="(\w+)" d="', chart) == ["LONG", "SHORT"]
    assert "Gross exposure is 100.0% at most, on 1999-01-04." in chart


def test_the_weights_chart_shows_twelve_symbols_and_combines_the_rest() -> None:
    weights = np.random.default_rng(6).dirichlet(np.ones(41), 300)
    chart = charts.weights_chart(make_run("a", 300, 1).dates, [f"S{i}" for i in range(41)], weights)
    names = re.findall(r'data-name="([^"]+)" d="', chart)
    assert (len(names), names[-1]) == (13, "29 others")


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_and_lines_meet_the_contrast_of_wcag(scheme: int) -> None:
    colour = {name: pair[scheme] for name, pair in palette.COLOURS.items()}
    for text in ("ink", "muted", "link", "agent", "benchmark", "delayed"):
        assert min(palette.contrast(colour[ground], colour[text]) for ground in ("page", "surface")) >= 4.5, text
    for cell in (*palette.GAINS, *palette.LOSSES):
        assert palette.contrast(cell[scheme], colour["ink"]) >= 4.5, cell
    for pair in palette.SERIES:
        assert palette.contrast(colour["page"], pair[scheme]) >= 3.0, pair


# Linear RGB as perceived by a dichromat (Machado, Oliveira and Fernandes 2009, severity 1).
DEFICIENCIES: dict[str, list[list[float]]] = {
    "none": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def seen(colour: str, matrix: list[list[float]]) -> Any:
    rgb = np.array(palette.rgb(colour)) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(np.array(matrix) @ linear, 0.0, 1.0) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_first_eight_colours_are_distinguishable_for_colour_blind_readers(scheme: int, deficiency: str) -> None:
    lab = [seen(pair[scheme], DEFICIENCIES[deficiency]) for pair in palette.SERIES[:8]]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(lab, 2)) > 15.0


def test_a_board_of_seven_agents_over_27_years_is_less_than_a_megabyte() -> None:
    assert len(make_board(n_agents=7, n_bars=7126).encode()) < 1_000_000


def test_the_same_run_gives_the_same_page() -> None:
    assert make_page() == make_page()
    assert make_board() == make_board()


def test_a_standalone_chart_is_a_complete_svg_document() -> None:
    run = make_run("a & b", 300, 1)
    line = equity_charts.Line(run.name, run.dates, run.nav)
    parts = [
        equity_charts.equity_chart([line]),
        equity_charts.drawdown_chart([line]),
        charts.monthly_heatmap(run.dates, run.nav),
    ]
    text = charts.standalone(*parts, title=run.name)
    assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert ("prefers-color-scheme:dark" in text, text.count("http")) == (True, 1)
    Page(text)


def test_a_standalone_chart_has_room_for_the_labels_of_every_frame() -> None:
    run = make_run("a", 300, 1)
    axis = plot_frame.axis_of("x", [0.0, 1.0])
    line = equity_charts.Line(run.name, run.dates, run.nav)
    for framed in (plot_frame.plot("t", "d", axis, axis, ""), equity_charts.equity_chart([line])):
        assert '<svg x="56"' in charts.standalone(framed)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nav": np.ones(49)}, "`nav` must have shape (50,); received (49,)"),
        ({"nav": np.full(50, 2.0)}, "`nav` must start at 1.0; received 2.0"),
        ({"nav": np.linspace(1.0, -1.0, 50)}, "`nav` must not be negative; received -1.0"),
        ({"delayed_nav": np.append(np.ones(49), np.nan)}, "`delayed_nav` must be finite; received nan at (49,)"),
        ({"weights": np.zeros((50, 8))}, "`weights` must have shape (50, 9); received (50, 8)"),
        ({"costs": {"fee": np.zeros(50)}}, "`costs['fee']` must have shape (49,); received (50,)"),
        ({"dates": ["2020-01-02"] * 50}, "`dates` must rise; received 2020-01-02 after 2020-01-02"),
    ],
)
def test_a_view_with_inconsistent_arrays_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make_run("a", 50, 1, **changes)


def test_a_frame_is_deterministic_and_changes_with_its_inputs() -> None:
    nav, weights = make_run("a", 200, 1).nav.tolist(), np.full(9, 1.0 / 9.0)
    first = render_frame(nav, weights, SYMBOLS, "2020-01-02", 0.25)
    assert (first.shape, first.dtype.name) == ((400, 640, 3), "uint8")
    assert np.array_equal(first, render_frame(nav, weights, SYMBOLS, "2020-01-02", 0.25))
    others = [
        render_frame(nav[:-1], weights, SYMBOLS, "2020-01-02", 0.25),
        render_frame([*nav[:-1], nav[-1] * 1.1], weights, SYMBOLS, "2020-01-02", 0.25),
        render_frame(nav, -weights, SYMBOLS, "2020-01-02", 0.25),
        render_frame(nav, weights, SYMBOLS, "2020-01-03", 0.25),
        render_frame(nav, weights, SYMBOLS, "2020-01-02", 0.26),
    ]
    assert not any(np.array_equal(first, other) for other in others)


def test_a_frame_shows_a_peak_and_a_trough_of_a_single_bar() -> None:
    nav = np.ones(7000)
    nav[1200], nav[3500] = 0.5, 2.0
    frame = render_frame(nav.tolist(), np.zeros(1), ["A"], "2020-01-02", 1.0)
    blue = (frame == palette.rgb(palette.COLOURS["agent"][0])).all(axis=2)[66:256, 52:408]
    assert blue.any(axis=1).mean() > 0.8


@pytest.mark.parametrize("n_symbols", [0, 1, 41])
def test_a_frame_accepts_any_number_of_symbols_and_a_single_bar(n_symbols: int) -> None:
    names = [f"{HOSTILE}{i}" for i in range(n_symbols)]
    frame = render_frame([1.0], np.linspace(-3.0, 3.0, n_symbols), names, "2020-01-02", -1e9)
    assert frame.shape == (400, 640, 3)
