"""Test what the envelopes of vendors' JSON state, and what they add to the bars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import openoutcry as oo

DAY = 86_400_000
START = 1_707_091_200_000
FORMS = Path(__file__).parent / "vendor_forms"


def market_chart(*times: int) -> str:
    """Return the answer of CoinGecko for times in milliseconds."""
    pairs = [[time, 100.0 + place] for place, time in enumerate(times)]
    return json.dumps({"prices": pairs, "market_caps": pairs, "total_volumes": pairs}) + "\n"


def test_the_time_of_a_request_is_no_bar() -> None:
    days = [START + DAY * place for place in range(10)]
    whole = oo.Dataset.from_csv(market_chart(*days), symbol="coin")
    assert whole.dates[-1] == "2024-02-14"
    now = days[-1] + 9 * 3_600_000 + 123
    found = oo.Dataset.from_csv(market_chart(*days, now), symbol="coin")
    assert (found, found.periods_per_year) == (whole, 365.0)
    assert f"left out: the last point, {now}, which is the time of the request and no bar" in found.notices
    # A day without a point leaves the grid.
    del days[3]
    found = oo.Dataset.from_csv(market_chart(*days, now), symbol="coin")
    assert (found.n_bars, found.dates[-1]) == (9, "2024-02-14")


@pytest.mark.parametrize("last", [10 * DAY, 12 * DAY])
def test_a_last_point_on_the_grid_is_a_bar(last: int) -> None:
    days = [START + DAY * place for place in range(10)]
    found = oo.Dataset.from_csv(market_chart(*days, START + last), symbol="coin")
    assert found.n_bars == 11
    assert not [notice for notice in found.notices if "last point" in notice]


def test_points_without_a_grid_are_all_bars() -> None:
    times = [START + second * 1000 for second in (0, 7, 300, 610, 905, 1210)]
    assert oo.Dataset.from_csv(market_chart(*times), 252.0, symbol="coin").n_bars == 6
    rows: list[list[Any]] = [[START + DAY * place, 1.0 + place] for place in range(5)] + [[START + 5 * DAY - 5000, 9.0]]
    assert oo.Dataset.from_csv(json.dumps({"prices": rows}) + "\n", 252.0, symbol="coin").n_bars == 6
