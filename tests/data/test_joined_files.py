"""Test that files of one symbol are joined by their dates, and refused where they differ."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.data.market_source import open_market

HEAD = "Date,Open,High,Low,Close,Volume"
DAYS = [str(day) for day in np.arange("2019-11-01", "2020-02-28", dtype="datetime64[D]") if np.is_busday(day)]
CLOSES = 100.0 + np.cumsum(np.random.default_rng(5).normal(0.0, 1.0, len(DAYS)))
ROWS = [
    f"{day},{close:.2f},{close + 1:.2f},{close - 1:.2f},{close:.2f},{1000 + place}"
    for place, (day, close) in enumerate(zip(DAYS, CLOSES, strict=True))
]
OLD, NEW = ([row for row in ROWS if row[:4] == year] for year in ("2019", "2020"))


def text(rows: list[str], head: str = HEAD) -> str:
    return "\n".join([head, *rows]) + "\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def written(name: str, content: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, "utf-8")
        return path

    return written


Write = Callable[[str, str], Path]


def test_two_years_of_a_symbol_are_the_market_of_both(write: Write, tmp_path: Path) -> None:
    wanted = oo.Dataset.from_csv(text(ROWS), symbol="AAPL")
    paths = [write("AAPL_2019.csv", text(OLD)), write("AAPL_2020.csv", text(NEW))]
    for order in (paths, paths[::-1]):
        found = oo.Dataset.from_csv(order)
        assert found.fingerprint == wanted.fingerprint
        assert found.name == "AAPL"
        assert found.notices == wanted.notices
    result = CliRunner().invoke(app, ["data", "import", *map(str, paths), "--out", str(tmp_path / "aapl")])
    assert result.exit_code == 0, result.output
    assert open_market(tmp_path / "aapl").fingerprint == wanted.fingerprint
    result = CliRunner().invoke(app, ["data", "check", *map(str, paths)])
    assert "\nAAPL: 85 bars of 1 symbol (AAPL), 2019-11-01 to 2020-02-27, 252 bars per year; orders" in result.output
    assert "2 of one form: AAPL_2019.csv, AAPL_2020.csv" in result.output
    assert "run it: openoutcry data import" in result.output


def test_months_of_binance_are_joined(tmp_path: Path) -> None:
    paths, rows = [], []
    for month, days in (("2021-01", 31), ("2021-02", 28)):
        start = int(np.datetime64(f"{month}-01T00:00", "ms").astype(np.int64))
        hours = range(24 * days)
        lines = [
            f"{start + 3_600_000 * k},{100 + k % 7},{110 + k % 7},{90},{101 + k % 7},5,"
            f"{start + 3_600_000 * (k + 1) - 1},500,9,2,200,0"
            for k in hours
        ]
        rows += lines
        path = tmp_path / f"BTCUSDT-1h-{month}.zip"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(f"BTCUSDT-1h-{month}.csv", "\n".join(lines))
        paths.append(path)
    found = oo.Dataset.from_csv(paths)
    assert found.symbols == ("BTCUSDT-1h",)
    assert found.n_bars == 24 * 59
    assert found.periods_per_year == 8760.0
    whole = oo.Dataset.from_csv("\n".join(rows), symbol="BTCUSDT")
    named = oo.Dataset.from_csv(paths, symbol="BTCUSDT")
    assert named.fingerprint == whole.fingerprint


@pytest.mark.parametrize(
    ("names", "symbols"),
    [
        (("AAPL_2019.csv", "AAPL_2020.csv"), ("AAPL",)),
        (("DAT_ASCII_EURUSD_M1_201901.csv", "DAT_ASCII_EURUSD_M1_202001.csv"), ("DAT_ASCII_EURUSD_M1",)),
        (("2019-SPY.csv", "2020-SPY.csv"), ("SPY",)),
        (("SPY 20190101-20191231.csv", "SPY 20200101-20201231.csv"), ("SPY",)),
        (("ES_2019Q4.csv", "ES_2020Q1.csv"), ("ES",)),
        (("AAPL.csv", "AAPL_2020.csv"), ("AAPL",)),
        (("old/AAPL.csv", "new/AAPL.csv"), ("AAPL",)),
        (("AAPL_2019.csv", "MSFT_2020.csv"), ("AAPL_2019", "MSFT_2020")),
        (("600519.csv", "601398.csv"), ("600519", "601398")),
        (("AAPL.csv", "MSFT.csv"), ("AAPL", "MSFT")),
    ],
)
def test_the_symbol_is_the_common_stem(names: tuple[str, str], symbols: tuple[str, ...], write: Write) -> None:
    paths = [write(names[0], text(OLD)), write(names[1], text(NEW))]
    assert oo.Dataset.from_csv(paths).symbols == symbols


def test_names_that_differ_by_more_than_dates_are_not_one_symbol(write: Write) -> None:
    paths = [write("BRK.A.csv", text(OLD)), write("BRK.B.csv", text(NEW))]
    with pytest.raises(oo.OpenOutcryError, match=r"duplicate_symbol: .* received 'BRK' again in 'BRK.B.csv'"):
        oo.Dataset.from_csv(paths)


def test_long_files_of_the_same_symbols_are_joined(write: Write) -> None:
    def long(rows: list[str]) -> str:
        lines = [f"{row.split(',')[0]},{name},{row.split(',')[4]}" for row in rows for name in ("A", "B")]
        return text(lines, "date,ticker,close")

    paths = [write("2019.csv", long(OLD)), write("2020.csv", long(NEW))]
    assert oo.Dataset.from_csv(paths).fingerprint == oo.Dataset.from_csv(long(ROWS)).fingerprint


def test_overlapping_dates_must_have_equal_values(write: Write) -> None:
    first = write("AAPL_2019.csv", text([*OLD, *NEW[:5]]))
    found = oo.Dataset.from_csv([first, write("AAPL_2020.csv", text(NEW))])
    assert found.fingerprint == oo.Dataset.from_csv(text(ROWS), symbol="AAPL").fingerprint
    assert "5 bars in several files, with equal values" in found.notices
    other = NEW[2].split(",")
    changed = [*NEW[:2], ",".join([*other[:5], "7"]), *NEW[3:]]
    paths = [first, write("AAPL_2020.csv", text(changed))]
    with pytest.raises(oo.OpenOutcryError, match=r"duplicate_row: .*the volume 10\d\d and, in 'AAPL_2020.csv', 7 on"):
        oo.Dataset.from_csv(paths)
    last = oo.Dataset.from_csv(paths, duplicates="last")
    assert last.volume is not None
    assert last.volume[last.dates.index(other[0]), 0] == 7.0
    assert "left out: 1 bar with other values in a file named later" in last.notices


def test_files_adjusted_at_different_dates_are_refused_or_noticed(write: Write) -> None:
    halved = [
        ",".join([row.split(",")[0], *(f"{float(field) / 4:.6f}" for field in row.split(",")[1:5]), "9"]) for row in NEW
    ]
    paths = [write("AAPL_2019.csv", text(OLD)), write("AAPL_2020.csv", text(halved))]
    notices = oo.Dataset.from_csv(paths).notices
    assert any("in AAPL_2019.csv to 2020-01-01 in AAPL_2020.csv, more than ever within" in notice for notice in notices)
    overlap = write("AAPL_2019.csv", text([*OLD, *NEW[:5]]))
    with pytest.raises(oo.OpenOutcryError, match=r"by the same factor 0\.25 on all 5 common dates"):
        oo.Dataset.from_csv([overlap, paths[1]])


def test_other_columns_zones_and_spacings_are_refused(write: Write) -> None:
    first = write("AAPL_2019.csv", text(OLD))
    closes = [",".join(row.split(",")[:1] + row.split(",")[4:5]) for row in NEW]
    with pytest.raises(oo.OpenOutcryError, match=r"missing_column: files of AAPL must have the same columns"):
        oo.Dataset.from_csv([first, write("AAPL_2020.csv", text(closes, "Date,Close"))])
    hours = [row.replace(",", "T14:31:00Z,", 1) for row in NEW]
    with pytest.raises(oo.OpenOutcryError, match="date_invalid: all files must have days, or times in one zone"):
        oo.Dataset.from_csv([first, write("AAPL_2020.csv", text(hours))])
    with pytest.raises(oo.OpenOutcryError, match="files of AAPL must have bars of one length"):
        oo.Dataset.from_csv([first, write("AAPL_2020.csv", text(NEW[::5]))])
    paths = [write("A.csv", text(OLD)), write("B.csv", text([f"{row}0" for row in OLD]))]
    with pytest.raises(oo.OpenOutcryError, match="leave out `symbol`"):
        oo.Dataset.from_csv(paths, symbol="X")


@pytest.mark.parametrize(("name", "event", "none"), [("Dividend", "0.7", "0"), ("Split", "1.02", "1")])
def test_an_event_that_one_file_has_is_a_difference(
    write: Callable[[str, str], Path], name: str, event: str, none: str
) -> None:
    head = f"{HEAD},{name}"
    old = [f"{row},{event if place == 55 else none}" for place, row in enumerate(ROWS[:60])]
    new = [f"{row},{none}" for row in ROWS[50:]]
    paths = [write("AAPL_2019.csv", text(old, head)), write("AAPL_2020.csv", text(new, head))]
    with pytest.raises(oo.OpenOutcryError, match=rf"duplicate_row: .*{name.lower()}s {event} and, in .*, {none} on"):
        oo.Dataset.from_csv(paths, adjusted="none")
    last = oo.Dataset.from_csv(paths, adjusted="none", duplicates="last")
    events = last.dividends if name == "Dividend" else last.splits
    assert events is None or not (np.nan_to_num(events, nan=float(none)) != float(none)).any()


def test_parts_of_a_symbol_without_a_trade_in_most_hours_are_joined(write: Callable[[str, str], Path]) -> None:
    random = np.random.default_rng(0)
    for seed in range(5):
        parts = []
        for year, share in (("2019", 0.15), ("2020", 0.9)):
            hours = np.arange(f"{year}-03-01", f"{year}-03-11", dtype="datetime64[h]")
            kept = hours[random.random(len(hours)) < share]
            content = "date,close\n" + "".join(f"{hour}:00:00,{100 + place % 5}\n" for place, hour in enumerate(kept))
            parts.append(write(f"{seed}/X_{year}.csv", content))
        assert oo.Dataset.from_csv(parts).symbols == ("X",)
