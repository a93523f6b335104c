"""Test `openoutcry data import` and `data check` on files of vendors."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from openoutcry.cli.commands import app

DATA = Path(__file__).resolve().parents[1] / "data"
FORMATS = DATA / "formats"
FILES: dict[str, Any] = {
    f"{folder}/{name}": each
    for folder in ("formats", "vendor_forms")
    for name, each in json.loads((DATA / folder / "expected.json").read_text(encoding="utf-8"))["files"].items()
}


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["data", *map(str, words)])
    message = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    return result.exit_code, result.output + message


def options(arguments: dict[str, Any]) -> list[str]:
    """Return the arguments of a sample as options of a command."""
    named = dict(arguments)
    close = named.pop("close", None)
    columns = named.pop("columns", {}) | ({"close": close} if close else {})
    words = [word for pair in columns.items() for word in ("--column", "=".join(pair))]
    named |= {"as": named.pop("form")} if "form" in named else {}
    return words + [word for name, value in named.items() for word in (f"--{name.replace('_', '-')}", str(value))]


@pytest.mark.parametrize("name", [name for name, each in FILES.items() if "reading" in each])
def test_a_file_of_a_vendor_is_checked(name: str) -> None:
    each = FILES[name]
    stated = [] if each["reading"]["periods_per_year"] is not None else ["--periods-per-year", "98280"]
    code, output = run("check", DATA / name, *options(each["arguments"]), *stated, "--json")
    assert code == 0, output
    found = json.loads(output)
    assert set(found["symbols"]) == set(each["reading"]["symbols"])


@pytest.mark.parametrize("name", [name for name, each in FILES.items() if "refusal" in each])
def test_a_file_that_does_not_say_enough_is_refused(name: str) -> None:
    code, output = run("check", DATA / name, *options(FILES[name]["arguments"]))
    assert code != 0
    for words in FILES[name]["refusal"]["mentions"]:
        assert any(word.lower() in output.lower() for word in words), output
    if "with_arguments" in FILES[name]:
        code, output = run("check", DATA / name, *options(FILES[name]["with_arguments"]["arguments"]))
        assert code == 0, output


# Samples: the printed command has no, one or several options, or the dates show no bars per year.
COMMANDS = (
    *("formats/fx_hourly_zero_volume.csv", "formats/records.json", "formats/quandl_chris.csv"),
    *("formats/polygon_day_aggs.csv.gz", "formats/mt4_no_header.csv", "formats/histdata_m1.csv"),
    *("formats/lean_equity_daily.zip", "formats/frame_index.parquet", "formats/split_not_in_price.csv"),
    *("vendor_forms/wsj.csv", "vendor_forms/oanda_candles.json", "vendor_forms/tradingview.csv"),
)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_check_ends_with_a_command_that_runs_as_printed(name: str) -> None:
    each = FILES[name]
    code, output = run("check", DATA / name, *options(each.get("with_arguments", each)["arguments"]))
    assert code == 0, output
    command = output.splitlines()[-1].removeprefix("run it: openoutcry ")
    assert command.startswith("run --data ")
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, f"{command}: {done.output}{done.exception}"
    assert "Sharpe" in done.output


def test_an_imported_file_runs_from_its_snapshot(tmp_path: Path) -> None:
    code, output = run("import", FORMATS / "tiingo.csv", "--symbol", "QXB", "--out", tmp_path / "qxb")
    assert code == 0, output
    assert "'splitFactor'" in output
    assert "as traded" in output
    command = shlex.split(output.splitlines()[-1].removeprefix("run it: openoutcry "))
    done = CliRunner().invoke(app, [*command, "--agent", "buy-and-hold"])
    assert done.exit_code == 0, done.output


def test_files_of_one_symbol_each_become_one_market(tmp_path: Path) -> None:
    shutil.copy(FORMATS / "tiingo.csv", tmp_path / "QXB.csv")
    (tmp_path / "QXA.csv.gz").write_bytes(gzip.compress((FORMATS / "yahoo_web_adj_close.csv").read_bytes()))
    words = ["--adjusted", "total", "--out", tmp_path / "both", "--json"]
    code, output = run("import", tmp_path / "QXA.csv.gz", tmp_path / "QXB.csv", *words)
    assert code == 0, output
    found = json.loads(output)
    assert found["symbols"] == ["QXA", "QXB"]
    assert found["dates"] == ["2022-02-01", "2022-09-26"]
    assert Path(found["manifest"]).is_file()


def test_two_files_with_different_prices_of_one_symbol_are_refused(tmp_path: Path) -> None:
    for folder, name in (("a", "tiingo.csv"), ("b", "tiingo.csv")):
        (tmp_path / folder).mkdir()
        content = (FORMATS / name).read_text("utf-8")
        lines = content.splitlines()
        lines[5] = lines[5].replace(lines[5].split(",")[1], "1.5") if folder == "b" else lines[5]
        (tmp_path / folder / "QXB.csv").write_text("\n".join(lines), "utf-8")
    code, output = run("import", tmp_path / "a" / "QXB.csv", tmp_path / "b" / "QXB.csv", "--out", tmp_path / "out")
    assert code != 0
    assert "files of QXB must agree where their dates overlap" in output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--column", "close"], "`--column` must be ROLE=NAME; received 'close'"),
        (["--column", "close=X"], "`columns` must name columns of the file; received 'X' for `close`"),
        (["--column", "mid=close"], "`columns` must have keys among date, symbol, close"),
        (["--column", "close=close", "--columns", "a,b"], "`--column` or `--columns` is required; received both"),
        (["--tz", "Mars"], "`tz` must be an IANA zone such as America/New_York; received 'Mars'"),
        (["--date-order", "ymd"], "`date_order` must be `dmy` or `mdy`; received 'ymd'"),
        (["--decimal", ";"], "`decimal` must be '.' or ','; received ';'"),
        (["--adjusted", "yes"], "`adjusted` must be one of none, split, total; received 'yes'"),
        (["--price-scale", "-1"], "`price_scale` must be a number above 0; received -1.0"),
        (["--date-format", "iso"], "`date_format` must be a format of strptime such as \"%d-%b-%y\"; received 'iso'"),
        (["--duplicates", "first"], "`duplicates` must be `last` or left out; received 'first'"),
        (["--as", "klines"], "`form` must be one of alpha-vantage, binance-klines,"),
        (["--as", "binance-klines"], "`form` binance-klines requires a header with opentime open high low close"),
    ],
)
def test_an_invalid_option_is_refused(words: list[str], message: str) -> None:
    code, output = run("check", FORMATS / "tiingo.csv", *words)
    assert code != 0
    assert message in output


def test_a_named_form_and_the_last_of_duplicates_are_imported(tmp_path: Path) -> None:
    words = ["--as", "binance-klines", "--out", tmp_path / "btc"]
    code, output = run("import", FORMATS / "binance_klines_ms.csv", *words)
    assert code == 0, output
    assert "binance-klines" in output
    code, output = run("check", FORMATS / "duplicate_dates.csv", "--duplicates", "last")
    assert code == 0, output
    assert "left out: 1 row with a date that occurs again further down" in output


def test_a_file_is_asked_for_all_at_once_and_the_hint_runs() -> None:
    code, output = run("check", FORMATS / "quandl_chris.csv")
    assert code != 0
    assert "`--column close=Last`" in output
    code, output = run("check", FORMATS / "quandl_chris.csv", "--column", "close=Last")
    assert code == 0, output


def last_command(output: str, start: str) -> list[str]:
    """Return the words of a command that a line of the output prints."""
    line = next(line for line in output.splitlines() if start in line)
    return shlex.split(line.partition(start)[2].partition("`")[0])


def test_a_market_without_bars_per_year_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    days = [f"2024-{month:02}-{day:02}" for month in (1, 2, 3) for day in (2, 11, 27)]
    rows = [f"{day},ABC,{100 + place % 4}" for place, day in enumerate(days)]
    Path("prices.csv").write_text("\n".join(["date,symbol,close", *rows, ""]), "utf-8")
    for words in (["check", "prices.csv"], ["import", "prices.csv", "--out", "plain"],
                  ["import", "prices.csv", "--every", "1w", "--out", "weekly"]):  # fmt: skip
        code, output = run(*words)
        assert code == 0, output
        assert re.search(r"bars per year +unknown", output)
        command = last_command(output, "run it: openoutcry ")
        assert command[-4:] == ["--financing-bps", "0", "--borrow-bps", "0"]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.exception
        assert "to state them, repeat `openoutcry data" in output
    # The last command is printed with the number of weeks, and its market runs with annual rates.
    code, output = run(*last_command(output, "repeat `openoutcry data "))
    assert code == 0, output
    done = CliRunner().invoke(app, last_command(output, "run it: openoutcry "))
    assert done.exit_code == 0, done.exception
    manifest = str(next(Path("plain").glob("*.json")))
    done = CliRunner().invoke(app, ["run", "--data", manifest, "--periods-per-year", "52"])
    assert "hint: write another one from its file: `openoutcry data import FILE --periods" in str(done.exception)


@pytest.mark.parametrize(
    "rows",
    [
        [f"2024-01-{day:02},{100 + day}.5" for day in range(2, 9)],
        [f"2024-01-{day:02},{100 + day}.5,900" for day in range(2, 9)],
        [f"ABC,2024-01-{day:02},{100 + day}.5,900" for day in range(2, 9)],
        [f"2024-01-{day:02},100,120,90,{100 + day}.5,900,7,8" for day in range(2, 9)],
        [f"ABC,2024-01-{day:02},09:30,100,120,90,{100 + day}.5,900,7,8,a,b" for day in range(2, 9)],
    ],
    ids=lambda rows: f"{rows[0].count(',') + 1} columns",
)
def test_the_columns_that_a_file_without_header_suggests_are_read(rows: list[str], tmp_path: Path) -> None:
    path = tmp_path / "ABC.csv"
    path.write_text("\n".join([*rows, ""]), "utf-8")
    code, output = run("check", path)
    assert code != 0
    names = last_command(output, "`--columns ")
    code, output = run("check", path, "--columns", *names)
    assert code == 0, output
    assert re.search(r"'close' +close", output)


@pytest.mark.parametrize("form", ["plain", "wide"])
def test_a_plain_file_is_described_like_that_of_a_vendor(form: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    rows = [f"2024-01-02T{hour:02}:00:00Z,ABC,1{hour}" for hour in range(9, 17)]
    text = "\n".join([" Date,symbol,CLOSE", *rows, ""])
    path.write_text(text if form == "plain" else text.replace(",ABC,", ",7,").replace("symbol,CLOSE", "A,B"), "utf-8")
    code, output = run("check", path, "--json")
    assert code == 0, output
    read_as = [["encoding", "UTF-8"], ["column 'Date'", "date: year first, times in UTC"]]
    if form == "plain":
        read_as += [["column 'symbol'", "symbol"], ["column 'CLOSE'", "close"]]
    else:
        read_as.append(["symbols", "2, close of each"])
    read_as.append(["prices", "the file does not say whether they are adjusted"])
    read_as.append(["times of bars", "taken for starts; the file does not say"])
    assert json.loads(output)["read_as"] == read_as


def test_several_files_are_checked_as_they_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ABC", "DEF"):
        Path(f"{name}.csv").write_text("Date,Close\n2024-01-02,1\n2024-01-03,2\n2024-01-04,2\n", "utf-8")
    code, output = run("check", "ABC.csv", "DEF.csv")
    assert code == 0, output
    done = CliRunner().invoke(app, last_command(output, "run it: openoutcry "))
    assert done.exit_code == 0, done.exception
    assert "3 bars of 2 symbols (ABC, DEF)" in done.output


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    code, output = run("import", tmp_path / "none.csv", "--out", tmp_path / "out")
    assert code != 0
    assert "a file of prices is required" in output


VENDORS = ("yahoo_web_adj_close", "binance_klines_ms", "kaggle_all_stocks", "mt5_hourly", "investing_com")


@pytest.mark.parametrize("name", VENDORS)
def test_the_file_of_a_vendor_becomes_a_report_in_one_command(name: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    words = ["run", "--data", str(FORMATS / f"{name}.csv"), "--agent", "buy-and-hold", "--window", "0:"]
    done = CliRunner().invoke(app, [*words, "--report", str(page)])
    assert done.exit_code == 0, f"{done.output}{done.exception}"
    assert "Sharpe" in page.read_text(encoding="utf-8")
