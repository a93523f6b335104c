"""Test `openoutcry data import` and `data check` on files of vendors."""

from __future__ import annotations

import gzip
import json
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


# Samples whose printed command has no, one or several options, or bars per year that the dates do not show.
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


def test_two_files_with_one_symbol_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        shutil.copy(FORMATS / "tiingo.csv", tmp_path / folder / "QXB.csv")
    code, output = run("import", tmp_path / "a" / "QXB.csv", tmp_path / "b" / "QXB.csv", "--out", tmp_path / "out")
    assert code != 0
    assert "a symbol must be in one file; received 'QXB' again in 'QXB.csv'" in output
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
