"""Returns with dates are sorted by them or refused, and dates are read in every form."""

from __future__ import annotations

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
from openoutcry.scoring import multiple_testing, skill
from openoutcry.scoring.scorer import submit_returns

QUICK = {"draws": {"replicates": 99}}
DAYS = pd.bdate_range("2022-01-03", periods=300)
RNG = np.random.default_rng(5)
RETURNS = pd.Series(RNG.normal(0.0006, 0.01, 300), DAYS)
MARKET = pd.Series(RNG.normal(0.0003, 0.008, 300), DAYS)
ORDERS = {"reversed": np.arange(300)[::-1], "shuffled": np.random.default_rng(6).permutation(300)}
TEXTS = [f"{day:%Y-%m-%d}" for day in DAYS]


def command(*words: Any) -> Any:
    return CliRunner().invoke(app, ["score", *map(str, words), "--windows", "1", "--json"])


def board(path: Path, *words: Any) -> Any:
    done = command(path, *words)
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)["board"]["scores"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("periods", [None, 252])
def test_returns_out_of_date_order_are_refused(order: str, periods: float | None) -> None:
    rows = ORDERS[order]
    one, other = RETURNS.iloc[rows], MARKET.iloc[rows]
    texts = [TEXTS[row] for row in rows]
    for call in (
        lambda: oo.score({"a": one}, benchmark=other, periods_per_year=periods, config=QUICK),
        lambda: oo.score({"a": one.to_numpy()}, dates=texts, periods_per_year=periods, config=QUICK),
        lambda: submit_returns("a", one, benchmark=other, periods_per_year=periods),
        lambda: submit_returns("a", one.reset_index(drop=True), dates=texts, periods_per_year=periods),
    ):
        with pytest.raises(oo.OpenOutcryError, match=r"must be after .*hint: sort .*`returns.sort_index\(\)`") as no:
            call()
        assert no.value.slug == "date_order"


@pytest.mark.parametrize("labels", [DAYS, np.arange(300) + 7], ids=["dates", "numbers"])
@pytest.mark.parametrize(
    "call",
    [
        skill.Moments.of,
        lambda series: skill.sharpe_errors(series, 252),
        lambda series: skill.rolling_sharpe(series, 50, 252),
        lambda series: skill.tracking(series, series * 0.5, 252),
        lambda series: skill.decay(series, MARKET, 252),
        lambda series: skill.regress(series, series * 0.5),
        lambda series: multiple_testing.sharpe_difference(series, series * 0.5, periods_per_year=252, seed=0),
        lambda series: oo.score(series, periods_per_year=252),
        oo.score_run,
    ],
    ids=["moments", "sharpe_errors", "rolling", "tracking", "decay", "regress", "difference", "score", "score_run"],
)
def test_a_series_out_of_order_has_no_statistics(call: Any, labels: Any) -> None:
    series = RETURNS.set_axis(pd.Index(labels)).iloc[ORDERS["shuffled"]]
    with pytest.raises(oo.OpenOutcryError, match="must be after") as refused:
        call(series)
    assert refused.value.slug == "date_order"


def test_a_date_with_two_returns_is_refused() -> None:
    twice = pd.concat([RETURNS, RETURNS.iloc[-1:]])
    with pytest.raises(oo.OpenOutcryError, match="received 2023-02-24; hint: keep one return for each date") as refused:
        oo.score(twice, periods_per_year=252)
    assert refused.value.slug == "date_order"


def test_a_column_of_dates_is_aligned_by_the_index_of_its_frame() -> None:
    frame = pd.DataFrame({"date": TEXTS, "a": RETURNS.to_numpy()}, index=np.arange(300) + 5)
    assert repr(oo.score(frame["a"], dates=frame["date"], config=QUICK)) == repr(
        oo.score(RETURNS.to_numpy(), dates=TEXTS, config=QUICK)
    )
    with pytest.raises(oo.OpenOutcryError, match="the index of `dates of the returns` must be that of `returns`"):
        oo.score(frame["a"], dates=frame["date"][::-1], config=QUICK)


@pytest.mark.parametrize(
    ("labels", "first", "periods"),
    [
        (DAYS.tz_localize("America/New_York"), "2022-01-03", 252.0),
        (DAYS.tz_localize("UTC"), "2022-01-03", 252.0),
        (pd.Index([f"{day:%d/%m/%Y}" for day in DAYS]), "2022-01-03", 252.0),
        (pd.period_range("2022-01-03", periods=300, freq="D"), "2022-01-03", 365.0),
        (pd.period_range("1990-01", periods=300, freq="M"), "1990-01-31", 12.0),
        (pd.period_range("2010-01-04", periods=300, freq="W"), "2010-01-10", 52.0),
        (pd.Index([str(month) for month in pd.period_range("1990-01", periods=300, freq="M")]), "1990-01-31", 12.0),
        (pd.date_range("2022-01-01", periods=300, freq="h", tz="UTC"), "2022-01-01T00:00:00Z", 8760.0),
    ],
    ids=["New York", "UTC", "day first", "days", "months", "weeks", "texts of months", "hours"],
)
def test_labels_of_every_form_are_dates(labels: Any, first: str, periods: float) -> None:
    found = oo.score({"a": RETURNS.set_axis(labels)}, benchmark=MARKET.set_axis(labels), config=QUICK)["a"]
    assert (found.periods_per_year, found.windows[0]["first"]) == (periods, first)
    stated = oo.score({"a": RETURNS.to_numpy()}, dates=labels, config=QUICK)["a"]
    assert (stated.periods_per_year, stated.windows[0]["first"]) == (periods, first)


def test_an_ambiguous_label_is_refused_without_an_option_of_files() -> None:
    labels = [f"0{day}/02/2024" for day in range(1, 6)]
    with pytest.raises(oo.OpenOutcryError, match="is ambiguous; hint: write dates such as 2024-01-31"):
        oo.score(np.full(5, 0.01), dates=labels)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["equity", "returns"])
