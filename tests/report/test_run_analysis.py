"""The analysis on a run page, and its tables as files and frames."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from command_line import typed
from report_pages import HOSTILE

import openoutcry as oo
from openoutcry.backtest.trades import trades_of
from openoutcry.report.pages.metric_labels import Metric
from openoutcry.report.pages.table_parts import csv_text, table_html, written
from openoutcry.report.pages.trades_section import MOST_ROWS
from openoutcry.report.run_report import AnalysisInputs, tables_of
from openoutcry.report.tables.file_tables import columns_of, write_tables
from openoutcry.report.tables.table_builders import statistics_table
from openoutcry.report.views.table_view import Column, Table
from openoutcry.scoring.benchmark_comparison import compare
from openoutcry.scoring.statistic_values import Statistics

MARKET = oo.Dataset.synthetic(4, 300, 5)
RUN = oo.run_backtest(MARKET, "momentum", name="mom")
FIRST = MARKET.symbols[0]
GROUPS = {FIRST: "tech", MARKET.symbols[1]: "tech", MARKET.symbols[2]: "banks"}
FACTORS = {"value": np.random.default_rng(1).normal(0.0, 0.01, len(RUN.returns))}
PAGE_ONLY_IN_FILES = {"bars", "group_bars"}


def page_of(run: oo.Run, folder: Path, **options: Any) -> str:
    return Path(run.report(folder / "run.html", **options)).read_text(encoding="utf-8")


def heads(page: str) -> list[str]:
    return re.findall(r"<h2[^>]*>([^<]+)</h2>", page)


def linked(page: str) -> dict[str, str]:
    """Return the CSV of each link of a page by its file name."""
    links = re.findall(r'<a href="data:text/csv;charset=utf-8,([^"]*)" download="([^"]+)\.csv"', page)
    return {name: unquote(text.replace("&#x27;", "'")) for text, name in links}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("full")
    return page_of(RUN, folder, benchmark=FIRST, groups=GROUPS, factors=FACTORS, n_trials=20)


def test_every_section_of_a_page_has_a_link_and_an_anchor(full: str) -> None:
    (links,) = re.findall(r'<nav aria-label="Sections">(.*?)</nav>', full)
    assert re.findall(r'href="#(run-\d+)">([^<]+)<', links) == re.findall(r'<h2 id="(run-\d+)">([^<]+)<', full)
    wanted = ["Against the benchmark", "Returns by month and year", "Drawdowns and risk", "Resampled returns", "Trades"]
    assert [head for head in heads(full) if head in wanted] == wanted


def test_a_page_states_alpha_and_the_deflated_sharpe_ratio_before_its_first_section(full: str) -> None:
    top = full[: full.index("<h2")]
    found = compare(
        RUN.returns, MARKET.close[:, 0][RUN.window.start :][1:] / MARKET.close[RUN.window.start : -1, 0] - 1, 252.0
    )
    alpha = written(found.values["alpha"], "gain")
    assert "Deflated Sharpe (DSR)" in top
    assert "after 20 trials" in top
    assert f"<dt>Alpha, annual</dt><dd>{alpha}<small>" in top


def test_every_table_of_a_page_is_in_its_links_or_says_where_it_is(full: str) -> None:
    tables = tables_of(RUN, 20, AnalysisInputs(FIRST, FACTORS, GROUPS))
    links = linked(full)
    assert set(tables) - set(links) <= PAGE_ONLY_IN_FILES | {"trades"}
    assert "run.tables()[&quot;trades&quot;]" in full or "trades" in links
    for name, text in links.items():
        # The page has the deepest drawdowns, a file has all.
        assert csv_text(tables[name]).startswith(text)


def test_a_page_never_shows_an_infinity_or_what_is_no_number(full: str, tmp_path: Path) -> None:
    ruined = oo.run_backtest(MARKET.head(60), np.full((60, 4), -9.0), (0, 60), limits=oo.Limits.off())
    still = oo.run_backtest(MARKET, "hold-cash")
    short = oo.run_backtest(MARKET, "equal-weight", (20, 23))
    for page in (full, *(page_of(run, tmp_path) for run in (ruined, still, short))):
        texts = re.sub(
            r"<script>.*?</script>|<style>.*?</style>|<[^>]*>", " ", page.split("<footer>")[0], flags=re.DOTALL
        )
        assert re.search(r"(?<!\w)-?(nan|inf|NaN|None)(?!\w)", texts) is None


def test_undefined_numbers_are_dashes_with_their_reason(tmp_path: Path) -> None:
    page = page_of(oo.run_backtest(MARKET, "hold-cash"), tmp_path)
    row = re.search(r'<th scope="row">Treynor ratio</th><td>(.*?)</td>', page)
    assert row is not None
    assert 'title="undefined: beta is 0"' in row[1] or 'title="beta is 0"' in row[1]
    assert "<p>No trade was closed.</p>" in page
    assert "No bands: the returns are constant." in page
    assert "Volatility over time" in heads(page)


def test_a_run_with_the_nav_of_its_benchmark_is_called_buy_and_hold_only_if_it_is(tmp_path: Path) -> None:
    idle = oo.run_backtest(MARKET, "hold-cash")
    idle.report(tmp_path / "idle.html", benchmark=np.zeros(len(idle.dates) - 1))
    page = (tmp_path / "idle.html").read_text(encoding="utf-8")
    assert "The run has the NAV of benchmark at each bar, which is constant, so it is not compared with it." in page
    assert "is buy-and-hold" not in page


def test_without_bars_per_year_annual_numbers_are_undefined_and_the_page_is_written(tmp_path: Path) -> None:
    data = oo.Dataset.from_arrays(MARKET.dates, MARKET.symbols, MARKET.close, periods_per_year=float("nan"))
    run = oo.run_backtest(data, "momentum", costs=oo.CostModel.zero())
    page = page_of(run, tmp_path, factors=FACTORS)
    assert "the number of bars per year is unknown" in page
    tables = tables_of(run, inputs=AnalysisInputs(factors=FACTORS))
    values = {row[0]: row[2] for row in tables["benchmark"].rows}
    assert values["alpha"] is None
    assert values["beta"] is not None
    assert tables["factors"].rows[0][1] is None
    assert "<dt>Alpha" not in page


def test_a_run_that_is_its_own_benchmark_has_no_alpha(tmp_path: Path) -> None:
    page = page_of(oo.run_backtest(MARKET, "buy-and-hold"), tmp_path)
    assert "The run is buy-and-hold, which is its own benchmark." in page
    assert "Alpha, annual" not in page


def test_a_benchmark_of_returns_is_on_every_chart_and_has_metrics_but_no_trades(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    index = pd.DatetimeIndex(MARKET.dates)
    series = pd.Series(np.random.default_rng(3).normal(0.0, 0.01, 300), index=index, name="INDEX")
    page = page_of(RUN, tmp_path, benchmark=series)
    assert page.count('data-name="INDEX"') >= 2
    assert "INDEX" in re.findall(r'<table class="metrics">.*?</thead>', page, re.DOTALL)[-1]
    assert "returns have no trades" in page
    with pytest.raises(oo.OpenOutcryError, match="must have a value at each"):
        RUN.report(tmp_path / "no.html", benchmark=series.iloc[:-1])
    assert not (tmp_path / "no.html").exists()


def test_the_list_of_trades_is_limited_and_states_the_count(full: str) -> None:
    found = trades_of(RUN)
    statistics = {row[0]: row[2] for row in tables_of(RUN)["trade_statistics"].rows}
    assert statistics["win_rate"] == found.win_rate
    assert statistics["n_trades"] == found.n_trades
    shown = full.count("<tr data-profit=")
    assert shown == min(found.n_trades, MOST_ROWS)
    daily = np.where(np.arange(300)[:, None] % 2 == 0, [[0.2, 0.2, 0.2, 0.2]], [[0.0] * 4])
    busy = oo.run_backtest(MARKET, daily, (0, 300))
    text = table_text(busy)
    assert text.count("<tr data-profit=") == MOST_ROWS
    assert f"the latest {MOST_ROWS} of {trades_of(busy).n_trades:,}" in text


def table_text(run: oo.Run) -> str:
    from openoutcry.report.pages.trades_section import trades_section
    from openoutcry.report.run_report import full_view_of

    analysis = full_view_of(run).analysis
    assert analysis is not None
    return trades_section(analysis, "run")


def test_names_of_users_are_text_on_the_page(tmp_path: Path) -> None:
    data = oo.Dataset.from_arrays(MARKET.dates, [HOSTILE, *MARKET.symbols[1:]], MARKET.close)
    run = oo.run_backtest(data, "momentum")
    factors = {HOSTILE: FACTORS["value"]}
    page = page_of(run, tmp_path, benchmark=HOSTILE, groups={HOSTILE: HOSTILE}, factors=factors)
    assert "<script>alert" not in page
    assert "<img" not in page
    styles = re.findall(r'style="(--[^"]*)"', page)
    assert styles
    # Labels of narrow rows are strings of CSS, in which only letters and digits are not escaped.
    assert all(re.fullmatch(r"(--l\d+:&#x27;([A-Za-z0-9]|\\[0-9a-f]{6})*&#x27;;)+", style) for style in styles)


def test_a_table_has_a_label_for_each_value_of_a_narrow_row() -> None:
    columns = (Column("a", "First"), *(Column(name, f"The {name}", "rate") for name in "bcde"))
    table = Table("t", "A table", columns, (("row", 0.1, -0.2, None, 0.0),), reasons={(0, "d"): "it is missing"})
    html = table_html(table, "k")
    assert "--l2:&#x27;The\\000020b&#x27;" in html
    assert 'title="it is missing"' in html
    assert '<span class="loss">\u221220.00%</span>' in html
    with pytest.raises(ValueError, match=r"rows\[0\] must have 5 values; received 1"):
        Table("t", "", columns, (("row",),))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "rate", "\u2014"),
        (-0.00001, "rate", "0.00%"),
        (0.5, "share0", "50%"),
        (1234.5, "money", "1,234"),
        (-12.345, "money", "\u221212.35"),
        (0.012345, "price", "0.012345"),
        (123.456, "price", "123.46"),
        (0.21592, "coefficient", "0.216"),
        ("open", "text", "open"),
    ],
)
def test_a_value_is_written_in_its_unit(value: Any, unit: str, text: str) -> None:
    assert written(value, unit) == text


def test_the_reason_of_an_undefined_number_names_its_column() -> None:
    known = {name: Metric(name, "ratio", "") for name in ("sharpe", "vol", "beta")}
    run = Statistics({"sharpe": None, "vol": None, "beta": 1.0}, {"sharpe": "no returns", "vol": "no returns"})
    other = Statistics(
        {"sharpe": None, "vol": None, "beta": None}, {"sharpe": "no returns", "vol": "constant", "beta": "itself"}
    )
    table = statistics_table("metrics", "Metrics", known, [("value", "Run", run), ("other", "Benchmark", other)])
    assert [row[-1] for row in table.rows] == [
        "no returns",
        "Run: no returns; Benchmark: constant",
        "Benchmark: itself",
    ]


def test_csv_has_full_precision_and_empty_cells_for_undefined_numbers() -> None:
    columns = (Column("name", "Name"), Column("x", "X", "rate"))
    table = Table("t", "", columns, (('a,"b"\n', 0.1 + 0.2), ("c", None)))
    assert list(csv.reader(io.StringIO(csv_text(table)))) == [
        ["name", "x"],
        ['a,"b"\n', "0.30000000000000004"],
        ["c", ""],
    ]


def test_tables_as_frames_have_the_numbers_of_the_run() -> None:
    pytest.importorskip("pandas")
    tables = RUN.tables(benchmark=FIRST, groups=GROUPS)
    bars = tables["bars"]
    assert bars["nav"].to_numpy().tolist() == RUN.nav.tolist()
    assert np.isnan(bars["return"].to_numpy()[0])
    years = tables["years"]["return"].to_numpy()
    assert np.prod(1.0 + years) == pytest.approx(RUN.nav[-1])
    drawn = tables["drawdowns"]
    assert drawn["depth"].min() == RUN.metrics["max_drawdown"]
    assert (drawn["recovery"] == "open").sum() <= 1
    assert tables["trades"]["profit"].sum() == pytest.approx(
        sum(each.profit for each in trades_of(RUN).trades) * RUN.cost_model.capital
    )
    undefined = tables["trailing"].set_index("name")["undefined"]
    assert undefined["10Y"] == "the run is shorter"
    exposure = tables["group_bars"]
    total = exposure["net_tech"] + exposure["net_banks"] + exposure["net_(no group)"]
    assert total.to_numpy() == pytest.approx(RUN.weights.sum(axis=1))


def test_parquet_files_have_the_columns_of_csv_files(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    tables = tables_of(RUN, inputs=AnalysisInputs(groups=GROUPS))
    for form in ("csv", "parquet"):
        paths = write_tables(tables, tmp_path / form, form)
        assert [path.name for path in paths] == [f"{name}.{form}" for name in tables]
    for name, table in tables.items():
        found = parquet.read_table(tmp_path / "parquet" / f"{name}.parquet")
        assert found.column_names == [column.name for column in table.columns]
        assert found.num_rows == len(table.rows)
        assert (tmp_path / "csv" / f"{name}.csv").read_text(encoding="utf-8") == csv_text(table)
    assert columns_of(tables["bars"])["nav"].tolist() == RUN.nav.tolist()


@pytest.mark.parametrize(
    ("make", "words"),
    [(lambda path: (path, "xls"), "csv, parquet"), (lambda path: (path / "file", "csv"), "a file")],
)
def test_tables_in_an_unknown_format_or_in_a_file_are_refused(
    make: Callable[[Path], tuple[Path, str]], words: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(oo.OpenOutcryError, match=words):
        write_tables({}, *make(tmp_path))


def test_the_command_compares_with_a_file_and_writes_tables(tmp_path: Path) -> None:
    market = tmp_path / "prices.csv"
    rows = zip(MARKET.dates, *MARKET.close.T.tolist(), strict=True)
    lines = [",".join(["date", *MARKET.symbols]), *(",".join(map(str, row)) for row in rows)]
    market.write_text("\n".join(lines), encoding="utf-8")
    data = oo.Dataset.from_csv(market)
    run = oo.run_backtest(data, "momentum", capture=True)
    run.record.save(tmp_path / "run.json")
    (tmp_path / "groups.csv").write_text(f"symbol,group\n{FIRST},tech\n", encoding="utf-8")
    factors = [
        "date,market",
        *(f"{date},{value!r}" for date, value in zip(run.dates[1:], FACTORS["value"].tolist(), strict=True)),
    ]
    (tmp_path / "factors.csv").write_text("\n".join(factors), encoding="utf-8")
    report = ("report", tmp_path / "run.json", "--data", market, "--out", tmp_path / "run.html")
    more = ("--benchmark", FIRST, "--groups", tmp_path / "groups.csv", "--factors", tmp_path / "factors.csv")
    done = typed(*report, *more, "--tables", tmp_path / "tables", "--json")
    assert done.returncode == 0, done.stderr
    paths = [Path(path) for path in json.loads(done.stdout)["tables"]]
    wanted = tables_of(run, inputs=AnalysisInputs(FIRST, tmp_path / "factors.csv", tmp_path / "groups.csv"))
    assert {path.stem: path.read_text(encoding="utf-8") for path in paths} == {
        name: csv_text(table) for name, table in wanted.items()
    }
    assert "Against " + FIRST in (tmp_path / "run.html").read_text(encoding="utf-8")
    wrong = typed(*report, "--benchmark", "NONE")
    assert (wrong.returncode, f"one of {FIRST}" in wrong.stderr) == (2, True)
    alone = typed(*report, "--format", "parquet")
    assert "`--format` must come with `--tables`" in alone.stderr
