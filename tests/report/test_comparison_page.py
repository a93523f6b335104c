"""The page of a comparison: what it shows, and that untrusted text stays text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from report_pages import HOSTILE
from research_pages import make_compared_page, make_comparison

import openoutcry as oo
from openoutcry.report.comparison import compare, comparison_page, verdict_of
from openoutcry.scoring.return_tracks import Track


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]))


def test_the_page_shows_both_differences_of_every_pair_with_interval_and_p_values() -> None:
    comparison = make_comparison()
    text = text_of(comparison_page(comparison))
    assert "momentum / buy-and-hold / hold-cash" in text
    assert text.count("momentum \u2212 buy-and-hold") == 2
    found = comparison.pairs[0].sharpe.interval
    assert found is not None
    shown = [f"{value:.2f}".replace("-", "\u2212") for value in (found.estimate, found.low, found.high)]
    assert f"{shown[0]} {shown[1]} to {shown[2]}" in text
    assert "with seed 0" in text
    assert "Not on a common date: 40 of the 500 returns of momentum." in text
    assert "The market differs" in text


def test_an_undefined_difference_has_its_reason_and_no_number() -> None:
    page = make_compared_page()
    assert "those of hold-cash are constant" in page
    assert "1 of 3 pairs" not in text_of(page)
    assert "2 of 3 pairs cannot be compared." in text_of(page)


def test_the_verdict_claims_a_difference_only_if_it_is_significant() -> None:
    assert verdict_of(make_comparison()) == "No Sharpe ratio is significantly above another."
    comparison = make_comparison(("up", "down"))
    up, down = comparison.tracks
    better = Track("up", up.dates, up.returns + 0.01, None, up.start, up.periods_per_year)
    assert verdict_of(compare([better, down])).startswith("The Sharpe ratio of up is ")


def test_names_of_runs_are_escaped_everywhere() -> None:
    page = make_compared_page((HOSTILE, "\u202eevil", "b"))
    body = page.partition("<body>")[2]
    assert "<script>alert" not in body
    assert "<img" not in body
    assert "\u202e" not in page


def test_python_compares_runs_and_writes_the_page(tmp_path: Path) -> None:
    data = oo.data.load("us-treasury").head(600)
    runs = [oo.run_backtest(data, name) for name in ("momentum", "buy-and-hold")]
    found = compare(runs, tmp_path / "page.html", seed=3)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found.seed == 3
    assert "with seed 3" in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)


def test_eight_runs_of_7000_bars_fit_into_a_megabyte() -> None:
    page = comparison_page(make_comparison(tuple(f"agent {i}" for i in range(8)), 7000))
    assert len(page.encode()) < 1_000_000


@pytest.mark.parametrize("n", [20, 3])
def test_short_runs_have_a_page_without_intervals(n: int) -> None:
    comparison = make_comparison(("a", "b"), n + 40)
    cut = [Track(t.name, t.dates[:n], t.returns[:n], None, t.start, t.periods_per_year) for t in comparison.tracks]
    text = text_of(comparison_page(compare(cut)))
    assert "No difference of Sharpe ratios is defined" in text
    assert "No window has a rolling Sharpe ratio" in text
