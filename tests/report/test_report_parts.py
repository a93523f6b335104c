"""Optional sections of a run page: fan, rolling Sharpe ratio, exposure, waterfall, skill, calibration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from explaining_agent import Outspoken
from hypothesis import given
from hypothesis import strategies as st
from report_pages import HOSTILE, PROVENANCE, Page, make_board, make_page, make_run

import openoutcry as oo
from openoutcry.report.charts import Line, equity_chart
from openoutcry.report.charts.downsampling import seconds
from openoutcry.report.charts.exposure_chart import exposure_chart
from openoutcry.report.charts.null_fan import fan_sentence
from openoutcry.report.charts.rolling_sharpe import rolling_chart, rolling_sentence
from openoutcry.report.charts.scales import HEIGHT, date_scale, value_scale
from openoutcry.report.charts.waterfall import waterfall_bars, waterfall_table
from openoutcry.report.pages.calibration_section import calibration_chart, calibration_section
from openoutcry.report.pages.skill_section import SKILL, skill_section
from openoutcry.report.render import render_run
from openoutcry.report.run_report import benchmark_of, full_view_of, view_of
from openoutcry.report.views.run_view import Provenance, RunView
from openoutcry.report.views.statistics_view import Bin, Calibration, Rolling, Skill
from openoutcry.scoring.null_agents import LEVELS

pytestmark = pytest.mark.once

N = 60
DATES = make_run("a", N, 1).dates
HEADS = {
    "skill": "Is it luck?",
    "rolling": "Sharpe ratio over time",
    "calibration": "Stated confidence",
    "trace": "Bar by bar",
}


def fan(n_bars: int = N) -> dict[float, Any]:
    time = np.linspace(0.0, 1.0, n_bars)
    return {level: 1.0 + (level - 0.5) * time for level in LEVELS}


def heads(page: str) -> list[str]:
    return re.findall(r"<h2[^>]*>([^<]+)</h2>", page)


def real_view(n_bars: int, **agent: Any) -> tuple[RunView, oo.Run]:
    window = (20, 20 + n_bars)
    run = oo.run_backtest(oo.data.load("ecb-fx"), Outspoken(**agent), window, name="outspoken", capture=True)
    return full_view_of(run, 46), run


def test_a_section_appears_if_and_only_if_its_data_are_given() -> None:
    assert not set(heads(make_page())) & set(HEADS.values())
    view, _ = real_view(300)
    assert set(HEADS.values()) <= set(heads(render_run(view, None, [], PROVENANCE)))
    for field, head in HEADS.items():
        without: Any = {field: None}
        assert head not in heads(render_run(replace(view, **without), None, [], PROVENANCE))


def test_a_real_run_of_5000_bars_with_every_decision_is_less_than_a_megabyte() -> None:
    view, run = real_view(5000)
    assert len(run.trades["bar"]) > 30_000
    page = render_run(view, view_of(benchmark_of(run)), ["No carry."], PROVENANCE)
    assert len(page.encode()) < 1_000_000
    assert page == render_run(view, view_of(benchmark_of(run)), ["No carry."], PROVENANCE)
    Page(page)


def test_a_board_shows_the_sections_of_its_runs_without_the_inspector() -> None:
    rolling = Rolling(20, np.linspace(-1.0, 1.0, 400), np.full(400, 0.5))
    page = make_board(2, 400, rolling=rolling, fan=fan(400), skill=Skill({"dsr": 0.5}))
    Page(page)
    assert page.count("Is it luck?</h5>") == page.count("Sharpe ratio over time</h5>") == 2
    assert "Bar by bar" not in page


# Fan


def edges(path: str) -> list[tuple[int, int]]:
    numbers = np.array([int(n) for n in re.findall(r"-?\d+", path)]).reshape(-1, 2)
    return [(int(x), int(y)) for x, y in np.cumsum(numbers, axis=0)]


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [5.0, 5.0], [-5.0]])
@pytest.mark.parametrize("include", [[], [0.0]])
def test_an_axis_of_equal_values_has_a_length(values: list[float], include: list[float]) -> None:
    scale = value_scale([np.array(values)], include=include)
    assert scale.low < scale.high
    assert scale.ticks()


def test_the_fan_is_drawn_at_its_quantiles_behind_the_lines() -> None:
    run = make_run("a", N, 1)
    chart = equity_chart([Line(run.name, run.dates, run.nav)], fan=fan())
    values, dates = value_scale([run.nav, *fan().values()], "auto", [1.0]), date_scale([seconds(DATES)])
    xs = dates.units(seconds(DATES))
    drawn = {name: edges(path) for name, path in re.findall(r'data-name="no skill, (\d+)%" d="([^"]+)"', chart)}
    assert set(drawn) == {"5", "50", "95"}
    for name, points in drawn.items():
        assert points == list(zip(xs, values.units(fan()[int(name) / 100]), strict=True))
    bands = re.findall(r'class="oo-area oo-fan" data-name="" d="([^"]+)z"', chart)
    for band, (low, high) in zip(bands, ((0.05, 0.95), (0.25, 0.75)), strict=True):
        outline = edges(band)
        assert outline[:N] == list(zip(xs, values.units(fan()[high]), strict=True))
        assert outline[N:] == list(zip(xs, values.units(fan()[low]), strict=True))[::-1]
    assert chart.index("oo-fan") < chart.index("c-luck") < chart.index("c-agent")


@pytest.mark.parametrize(
    ("end", "where"),
    [
        (0.2, "below the 5th percentile"),
        (0.8, "between the 25th and the 50th percentile"),
        (1.25, "between the 75th and the 95th percentile"),
        (9.0, "above the 95th percentile"),
    ],
)
def test_the_fan_sentence_states_the_percentile_of_the_final_nav(end: float, where: str) -> None:
    sentence = fan_sentence(fan(), np.linspace(1.0, end, N), "200 random agents")
    assert f"{where} of 200 random agents: their 5th to 95th percentiles are 0.55 to 1.45." in sentence


# Rolling Sharpe


def rolling(sharpe: Any, error: Any = 0.5) -> Rolling:
    values = np.full(N, np.nan)
    values[: len(sharpe)] = sharpe
    return Rolling(20, values, np.where(np.isfinite(values), error, np.nan))


def test_an_undefined_segment_of_the_rolling_sharpe_is_a_gap() -> None:
    values = np.linspace(-1.0, 2.0, N)
    values[:19], values[30:40], values[41] = np.nan, np.nan, np.nan
    chart = rolling_chart(DATES, rolling(values))
    lines = [edges(path) for path in re.findall(r'data-name="Sharpe" d="([^"]+)"', chart)]
    xs = date_scale([seconds(DATES)]).units(seconds(DATES))
    # A segment of one bar is a dot: two points at one position.
    assert [(line[0][0], line[-1][0]) for line in lines] == [(xs[19], xs[29]), (xs[40], xs[40]), (xs[42], xs[59])]
    assert chart.count("oo-band") == 3


def test_a_rolling_sharpe_without_an_error_has_no_band() -> None:
    chart = rolling_chart(DATES, rolling(np.ones(N), np.nan))
    assert "oo-band" not in chart
    assert "no standard error is known" in chart


def test_the_rolling_sharpe_sentence_states_how_often_the_band_excludes_zero() -> None:
    sentence = rolling_sentence(rolling([2.0] * 15 + [0.1] * 40 + [-2.0] * 5))
    assert sentence == "Between \u22122.00 and 2.00. The band is above zero 25% of the time, below it 8%."
    nothing = make_page_with(rolling=Rolling(20, np.full(N, np.nan), np.full(N, np.nan)))
    assert "Undefined throughout: no window of 20 returns has a Sharpe ratio." in nothing


def make_page_with(**given: Any) -> str:
    return render_run(make_run("a", N, 1, **given), None, [], PROVENANCE)


# Exposure


def test_exposure_is_two_lines_or_one_without_shorts() -> None:
    gross, net = np.linspace(0.5, 0.9, N), np.linspace(0.2, -0.2, N)
    chart = exposure_chart(DATES, gross, net)
    assert re.findall(r'data-name="(\w[\w ]*)" d="', chart) == ["gross", "net"]
    assert "at most, on " + DATES[-1] in chart
    assert re.findall(r'data-name="(\w[\w ]*)" d="', exposure_chart(DATES, gross, gross)) == ["gross and net"]
    assert "Exposure:" in make_page_with(gross=gross, net=net)
    assert "Exposure:" not in make_page_with(gross=gross)


# Waterfall

AMOUNTS = st.lists(st.floats(-0.01, 0.01), min_size=5, max_size=5).map(np.array)
KINDS = st.sampled_from(["fee", "slippage", "impact", "financing", "borrow", "<&>"])


@given(
    st.floats(0.0, 5.0),
    st.dictionaries(KINDS, AMOUNTS.map(np.abs)),
    st.dictionaries(st.sampled_from(["interest", "dividends", "settlement"]), AMOUNTS),
)
def test_a_waterfall_goes_from_prices_to_the_net_result(
    end: float, costs: Mapping[str, Any], gains: Mapping[str, Any]
) -> None:
    bars = waterfall_bars(np.array([1.0, end]), costs, gains)
    level = 0.0
    for bar in bars:
        assert bar.start == pytest.approx(0.0 if bar.total else level, abs=1e-12)
        level = bar.end
    assert [bar.label for bar in bars if bar.total] == ["gross", "net"]
    assert bars[-1].end == end - 1.0
    assert {bar.label: -bar.amount for bar in bars if bar.label in costs} == pytest.approx(
        {bar.label: float(costs[bar.label].sum()) for bar in bars if bar.label in costs}, abs=1e-12
    )
    shown = {kind for kind, amounts in costs.items() if amounts.sum() != 0.0}
    assert shown <= {bar.label for bar in bars}
    Page(waterfall_table(bars))


def test_the_price_bar_of_a_waterfall_is_the_price_gain_of_a_real_run() -> None:
    costs = oo.CostModel(fee_bps=2.0, slippage_bps=3.0, financing_bps=200.0, cash_bps=100.0)
    run = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (20, 500), costs=costs)
    view = view_of(run)
    bars = {bar.label: bar.amount for bar in waterfall_bars(view.nav, view.costs, view.gains)}
    held = run.weights * run.nav[:, None]
    closes = run.dataset.close[20:500]
    shares = held / closes
    # Gain from close to close, with the shares held at this close.
    assert bars["prices"] == pytest.approx(float((shares[1:] * np.diff(closes, axis=0)).sum()), abs=1e-9)


# Skill

VALUES: dict[str, float | None] = {
    "dsr": 0.9004,
    "psr": 0.99996,
    "n_trials": 100.0,
    "n_eff": 12.4,
    "sr0": 0.1131720019,
    "sigma_sr": 0.0447,
    "sharpe_bar": 0.1581,
    "n_returns": 1250.0,
    "skew": -3.0,
    "kurtosis": 10.0,
    "min_trl": 1688.2,
    "min_btl": None,
    "their_own": 2.0,
}


def skill(**changes: Any) -> str:
    values = {**VALUES, **changes}
    return skill_section(
        Skill(values, {"min_btl": "N is 1", "dsr": "the variance is not positive"}, "Power & so on."), "run"
    )


def test_every_skill_statistic_is_shown_with_its_definition() -> None:
    section = skill()
    Page(section)
    for name in VALUES:
        if name in SKILL:
            assert SKILL[name].label in section
            assert SKILL[name].help in section
    cells = dict(re.findall(r'<th scope="row">([^<]+)(?:<svg.*?</svg></svg>|<svg.*?</svg>)?</th><td>([^<]+)', section))
    assert cells["Deflated Sharpe ratio (DSR)"] == "0.900"
    # A probability is not rounded to a certainty.
    assert cells["Probabilistic Sharpe ratio (PSR)"] == "above 0.999"
    assert (cells["SR0 per bar"], cells["N, trials counted"], cells["N, effective"]) == ("0.1132", "100", "12.4")
    assert cells["their_own"] == "2.00"
    assert "The deflated Sharpe ratio after 100 trials is below 0.95: 0.900." in section
    assert "The track record is too short: 1,250 of 1,689 returns needed." in section
    assert "Power &amp; so on." in section


def test_an_undefined_skill_statistic_is_a_dash_with_its_reason() -> None:
    section = skill(dsr=None)
    assert "The deflated Sharpe ratio is undefined: the variance is not positive." in section
    assert re.search(r'<li id="run-skill-\d">the variance is not positive</li>', section)
    assert re.search(r'<li id="run-skill-\d">N is 1</li>', section)
    assert "oo-gauge" in section
    assert section.count("oo-gauge") == skill().count("oo-gauge") - 1


def test_the_skill_threshold_is_inclusive() -> None:
    assert "after 1 trial reaches 0.95: 0.950." in skill(dsr=0.95, n_trials=1.0)
    assert "The track record is long enough" in skill(min_trl=1250.0)


# Calibration

BINS = [Bin(0.0, 0.5, None, None, 0), Bin(0.5, 0.75, 0.6, 0.55, 30, (0.38, 0.71)), Bin(0.75, 1.0, 0.8, 0.4, 10)]


def test_a_calibration_bin_is_drawn_at_its_confidence_and_hit_rate() -> None:
    section = calibration_section(Calibration(BINS, 0.2611, 40, 50, 0.2499))
    Page(f"<main>{section}</main>")
    dots = re.findall(r'<circle class="oo-point" cx="([\d.]+)%" cy="([\d.]+)%" r="([\d.]+)"', section)
    assert [(x, y) for x, y, _ in dots] == [("60", "45"), ("80", "60")]
    # The area of a dot is its count.
    assert float(dots[1][2]) / float(dots[0][2]) == pytest.approx((10 / 30) ** 0.5, abs=0.01)
    assert section.count("oo-whisker") == 1
    assert "40 of 50 orders stated a confidence. Their Brier score is 0.261" in section
    rows = re.findall(r"<tr><th[^>]*>([\d. to]+)</th><td>(\d+)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>", section)
    assert rows == [
        ("0.00 to 0.50", "0", "\u2014", "\u2014", "\u2014"),
        ("0.50 to 0.75", "30", "0.60", "55.0%", "38 to 71%"),
        ("0.75 to 1.00", "10", "0.80", "40.0%", "\u2014"),
    ]
    assert "came true 0.55 (30)" in calibration_chart(Calibration(BINS, 0.2611, 40, 50))


def test_a_run_without_stated_confidence_has_a_sentence_instead() -> None:
    assert calibration_section(Calibration([], None, 0, 3)) == (
        "<p>None of the 3 orders with an outcome stated a confidence.</p>"
    )
    assert "No order was given" in calibration_section(Calibration([], None, 0, 0))
    view, _ = real_view(300, stated=False)
    assert "with an outcome stated a confidence" in render_run(view, None, [], PROVENANCE)


# Invalid views and untrusted text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fan": {1.0: np.ones(N)}}, "a quantile of `fan` must lie between 0 and 1; received 1.0"),
        ({"fan": {0.5: np.ones(N - 1)}}, "`fan[0.5]` must have shape (60,); received (59,)"),
        ({"gains": {"interest": np.ones(N)}}, "`gains['interest']` must have shape (59,); received (60,)"),
        ({"net": np.full(N, np.nan)}, "`net` must be finite; received nan at (0,)"),
        (
            {"rolling": Rolling(5, np.full(N, np.inf), np.ones(N))},
            "`rolling.sharpe` must be finite; received inf at (0,)",
        ),
    ],
)
def test_an_inconsistent_run_view_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make_run("a", N, 1, **given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bin(0.0, 0.5, 1.5, 0.5, 3), "`stated` must lie in 0 to 1; received 1.5"),
        (
            lambda: Bin(0.0, 0.5, None, None, 3),
            "`stated` and `came_true` are required if and only if the bin has orders",
        ),
        (lambda: Calibration(BINS, 0.1, 41, 50), "the bins must contain all orders of `n_stated`, 41; received 40"),
        (lambda: Calibration(BINS, 0.1, 40, 39), "`n_stated` must be at most `n_orders`, 39; received 40"),
    ],
)
def test_an_inconsistent_calibration_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_every_text_of_the_statistics_is_escaped() -> None:
    evidence = Skill({HOSTILE: None, "dsr": None}, {HOSTILE: HOSTILE, "dsr": HOSTILE}, HOSTILE)
    costs = {HOSTILE: np.full(N - 1, 1e-5)}
    run = make_run("a", N, 1, skill=evidence, fan=fan(), fan_label=HOSTILE, gains=costs, costs=costs)
    page = render_run(run, None, [], Provenance([], {}, HOSTILE, HOSTILE))
    names = [tag for tag, _ in Page(page).tags]
    assert (names.count("script"), names.count("img")) == (1, 0)
    assert page.count("alert(1)") > 8


def test_the_verification_command_is_shown_with_its_digest() -> None:
    page = render_run(make_run("a", N, 1), None, [], Provenance([], {}, "openoutcry replay r.json --data d", "0f" * 32))
    assert "<pre><code>openoutcry replay r.json --data d</code></pre><p>It must print this digest:</p>" in page
    assert f"<pre><code>{'0f' * 32}</code></pre>" in page
    assert '<div class="check">' not in make_page()


def test_chart_coordinates_are_integers_inside_the_chart() -> None:
    chart = rolling_chart(DATES, rolling(np.linspace(-40.0, 40.0, N), 9.0))
    drawn = [y for path in re.findall(r' d="([^"]+?)z?"', chart) for _, y in edges(path)]
    assert min(drawn) >= 0
    assert max(drawn) <= HEIGHT
