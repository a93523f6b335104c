"""Test questions about dates: years of two digits, months without a year, and zones such as EST."""

from __future__ import annotations

import re

import pandas as pd
import polars as pl
import pytest

import openoutcry as oo


def read(dates: list[str], **options: str) -> oo.Dataset:
    """Return a market of one symbol."""
    rows = [f"{date},{10 + row}" for row, date in enumerate(dates)]
    return oo.Dataset.from_csv("\n".join(["Date,Close", *rows]), symbol="A", periods_per_year=252, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dates", "hint"),
    [
        (["02/01/24", "03/01/24"], 'date_format="%d/%m/%y" or date_format="%m/%d/%y" or date_format="%y/%m/%d"'),
        (["01/12/24", "01/13/24"], 'date_format="%m/%d/%y", `--date-format %m/%d/%y`'),
        (["12.01.24", "31.01.24"], 'date_format="%d.%m.%y" or date_format="%y.%m.%d"'),
        (["12-Jan-24", "13-Jan-24"], 'date_format="%d-%b-%y", `--date-format %d-%b-%y`'),
        (["01/31/24 09:30", "01/31/24 10:30"], '`--date-format "%m/%d/%y %H:%M"`'),
        (["01/31/24 09:30:00 AM", "01/31/24 10:30:00 PM"], '`--date-format "%m/%d/%y %I:%M:%S %p"`'),
        (["Jan-20", "Feb-20"], 'date_format="%b-%y" for months, `--date-format %b-%y`, or write days with their year'),
        (["20-Jan", "21-Jan"], 'date_format="%y-%b" for months'),
        (["January 20", "February 20"], 'date_format="%B %y" for months, `--date-format "%B %y"`'),
    ],
)
def test_a_date_that_does_not_show_its_year_is_asked_for(dates: list[str], hint: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=re.escape(hint)) as refused:
        read(dates)
    # Each question has an answer.
    stated = re.search(r'date_format="([^"]+)"', str(refused.value))
    assert stated is not None
    assert read(dates, date_format=stated[1]).n_bars == 2


@pytest.mark.parametrize("date_format", ["%b-%d", "%d/%m", "%H:%M"])
def test_a_format_without_a_year_is_refused(date_format: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="`date_format` must state the year"):
        read(["Jan-20", "Jan-21"], date_format=date_format)


SUMMER = [f"2024-07-01 {hour}:30 EST" for hour in ("09", "10", "11")]


def test_est_in_summer_is_asked_for() -> None:
    with pytest.raises(oo.OpenOutcryError, match='tz="America/New_York" for the time in New York or tz="Etc/GMT\\+5"'):
        read(SUMMER)
    assert read(SUMMER, tz="America/New_York").dates[0] == "2024-07-01T13:30:00Z"
    assert read(SUMMER, tz="Etc/GMT+5").dates[0] == "2024-07-01T14:30:00Z"
    with pytest.raises(oo.OpenOutcryError, match=r"'2024-01-02 09:30 EDT', in winter"):
        read(["2024-01-02 09:30 EDT", "2024-01-02 10:30 EDT"])


def test_est_and_edt_in_their_seasons_need_no_zone() -> None:
    assert read(["2024-01-02 09:30 EST", "2024-01-02 10:30 EST"]).dates[0] == "2024-01-02T14:30:00Z"
    assert read(["2024-01-02 09:30 EST", "2024-07-01 09:30 EDT"]).dates[1] == "2024-07-01T13:30:00Z"
    assert read(["2024-07-01 00:00 EST", "2024-07-02 00:00 EST"]).dates[0] == "2024-07-01"


def test_the_zone_est_without_summer_time_has_a_notice() -> None:
    times = [text.removesuffix(" EST") for text in SUMMER]
    assert any(
        "EST has no summer time; hint: `tz` America/New_York" in notice for notice in read(times, tz="EST").notices
    )
    winter = [text.replace("-07-", "-01-") for text in times]
    assert not any("summer" in notice for notice in read(winter, tz="EST").notices)


@pytest.mark.parametrize(
    ("name", "zone"), [("PST", "America/Los_Angeles"), ("ET", "America/New_York"), ("JST", "Asia/Tokyo")]
)
def test_abbreviations_of_zones_have_a_hint(name: str, zone: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=f'received {name!r}; hint: tz="{zone}"'):
        read(["2024-07-01 09:30", "2024-07-01 10:30"], tz=name)


FRAME = pd.DataFrame({"date": pd.bdate_range("2024-01-01", periods=5), "A": [1.0, 2.0, 3.0, 4.0, 5.0]})


@pytest.mark.parametrize(
    "frame", [FRAME, FRAME.set_index("date")["A"], pl.from_pandas(FRAME)], ids=["pandas", "series", "polars"]
)
def test_a_frame_in_place_of_a_market_has_a_hint(frame: object) -> None:
    doors = [
        lambda: oo.OpenOutcryEnv(frame),
        lambda: oo.OpenOutcryEnv(dataset=frame),
        lambda: oo.OpenOutcryVectorEnv(frame),
        lambda: oo.OpenOutcryVectorEnv(2, dataset=frame),
        lambda: oo.run_backtest(frame, "buy-and-hold"),
        lambda: oo.Dataset.from_csv(frame),
    ]
    for door in doors:
        with pytest.raises(oo.OpenOutcryError, match=r"hint: read a frame with `oo.Dataset.from_frame\(frame\)`"):
            door()