def test_a_file_is_read_by_date_in_any_order(tmp_path: Path, kind: str, order: str) -> None:
    frame = pd.DataFrame({"me": RETURNS, "bh": MARKET})
    frame = 100 * (1 + frame).cumprod() if kind == "equity" else frame
    frame = frame.rename_axis("date")
    frame.to_csv(tmp_path / "sorted.csv")
    frame.iloc[ORDERS[order]].to_csv(tmp_path / "other.csv")
    words = ("--benchmark", "bh")
    expected = board(tmp_path / "sorted.csv", *words)
    for stated in ((), ("--periods-per-year", "252")):
        assert board(tmp_path / "other.csv", *words, *stated) == expected
    returns = RETURNS[1:] if kind == "equity" else RETURNS
    sharpe = returns.mean() / returns.std() * 252**0.5
    assert expected[0]["metrics"]["sharpe"] == pytest.approx(sharpe, rel=1e-9)


def test_a_date_on_two_lines_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("date,a\n2024-01-03,0.1\n2024-01-02,-0.1\n2024-01-03,0.2\n", encoding="utf-8")
    with pytest.raises(oo.OpenOutcryError, match="must be unique; received 2024-01-03 on lines 2 and 4") as refused:
        read_series([path], None, SideColumns(), 1)
    assert refused.value.slug == "date_order"


@pytest.mark.parametrize(
    ("texts", "options", "dates"),
    [
        (["2005-01", "2005-02", "2005-03"], {}, ("2005-01-31", "2005-02-28", "2005-03-31")),
        (["31/01/2024", "01/02/2024", "02/02/2024"], {}, ("2024-01-31", "2024-02-01", "2024-02-02")),
        (["20240131", "20240201", "20240202"], {}, ("2024-01-31", "2024-02-01", "2024-02-02")),
        (["200501", "200502", "200503"], {"date_format": "%Y%m"}, ("2005-01-31", "2005-02-28", "2005-03-31")),
        (["2024-01-30 00:00:00-05:00", "2024-01-31 00:00:00-05:00"], {}, ("2024-01-30", "2024-01-31")),
        (["w1", "w2", "w3"], {}, ()),
    ],
    ids=["months", "day first", "digits", "six digits", "New York", "no dates"],
)
def test_dates_of_a_file_have_any_form(tmp_path: Path, texts: list[str], options: Any, dates: Any) -> None:
    path = tmp_path / "returns.csv"
    rows = "".join(f"{text},{0.01 * (-1) ** row}\n" for row, text in enumerate(texts))
    path.write_text(f"date,a\n{rows}", encoding="utf-8")
    found = read_series([path], None, SideColumns(), 1, ReadOptions(**options))
    assert (tuple(found["dates"]), list(found["agents"])) == (dates, ["a"])


def test_options_of_dates_are_options_of_files_of_returns(tmp_path: Path) -> None:
    path, months = tmp_path / "months.csv", [f"{2005 + k // 12}{k % 12 + 1:02}" for k in range(84)]
    pd.DataFrame({"date": months, "a": RETURNS.to_numpy()[:84]}).to_csv(path, index=False)
    assert "`--date-format %Y%m`" in str(command(path).exception)
    assert board(path, "--date-format", "%Y%m")[0]["periods_per_year"] == 12.0
    undated = tmp_path / "undated.csv"
    undated.write_text("a\n0.1\n-0.1\n", encoding="utf-8")
    assert "options of dates must be left out with files" in str(command(undated, "--tz", "UTC").exception)
    assert "`--symbol` must come with a file of prices" in str(command(path, "--symbol", "x").exception)


@pytest.mark.parametrize("prices", [100 * (1 + RETURNS).cumprod(), 0.9 * (1 + RETURNS.abs()).cumprod()])
def test_prices_are_not_returns(tmp_path: Path, prices: pd.Series) -> None:
    for call in (lambda: oo.score({"a": prices}), lambda: oo.score({"a": RETURNS}, benchmark=prices)):
        with pytest.raises(oo.OpenOutcryError, match=r"look like prices; hint: `prices.pct_change\(\).dropna") as no:
            call()
        assert no.value.slug == "value_invalid"
    path = tmp_path / "prices.csv"
    prices.rename_axis("date").rename("a").to_csv(path)
    assert "look like prices" in str(command(path, "--csv", "returns").exception)
    assert board(path)[0]["n_returns"] == 299
