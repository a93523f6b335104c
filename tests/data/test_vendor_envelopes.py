"""Test what the envelopes of vendors' JSON state, and what they add to the bars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app

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


def times(minute: int = 0) -> list[str]:
    """Return the minutes of two mornings, before and after the change of clocks in New York, newest first."""
    return [f"{day} 10:{minute + each:02d}:00" for day in ("2024-03-11", "2024-03-08") for each in range(40, -1, -1)]


def twelve_data(*meta: dict[str, str]) -> str:
    """Return a reply of Twelve Data: one symbol, or several by symbol."""
    values = [{"datetime": time, "close": str(100 + place)} for place, time in enumerate(times())]
    replies = {each["symbol"]: {"meta": each, "values": values, "status": "ok"} for each in meta}
    return json.dumps(replies if len(meta) > 1 else next(iter(replies.values()))) + "\n"


def alpha_vantage(zone: str) -> str:
    """Return a reply of TIME_SERIES_INTRADAY."""
    meta = {"1. Information": "Intraday", "2. Symbol": "QXA", "4. Interval": "1min", "6. Time Zone": zone}
    series = {time: {"1. open": str(99.5 + place), "4. close": str(100 + place)} for place, time in enumerate(times())}
    return json.dumps({"Meta Data": meta, "Time Series (1min)": series}) + "\n"


QXA = {"symbol": "QXA", "interval": "1min", "exchange_timezone": "America/New_York"}


@pytest.mark.parametrize("content", [twelve_data(QXA), alpha_vantage("US/Eastern"), alpha_vantage("America/New_York")])
def test_the_zone_of_the_envelope_is_that_of_the_times(content: str, tmp_path: Path) -> None:
    found = oo.Dataset.from_csv(content, 98280)
    assert (found.dates[0], found.dates[-1]) == ("2024-03-08T15:00:00Z", "2024-03-11T14:40:00Z")
    assert oo.Dataset.from_csv(content, 98280, tz="America/New_York") == found
    assert not [notice for notice in found.notices if "zone" in notice or "tz" in notice]
    (tmp_path / "QXA.json").write_text(content)
    words = ["data", "check", str(tmp_path / "QXA.json"), "--periods-per-year", "98280", "--json"]
    shown = json.loads(CliRunner().invoke(app, words).output)
    assert [what for what in shown["read_as"] if what[0] == "zone" and "America/New_York, as the file" in what[1]]


def test_a_stated_zone_wins_over_the_envelope_with_a_notice() -> None:
    found = oo.Dataset.from_csv(twelve_data(QXA), 98280, tz="UTC")
    assert found.dates[0] == "2024-03-08T10:00:00Z"
    assert "`tz` UTC was stated; the file states America/New_York" in found.notices


def test_times_of_several_zones_are_refused() -> None:
    content = twelve_data(QXA, QXA | {"symbol": "QXB", "exchange_timezone": "Europe/London"})
    with pytest.raises(
        oo.OpenOutcryError, match="in one zone are required; received America/New_York and Europe/London"
    ):
        oo.Dataset.from_csv(content, 98280)
    assert oo.Dataset.from_csv(twelve_data(QXA, QXA | {"symbol": "QXB"}), 98280).symbols == ("QXA", "QXB")


def test_a_zone_that_is_no_name_leaves_the_times_without_one() -> None:
    found = oo.Dataset.from_csv(alpha_vantage("Wall Street"), 98280)
    assert found.dates[0] == "2024-03-08T10:00:00"
    assert [notice for notice in found.notices if "the zone 'Wall Street', which is no IANA zone" in notice]


def test_days_of_an_envelope_with_a_zone_are_days() -> None:
    for name in ("alpha_vantage.json", "twelve_data.json"):
        found = oo.Dataset.from_csv(FORMS / name)
        assert found.dates[0] == "2024-02-05"
        assert not [notice for notice in found.notices if "zone" in notice]
