"""Files of returns are read as files of prices are: text, numbers, dates and what a file does not say."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.cli.returns_csv import SideColumns, read_series
from openoutcry.data.readers.market_columns import ReadOptions

RNG = np.random.default_rng(11)
DAYS = pd.bdate_range("2022-01-03", periods=300)
# Percentages with three decimals, as a spreadsheet rounds them.
TABLE = pd.DataFrame(RNG.normal(0.05, 1.0, (300, 2)).round(3), DAYS, columns=["me", "SPY"])
RETURNS = TABLE / 100


def command(*words: Any) -> Any:
    return CliRunner().invoke(app, ["score", *map(str, words), "--windows", "1", "--json"])


def printed(path: Path, *words: Any) -> Any:
    done = command(path, *words)
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)


def refused(path: Path, *words: Any) -> str:
    done = command(path, *words)
    assert isinstance(done.exception, oo.OpenOutcryError), done.stdout
    return "\n".join([str(done.exception), *getattr(done.exception, "__notes__", ())])


def read(path: Path, kind: str | None = None, **options: Any) -> dict[str, Any]:
    return read_series([path], kind, SideColumns(), 1, ReadOptions(**options))


def saved(folder: Path, text: str, name: str = "returns.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def rows(sep: str, dates: Any, cell: Any, head: str) -> str:
    lines = [head] + [
        sep.join([date, *map(cell, row)]) for date, row in zip(dates, TABLE.to_numpy().tolist(), strict=True)
    ]
    return "\r\n".join(lines) + "\r\n"


ISO, GERMAN = [f"{day:%Y-%m-%d}" for day in DAYS], [f"{day:%d.%m.%Y}" for day in DAYS]
FORMS = {
    "semicolons": rows(";", ISO, lambda value: f"{value / 100:.5f}", "date;me;SPY"),
    "German": rows(";", GERMAN, lambda value: f"{value / 100:.5f}".replace(".", ","), "Datum;me;SPY"),
    "German percent": rows(";", GERMAN, lambda value: f"{value:.3f} %".replace(".", ","), "Datum;me;SPY"),
    "tabs": rows("\t", ISO, lambda value: f"{value / 100:.5f}", "date\tme\tSPY"),
    "quotes": rows(",", [f'"{day}"' for day in ISO], lambda value: f'"{value / 100:.5f}"', '"date","me","SPY"'),
    "quoted comma": rows(",", ISO, lambda value: f'"{value:.3f}%"'.replace(".", ","), "date,me,SPY"),
    "percent": rows(",", ISO, lambda value: f"{value:.3f}%", "date,me,SPY"),
    "percent first": rows(",", ISO, lambda value: f"%{value:.3f}", "date,me,SPY"),
    "signs": rows(",", ISO, lambda value: f"{value:+.3f}%", "date,me,SPY"),
    "a title above": "My fund\r\n\r\n" + rows(",", ISO, lambda value: f"{value:.3f}%", "date,me,SPY"),
    "names of months": rows(",", [f"{day:%d-%b-%Y}" for day in DAYS], lambda value: f"{value:.3f}%", "Day,me,SPY"),
    "digits": rows(",", [f"{day:%Y%m%d}" for day in DAYS], lambda value: f"{value:.3f}%", "Date,me,SPY"),
    "epoch": rows(",", [f"{day.timestamp():.0f}" for day in DAYS], lambda value: f"{value:.3f}%", "time,me,SPY"),
    "no name of dates": rows(",", ISO, lambda value: f"{value:.3f}%", ",me,SPY"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_in_the_form_of_a_spreadsheet_is_read(tmp_path: Path, form: str) -> None:
    found = read(saved(tmp_path, FORMS[form]))
    assert list(found["agents"]) == ["me", "SPY"]
    assert found["dates"] == tuple(ISO)
    for name in TABLE:
        expected = [float(f"{value:.3f}e-2") for value in TABLE[name]]
        assert found["agents"][name].tolist() == expected


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings_and_archives_are_those_of_prices(tmp_path: Path, encoding: str) -> None:
    text = FORMS["German"].replace("me", "Führer")
    path = saved(tmp_path, text, encoding=encoding)
    assert list(read(path)["agents"]) == ["Führer", "SPY"]
    packed = tmp_path / "returns.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert (
        printed(packed, "--benchmark", "SPY")["board"]["scores"]
        == printed(path, "--benchmark", "SPY")["board"]["scores"]
    )


@pytest.mark.parametrize("suffix", [".tsv", ".parquet", ".xlsx", ".CSV"])
def test_tables_of_other_formats_are_read(tmp_path: Path, suffix: str) -> None:
    path, frame = tmp_path / f"returns{suffix}", RETURNS.rename_axis("date").reset_index()
    if suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    scores = printed(path, "--benchmark", "SPY")["board"]["scores"]
    assert scores[0]["metrics"]["sharpe"] == pytest.approx(RETURNS["me"].mean() / RETURNS["me"].std() * 252**0.5)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", ["date", "Trade Date", "when", "Month"])
def test_the_dates_are_in_any_column(tmp_path: Path, place: int, name: str) -> None:
    frame = RETURNS.copy()
    frame.insert(place, name, ISO)
    frame.to_csv(tmp_path / "returns.csv", index=False)
    found = read(tmp_path / "returns.csv")
    assert (list(found["agents"]), found["dates"]) == (["me", "SPY"], tuple(ISO))


def test_row_numbers_are_no_agent(tmp_path: Path) -> None:
    RETURNS.rename_axis("date").reset_index().to_csv(tmp_path / "returns.csv")
    answer = printed(tmp_path / "returns.csv", "--benchmark", "SPY")
    assert [each["agent_id"] for each in answer["board"]["scores"]] == ["me"]
    assert "returns.csv: columns not read: ''" in answer["notes"]


def test_months_as_numbers_are_no_agent(tmp_path: Path) -> None:
    months = [f"{2013 + k // 12}{k % 12 + 1:02}" for k in range(84)]
    equity = pd.DataFrame({"yyyymm": months, "me": 100 * (1 + RETURNS["me"][:84]).cumprod().to_numpy()})
    equity[::-1].to_csv(tmp_path / "equity.csv", index=False)
    score = printed(tmp_path / "equity.csv")["board"]["scores"]
    assert [(each["agent_id"], each["periods_per_year"]) for each in score] == [("me", 12.0)]


def test_a_column_of_dates_that_is_not_clear_is_asked_for(tmp_path: Path) -> None:
    frame = RETURNS[["me"]].assign(opened=ISO, closed=ISO)
    frame.to_csv(tmp_path / "trades.csv", index=False)
    assert "received opened,closed; hint: " in (text := refused(tmp_path / "trades.csv"))
    assert "`--column date=opened`" in text
    both = saved(tmp_path, 'date,me\n01/02/2022,"1,234%"\n02/02/2022,"1,238%"\n03/02/2022,"2,235%"\n')
    assert "`--date-order dmy --decimal ,`" in refused(both)
    assert read(both, date_order="dmy", decimal=",")["agents"]["me"].tolist() == [0.01234, 0.01238, 0.02235]
    assert read(both, date_order="mdy", decimal=".")["dates"][1] == "2022-02-02"


def test_all_that_a_file_does_not_say_is_asked_for_once(tmp_path: Path) -> None:
    path = saved(tmp_path, "date,me\n01/02/2022,0.1\n02/02/2022,0.2\n03/02/2022,0.1\n")
    assert "`--date-order dmy --csv returns`" in refused(path)
    assert read(path, "returns", date_order="dmy")["agents"]["me"].tolist() == [0.1, 0.2, 0.1]


def test_some_percent_signs_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, "date,me\n2022-01-03,1.2%\n2022-01-04,0.5\n2022-01-05,-0.3%\n")
    assert "all cells of `me` must have a percent sign, or none; received '0.5' on line 3" in refused(path)
    equity = saved(tmp_path, "date,me\n2022-01-03,101%\n2022-01-04,102%\n2022-01-05,103%\n")
    assert "equity must be without percent signs" in refused(equity, "--csv", "equity")


def test_a_missing_return_is_refused_with_what_to_do(tmp_path: Path) -> None:
    RETURNS.rename_axis("date").pct_change().to_csv(tmp_path / "returns.csv")
    assert (
        "line 2, column me must be a finite number; received ''; hint: leave out the rows without a value"
        in refused(tmp_path / "returns.csv")
    )


@pytest.mark.parametrize("head", ["me", "me (%)", "me_pct", "small"])
def test_percentages_without_signs_are_asked_for(tmp_path: Path, head: str) -> None:
    table = TABLE[["me"]] / (4 if head == "small" else 1)
    path = tmp_path / "returns.csv"
    table.rename(columns={"me": head}).rename_axis("date").to_csv(path)
    assert "`returns` or `percent`" in (text := refused(path)) or "`percent` or `returns`" in text
    assert "`--csv percent`" in text
    score = printed(path, "--csv", "percent")["board"]["scores"][0]
    sharpe = table["me"].mean() / table["me"].std() * 252**0.5
    assert score["metrics"]["sharpe"] == pytest.approx(sharpe, rel=1e-9)
    assert score["metrics"]["vol"] == pytest.approx(table["me"].std() / 100 * 252**0.5, rel=1e-9)


def test_a_row_of_units_says_percent(tmp_path: Path) -> None:
    lines = rows(",", ISO, lambda value: f"{value / 10:.4f}", "date,me,SPY").split("\r\n")
    path = saved(tmp_path, "\r\n".join([lines[0], ",%,%", *lines[1:]]))
    assert "'me', which says percent, and no percent signs" in refused(path)
    assert read(path, "percent")["agents"]["me"][0] == pytest.approx(TABLE["me"].iloc[0] / 1000)


@pytest.mark.parametrize("name", ["agent", "Strategy", "fund", "who"])
@pytest.mark.parametrize("numbered", [False, True])
def test_a_row_per_date_and_agent_is_a_column_per_agent(tmp_path: Path, name: str, numbered: bool) -> None:
    if numbered and name == "who":
        pytest.skip("nothing says that numbers are names")
    wide = RETURNS.rename(columns={"me": "1", "SPY": "2"}) if numbered else RETURNS
    long = wide.rename_axis("date").reset_index().melt("date", var_name=name, value_name="return")
    long.sample(frac=1.0, random_state=3).to_csv(tmp_path / "long.csv", index=False)
    RETURNS.rename_axis("date").to_csv(tmp_path / "wide.csv")
    found, wanted = read(tmp_path / "long.csv"), read(tmp_path / "wide.csv")
    assert found["dates"] == wanted["dates"]
    for own, agent in zip(wide, RETURNS, strict=True):
        assert found["agents"][own].tolist() == wanted["agents"][agent].tolist()
    long[1:].to_csv(tmp_path / "less.csv", index=False)
    first = str(wide.columns[0])
    assert f"received 299 of 300 dates of {first!r}, without 2022-01-03" in refused(tmp_path / "less.csv")
    pd.concat([long, long[:1]]).to_csv(tmp_path / "twice.csv", index=False)
    assert "dates must be unique; received 2022-01-03 on lines 2 and 602" in refused(tmp_path / "twice.csv")
    long.assign(weight=0.5).to_csv(tmp_path / "more.csv", index=False)
    assert "must have one column of values; received return,weight; hint: keep" in refused(tmp_path / "more.csv")


def test_a_file_without_a_header_has_stated_names(tmp_path: Path) -> None:
    RETURNS.to_csv(tmp_path / "returns.csv", header=False)
    assert "`--columns date,my-agent`" in refused(tmp_path / "returns.csv")
    assert list(read(tmp_path / "returns.csv", columns=["date", "me", "SPY"])["agents"]) == ["me", "SPY"]
    assert "must name the 3 columns" in refused(tmp_path / "returns.csv", "--columns", "date,me")
    labels = saved(tmp_path, "w1,0.01\nw2,-0.02\nw3,0.01\n")
    assert "the first line must name the columns" in refused(labels)


def test_agents_can_have_numbers_as_names(tmp_path: Path) -> None:
    RETURNS.set_axis(["10", "20"], axis=1).rename_axis("date").to_csv(tmp_path / "returns.csv")
    assert list(read(tmp_path / "returns.csv")["agents"]) == ["10", "20"]


@pytest.mark.parametrize("head", ["date,,me", "date,me,"])
def test_a_column_without_a_name_and_a_value_is_not_read(tmp_path: Path, head: str) -> None:
    path = saved(tmp_path, "\n".join([head, *(head.replace("date", day).replace("me", "-0.01") for day in ISO)]))
    assert list(read(path)["agents"]) == ["me"]


def test_one_column_names_the_line_of_a_value(tmp_path: Path) -> None:
    assert "`me` on line 5 must be a number" in refused(saved(tmp_path, "me\n\n0.01\n\nx\n0.01\n"))


def test_one_column_with_a_decimal_comma_is_read(tmp_path: Path) -> None:
    path = saved(tmp_path, "me\n0,01\n-0,02\n0,0125\n")
    assert read(path)["agents"]["me"].tolist() == [0.01, -0.02, 0.0125]


def test_a_stated_decimal_mark_that_the_numbers_contradict_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, "date,me\n2022-01-03,0.012\n2022-01-04,-0.004\n2022-01-05,0.001\n")
    assert "`decimal` must fit the numbers; received ',' with '0.012'" in refused(path, "--decimal", ",")


def test_a_column_of_times_joins_the_days(tmp_path: Path) -> None:
    hours = pd.date_range("2022-01-03", periods=300, freq="h")
    frame = pd.DataFrame(
        {"date": hours.strftime("%Y-%m-%d"), "time": hours.strftime("%H:%M"), "me": RETURNS["me"].to_numpy()}
    )
    frame.to_csv(tmp_path / "returns.csv", index=False)
    found = read(tmp_path / "returns.csv")
    assert (list(found["agents"]), found["dates"][1]) == (["me"], "2022-01-03T01:00:00")


REFUSED = {
    "two digits": ("date,me\n{d:%m/%d/%y},-0.01\n", 'hint: date_format="%m/%d/%y", `--date-format'),
    "months of two digits": ("when,me\n{d:%b-%y},-0.01\n", "`--date-format %b-%y`"),
    "years and months": ("Year,Month,me\n{d:%Y},{d:%m},101.5\n", "received Year and Month; hint: join them"),
    "one space": ("date me\n{d:%Y-%m-%d} 0.01\n", "a column of numbers is required; received date me; hint: cells are"),
    "log returns": (
        "date,log_return\n{d:%Y-%m-%d},-0.01\n",
        "log returns by the name 'log_return'; hint: exp",
    ),
    "basis points": (
        "date,me (bps)\n{d:%Y-%m-%d},-0.01\n",
        "basis points by the name 'me (bps)'; hint: divide",
    ),
    "money": ("date,me\n{d:%Y-%m-%d},-412.5\n", "hint: divide basis points by 10,000, or profits in money"),
    "weights": ("date,me,weight\n{d:%Y-%m-%d},101,0.6\n", "received weight, which is neither; hint: leave it out"),
    "serial numbers": (
        "date,me\n{d.year},-0.01\n".replace("{d.year}", "4{d:%m%d}"),
        "a number of five digits is a date of",
    ),
    "agents without dates": ("agent,me\nbull,-0.01\n", "received 'bull' twice; hint: begin the rows with dates"),
    "seeds": ("date,agent,seed,ret\n2022-01-03,{d:%d},1,-0.01\n", "received seed,ret; hint: keep date, agent and ret"),
    "codes": ("date,me\n{d:%Y-%m-%d},-99.99\n", "received '-99.99' on line 2, a code for none; hint: leave out"),
}


@pytest.mark.parametrize("form", REFUSED)
def test_a_file_of_something_else_is_refused_with_what_to_type(tmp_path: Path, form: str) -> None:
    (head, row), wanted = REFUSED[form][0].split("\n")[:2], REFUSED[form][1]
    path = saved(tmp_path, "\n".join([head, *(row.format(d=day) for day in DAYS[:30])]) + "\n")
    assert wanted in refused(path)


@pytest.mark.parametrize("form", ["({:.3f}%)", "({:.3f})%", "\u2212{:.3f}%", "-{:.3f} %"])
def test_negative_numbers_of_spreadsheets_are_read(tmp_path: Path, form: str) -> None:
    cells = [form.format(-value) if value < 0 else f"{value:.3f}%" for value in TABLE["me"]]
    path = saved(tmp_path, "\n".join(["date,me", *(f"{day},{cell}" for day, cell in zip(ISO, cells, strict=True))]))
    assert read(path)["agents"]["me"].tolist() == [float(f"{value:.3f}e-2") for value in TABLE["me"]]


def test_cumulative_returns_are_asked_for(tmp_path: Path) -> None:
    cumulative = (1 + RETURNS["me"] - RETURNS["me"].mean()).cumprod() - 1
    assert cumulative.min() < 0 < cumulative.max() < 0.5
    path = tmp_path / "returns.csv"
    cumulative.rename("me").rename_axis("date").to_csv(path)
    assert "which changes by small steps as cumulative returns do" in refused(path)
    caveat = "`me` changes by small steps, as cumulative returns do; hint: if it is cumulative"
    assert caveat in printed(path, "--csv", "returns")["caveats"][0]
    assert caveat in oo.score({"me": cumulative}).caveats[0]


def test_gross_returns_are_no_equity(tmp_path: Path) -> None:
    path = tmp_path / "returns.csv"
    (1 + RETURNS).rename_axis("date").to_csv(path)
    text = "'me' around 1, which changes by large steps as 1 + returns do; hint: for account values, `--csv equity`"
    assert text in refused(path)
    assert printed(path, "--csv", "equity")["board"]["scores"][0]["n_returns"] == 299
    with pytest.raises(oo.OpenOutcryError, match=r"look like 1 [+] returns; hint: subtract 1"):
        oo.score({"me": 1 + RETURNS["me"]})


def test_percentages_given_as_returns_are_a_caveat() -> None:
    small = TABLE["me"] / 4
    assert "`me` varies by more than 300% a year; hint: divide it by 100" in oo.score({"me": small}).caveats[0]
    assert oo.score({"me": small / 100}).caveats == ()
    with pytest.raises(oo.OpenOutcryError, match="below -1 in `returns`; hint: divide percentages by 100"):
        oo.score({"me": TABLE["me"]})
    with pytest.warns(UserWarning, match="divide it by 100"):
        oo.scoring.scorer.submit_returns("me", small)


@pytest.mark.parametrize("symbol", ["UST1Y", "UST2Y", "UST3Y"])
def test_percentages_of_short_bonds_are_asked_about_and_their_fractions_are_not(tmp_path: Path, symbol: str) -> None:
    bonds = oo.data.load("us-treasury")
    close = pd.Series(bonds.close[-1500:, bonds.symbols.index(symbol)], pd.DatetimeIndex(bonds.dates[-1500:]))
    percent = (100.0 * close.pct_change().dropna()).round(2).rename("me").rename_axis("date")
    path = tmp_path / "returns.csv"
    percent.to_csv(path)
    assert "hint: for percentages such as 1.2, `--csv percent`" in refused(path)
    assert printed(path, "--csv", "percent")["caveats"] == []
    market = {"benchmark": percent, "equal_weight": percent / 100}
    caveats = oo.score({"me": percent / 100, "other": percent}, **market).caveats
    assert [caveat.split("`")[1] for caveat in caveats] == ["benchmark", "other"]
    (percent / 100).to_csv(path)
    assert printed(path)["caveats"] == []


def test_two_decimals_of_days_say_percentages_and_those_of_months_do_not() -> None:
    days = pd.bdate_range("2022-01-03", periods=200)
    bond = pd.Series(np.random.default_rng(2).normal(0.0, 0.04, 200).round(2), days)
    assert "`me` has two decimals, as percentages have; hint: divide it by 100" in oo.score({"me": bond}).caveats[0]
    assert oo.score({"me": bond + 1e-4}).caveats == ()
    months = pd.Series(bond.to_numpy(), pd.date_range("2005-01-31", periods=200, freq="ME"))
    assert oo.score({"me": months}).caveats == ()


def test_percent_signs_say_nothing_about_other_columns(tmp_path: Path) -> None:
    lines = [f"{day},{me}%,{other}" for day, (me, other) in zip(ISO, TABLE.to_numpy().tolist(), strict=True)]
    path = saved(tmp_path, "\n".join(["date,me,rev", *lines]) + "\n")
    assert "--csv percent" in refused(path)


def test_a_row_per_year_with_a_column_per_month_is_refused(tmp_path: Path) -> None:
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    table = pd.DataFrame(RNG.normal(0.0, 0.01, (14, 12)).round(4), range(2010, 2024), columns=months)
    path = saved(tmp_path, table.rename_axis("Year").to_csv())
    assert "a column per month" in refused(path, "--csv", "returns")


def test_names_of_several_agents_may_say_percent(tmp_path: Path) -> None:
    lines = [f"{day},{me},{spy}" for day, (me, spy) in zip(ISO, TABLE.to_numpy().tolist(), strict=True)]
    path = saved(tmp_path, "\n".join(["date,Fund A (%),Fund B (%)", *lines]) + "\n")
    found = read(path, "percent")
    np.testing.assert_allclose(np.asarray(next(iter(found["agents"].values()))), RETURNS["me"].to_numpy(), rtol=1e-15)


def test_small_returns_with_a_decimal_comma_are_read(tmp_path: Path) -> None:
    table = RETURNS.copy()
    table.iloc[5, 0] = -4.1e-5
    table.to_csv(tmp_path / "returns.csv", sep=";", decimal=",")
    found = read(tmp_path / "returns.csv", "returns")
    np.testing.assert_array_equal(np.asarray(found["agents"]["me"]), table["me"].to_numpy())
