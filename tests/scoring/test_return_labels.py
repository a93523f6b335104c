"""Bars per year of labelled returns: a file and a series have the same score, and that of the formula."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app

N = 300
NOISE = np.random.default_rng(4).normal(0.0006, 0.008, (N, 2))
MONTHS = pd.period_range("2000-01", periods=N, freq="M")
SESSIONS = pd.bdate_range("2022-01-03", periods=N) + pd.Timedelta("16h")
# A change of clocks on 13 March and 6 November 2022 in New York, on 27 March and 30 October in Berlin.
CLOSES = SESSIONS.tz_localize("America/New_York")
HALF_HOURS = pd.date_range("2022-10-26", periods=N, freq="30min", tz="Europe/Berlin")
MINUTES = pd.DatetimeIndex(
    [day + pd.Timedelta(minutes=570 + 5 * bar) for day in SESSIONS.normalize()[40:44] for bar in range(75)]
).tz_localize("America/New_York")

# Labels, bars per year, and the date of the first return.
LABELS: dict[str, tuple[Any, float, str]] = {
    "days": (SESSIONS.normalize(), 252.0, "2022-01-03"),
    "every day": (pd.date_range("2022-01-03", periods=N), 365.0, "2022-01-03"),
    "closes with an offset": (CLOSES, 252.0, "2022-01-03T21:00:00Z"),
    "closes without a zone": (SESSIONS, 252.0, "2022-01-03T16:00:00"),
    "half hours with a change of clocks": (HALF_HOURS, 2 * 8760.0, "2022-10-25T22:00:00Z"),
    "weeks": (pd.date_range("2015-01-02", periods=N, freq="W-FRI"), 52.0, "2015-01-02"),
    "months 2000-01": (pd.Index(MONTHS.strftime("%Y-%m")), 12.0, "2000-01-31"),
    "months Jan-2000": (pd.Index(MONTHS.strftime("%b-%Y")), 12.0, "2000-01-31"),
    "months 200001": (pd.Index(MONTHS.strftime("%Y%m").astype(int)), 12.0, "2000-01-31"),
    "month ends": (MONTHS.to_timestamp(how="end").normalize(), 12.0, "2000-01-31"),
    "month starts": (MONTHS.to_timestamp(), 12.0, "2000-01-01"),
    "quarters 1950Q1": (pd.Index([f"{1950 + k // 4}Q{k % 4 + 1}" for k in range(N)]), 4.0, "1950-03-31"),
    "quarters Q1 1950": (pd.Index([f"Q{k % 4 + 1} {1950 + k // 4}" for k in range(N)]), 4.0, "1950-03-31"),
    "days 20220103": (pd.Index(SESSIONS.strftime("%Y%m%d").astype(int)), 252.0, "2022-01-03"),
    "days 03.01.2022": (pd.Index(SESSIONS.strftime("%d.%m.%Y")), 252.0, "2022-01-03"),
}
QUICK = {"draws": {"replicates": 99}}


def printed(path: Path, *words: str) -> Any:
    done = CliRunner().invoke(app, ["score", str(path), "--benchmark", "SPY", "--windows", "1", "--json", *words])
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("is_long", [False, True], ids=["wide", "long"])
def test_a_file_and_a_series_have_the_score_of_the_formula(tmp_path: Path, kind: str, is_long: bool) -> None:
    labels, periods, first = LABELS[kind]
    frame = pd.DataFrame(NOISE, index=labels, columns=["me", "SPY"])
    written = frame.rename_axis("date").reset_index()
    written = written.melt("date", var_name="agent", value_name="return") if is_long else written
    written.sample(frac=1.0, random_state=1).to_csv(tmp_path / "returns.csv", index=False)
    own = oo.score({"me": frame["me"]}, benchmark=frame["SPY"], windows=[N])
    score = own["me"]
    assert printed(tmp_path / "returns.csv")["board"] == json.loads(own.text)
    assert (score.periods_per_year, score.windows[0]["first"]) == (periods, first)
    returns = NOISE[:, 0]
    for name, formula in (
        ("sharpe", returns.mean() / returns.std(ddof=1) * periods**0.5),
        ("vol", returns.std(ddof=1) * periods**0.5),
        (
            "cagr",
            np.prod(1.0 + returns) ** (periods / N) - 1.0 if kind != "half hours with a change of clocks" else None,
        ),
    ):
        assert score.metrics[name] == (None if formula is None else pytest.approx(formula, rel=1e-9)), name


def test_bars_of_a_session_are_counted_across_a_change_of_clocks(tmp_path: Path) -> None:
    frame = pd.DataFrame(NOISE / 10, index=MINUTES, columns=["me", "SPY"]).rename_axis("date")
    frame.to_csv(tmp_path / "returns.csv")
    own = oo.score({"me": frame["me"]}, benchmark=frame["SPY"], windows=[N])
    assert printed(tmp_path / "returns.csv")["board"] == json.loads(own.text)
    assert own["me"].periods_per_year == 252 * 75


@pytest.mark.parametrize("labels", [np.arange(N) + 7, np.arange(N) + 200001], ids=["rows", "rows like months"])
def test_row_numbers_are_no_dates(labels: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="received returns without dates"):
        oo.score({"me": pd.Series(NOISE[:, 0], labels)})


def test_numbers_that_are_months_or_days_are_refused_if_that_is_not_clear() -> None:
    months = pd.Index([int(f"{2005 + k // 12}{k % 12 + 1:02}") for k in range(84)])
    with pytest.raises(oo.OpenOutcryError, match="whether six digits are months or days; received '200501'; hint"):
        oo.score({"me": pd.Series(NOISE[:84, 0], months)})


def hinted(frame: Any) -> str:
    with pytest.raises(oo.OpenOutcryError, match="received a data frame; hint: pass a mapping") as refused:
        oo.score(frame)
    return str(refused.value).partition("pass a mapping, ")[2]


def test_the_hint_for_a_frame_scores_it() -> None:
    days = SESSIONS.normalize()
    wide = pd.DataFrame(NOISE, index=days, columns=["me", "SPY"])
    expected = oo.score({name: wide[name] for name in wide}, config=QUICK).text
    dated = wide.rename_axis("date").reset_index()
    (mapping,) = re.findall("`(.*?)`", hinted(wide))
    assert oo.score(eval(mapping, {"frame": wide}), config=QUICK).text == expected
    index, mapping = re.findall("`(.*?)`", hinted(dated))
    frame = eval(index.removeprefix("frame = "), {"frame": dated})
    assert oo.score(eval(mapping, {"frame": frame}), config=QUICK).text == expected
    long = dated.melt("date", var_name="agent", value_name="return")
    (pivot,) = re.findall("`(.*?)`", hinted(long))
    frame = eval(pivot, {"frame": long})
    assert oo.score({name: frame[name] for name in ("me", "SPY")}, config=QUICK).text == expected
    (pivot,) = re.findall("`(.*?)`", hinted(long.set_index("date")))
    assert eval(pivot, {"frame": long.set_index("date")}).equals(frame)
    polars = pl.from_pandas(dated)
    mapping, dates = re.findall("`(.*?)`", hinted(polars))
    names = {"frame": polars}
    given = {"dates": eval(dates.removeprefix("dates="), names)}
    assert oo.score(eval(mapping, names), config=QUICK, **given).text == expected
    (pivot,) = re.findall("`(.*?)`", hinted(pl.from_pandas(long)))
    assert eval(pivot, {"frame": pl.from_pandas(long)}).equals(polars)
