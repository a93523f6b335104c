"""Test that every way to open a file shows the notices of `data check`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.data.market_source import open_market

FORMATS = Path(__file__).parent / "formats"
SPLIT = "Date,Open,High,Low,Close,Volume\n" + "".join(
    f"2024-01-{day:02},{price},{price + 1},{price - 1},{price},{volume}\n"
    for day, price, volume in [(2, 100, 5), (3, 101, 0), (4, 102, 0), (5, 25, 7), (8, 26, 9), (9, 25, 9)]
)
STOPS = "date,symbol,close,volume\n" + "".join(
    f"2024-01-{day:02},{symbol},{10 + day},{volume}\n"
    for day in (2, 3, 4, 5, 8, 9)
    for symbol, volume in (("A", 5), ("B", 0 if day % 2 else 3))
    if symbol == "A" or day < 8
)
FILES = {"split.csv": SPLIT, "stops.csv": STOPS}
NAMES = (
    "crsp_daily.csv",
    "mixed_crypto_stock.csv",
    "high_below_low.csv",
    "yahoo_web_adj_close.csv",
    "weekly_friday.csv",
)


def call(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


@pytest.mark.parametrize("name", [*NAMES, *FILES])
def test_every_door_has_the_notices_of_data_check(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name in FILES:
        path.write_text(FILES[name], encoding="utf-8")
    else:
        shutil.copy(FORMATS / name, path)
    checked = json.loads(call("data", "check", path, "--json"))
    wanted = set(checked["notices"])
    assert set(checked["warnings"]) <= wanted
    assert name not in FILES or checked["warnings"]
    assert set(oo.Dataset.from_csv(path).notices) == wanted
    imported = json.loads(call("data", "import", path, "--out", tmp_path / "out", "--json"))
    assert set(imported["notices"]) == wanted
    assert set(open_market(imported["manifest"]).notices) == wanted
    ran = json.loads(call("run", "--data", path, "--json", "--financing-bps", 0, "--borrow-bps", 0))
    assert set(ran["notices"]) == wanted
    for words in (("check", path), ("import", path, "--out", tmp_path / "text")):
        lines = [line.strip() for line in call("data", *words).splitlines()]
        shown = {line[2:] for line in lines if line.startswith("· ")}
        assert shown | {line[len("warning: ") :] for line in lines if line.startswith("warning: ")} == wanted


def test_warnings_of_a_file_are_notices() -> None:
    notices = oo.Dataset.from_csv(SPLIT, symbol="X").notices
    assert "X moves by a factor of 4.08 from 2024-01-04 to 2024-01-05: is a split missing?" in notices
    assert any(
        notice.startswith("X fills on only 60% of the bars (volume 0, such as on 2024-01-03)") for notice in notices
    )
    notices = oo.Dataset.from_csv(STOPS).notices
    assert "B stops closing after 2024-01-05 without a settlement: positions cannot be sold" in notices


def test_warnings_are_about_the_present_bars_and_symbols() -> None:
    market = oo.Dataset.from_csv(STOPS)
    assert not [notice for notice in market.select(["A"]).notices if "B" in notice]
    assert not [notice for notice in market.head(4).notices if "stops closing" in notice]
    weekly = oo.Dataset.from_csv(SPLIT, symbol="X").resample("1w", periods_per_year=52)
    assert not [notice for notice in weekly.notices if "fills on only" in notice]
    assert [notice for notice in weekly.notices if "is a split missing?" in notice] == []


def test_many_moves_share_a_line() -> None:
    rows = "".join(f"2024-01-{day:02},{10 if day % 2 else 30}\n" for day in range(1, 31))
    notices = oo.Dataset.from_csv("date,X\n" + rows).notices
    assert sum("is a split missing?" in notice for notice in notices) == 5
    assert "24 other moves by a factor above 2" in notices
