"""Benchmarks, factors and groups that a user gives, on the bars of a run."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.scoring.aligned_returns import benchmark_returns, factor_returns, symbol_returns
from openoutcry.scoring.group_exposure import UNGROUPED, group_exposure, groups_of

MARKET = oo.Dataset.synthetic(3, 120, 5)
RUN = oo.run_backtest(MARKET, "equal-weight", (30, 110))
CLOSES = MARKET.close[30:110]
FIRST = MARKET.symbols[0]
STEPS = CLOSES[1:, 0] / CLOSES[:-1, 0] - 1.0


def csv_of(folder: Path, header: str, rows: list[tuple[Any, ...]]) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def refused(given: Any, run: oo.Run = RUN) -> str:
    with pytest.raises(oo.OpenOutcryError) as raised:
        benchmark_returns(given, run)
    return str(raised.value)


def test_a_symbol_a_dataset_a_file_of_prices_and_an_array_are_the_same_benchmark(tmp_path: Path) -> None:
    prices = csv_of(tmp_path, "date,close", list(zip(MARKET.dates, MARKET.close[:, 0].tolist(), strict=True)))
    for given in (FIRST, MARKET.select([FIRST]), prices, str(prices), STEPS, STEPS.tolist()):
        assert benchmark_returns(given, RUN)[1] == pytest.approx(STEPS, rel=1e-12, abs=1e-15)
    assert benchmark_returns(FIRST, RUN)[0] == FIRST
    assert benchmark_returns(prices, RUN)[0] == "close"


def test_a_file_of_returns_and_one_of_percentages_are_matched_by_date(tmp_path: Path) -> None:
    rows = list(zip(RUN.dates[1:], STEPS.tolist(), strict=True))[::-1]
    assert benchmark_returns(csv_of(tmp_path, "date,return", rows), RUN)[1] == pytest.approx(STEPS)
    percent = [(date, f"{100.0 * value!r}") for date, value in rows]
    assert benchmark_returns(csv_of(tmp_path, "date,change %", percent), RUN)[1] == pytest.approx(STEPS)


def test_a_pandas_series_is_matched_by_date_and_not_by_place() -> None:
    pd = pytest.importorskip("pandas")
    index = pd.DatetimeIndex(MARKET.dates)
    series = pd.Series(MARKET.close[:, 0], index=index, name="own").pct_change()
    name, found = benchmark_returns(series, RUN)
    assert name == "own"
    assert found == pytest.approx(STEPS)
    assert "20 more" not in refused(series.drop(index[[40, 50]]))
    message = refused(series.drop(index[[40, 50]]))
    assert f"without {MARKET.dates[40]} and 1 more" in message
    assert "hint:" in message
    assert "must be after" in refused(series[::-1])
    assert "one series" in refused(series.to_frame())
    assert "index of `benchmark` must be dates" in refused(pd.Series(STEPS, index=[f"r{i}" for i in range(79)]))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (STEPS[:-1], "one return for each bar after the first, 79"),
        (CLOSES[1:, 0], "which look like prices"),
        (np.where(np.arange(79) == 5, np.nan, STEPS), f"received nan on {RUN.dates[6]}"),
        (STEPS * 100.0, "below -1"),
        (np.abs(STEPS) * 50.0, "a volatility above 300% a year"),
        (MARKET, "must have one symbol"),
        ("NONE", "one of SYN00"),
        (["a"] * 79, "must be numbers"),
    ],
)
def test_values_that_are_no_returns_of_these_bars_are_refused(given: Any, words: str) -> None:
    message = refused(given)
    assert words in message or words.replace("SYN00", FIRST) in message


def test_returns_that_may_be_percentages_of_a_short_bond_are_a_warning() -> None:
    bond = 0.1 * STEPS / STEPS.std()
    for given in (benchmark_returns, lambda series, run: factor_returns({"bond": series}, run)):
        with pytest.warns(UserWarning, match="varies by more than 80% a year; hint: divide percentages by 100"):
            given(bond, RUN)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            given(bond / 100.0, RUN)


def test_a_file_without_dates_or_with_two_columns_is_refused(tmp_path: Path) -> None:
    assert "dates" in refused(csv_of(tmp_path, "close", [(1.0,), (2.0,), (3.0,)]))
    rows = [(date, 0.01, 0.02) for date in RUN.dates]
    assert "one column" in refused(csv_of(tmp_path, "date,a,b", rows))
    with pytest.raises(oo.OpenOutcryError, match="an existing file"):
        factor_returns(tmp_path / "no.csv", RUN)


def test_total_returns_have_dividends_and_splits_as_the_engine_pays_them() -> None:
    dates = [f"2020-01-{day:02}" for day in range(1, 9)]
    close = [[100.0], [102.0], [51.0], [np.nan], [53.0], [50.0], [52.0], [52.0]]
    tables: dict[str, Any] = {name: np.full((8, 1), np.nan) for name in ("dividends", "splits")}
    tables["splits"][2], tables["dividends"][5] = 2.0, 2.5
    data = oo.Dataset.from_arrays(dates, ["A"], close, **tables)
    free: dict[str, Any] = {"costs": oo.CostModel.zero(), "limits": oo.Limits.off()}
    weights = np.full((8, 1), np.nan)
    weights[0] = 1.0
    held = oo.run_backtest(data, weights, (0, 8), **free)
    found = symbol_returns(data, "A", dates)
    assert found[1] == pytest.approx(0.0)
    # A dividend is cash of the account, not bought shares; so the day of its payment is the last that is comparable.
    assert found[1:5] == pytest.approx(held.returns[1:5], rel=1e-12, abs=1e-15)


def test_factors_come_from_frames_mappings_and_files(tmp_path: Path) -> None:
    wanted = {"a": STEPS, "b": STEPS[::-1].copy()}
    pd = pytest.importorskip("pandas")
    index = pd.DatetimeIndex(RUN.dates[1:])
    frame = pd.DataFrame(wanted, index=index)
    rows = list(zip(RUN.dates[1:], wanted["a"].tolist(), wanted["b"].tolist(), strict=True))
    files = csv_of(tmp_path, "date,a,b", rows)
    for given in (wanted, frame, frame.reset_index(names="date"), files):
        found = factor_returns(given, RUN)
        assert list(found) == ["a", "b"]
        assert found["b"] == pytest.approx(wanted["b"], rel=1e-12)
    with pytest.raises(oo.OpenOutcryError, match="a data frame, a mapping"):
        factor_returns(STEPS, RUN)


def test_a_polars_frame_is_matched_by_its_column_of_dates() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"date": list(MARKET.dates), "a": [0.0, *np.diff(np.log(MARKET.close[:, 0]))]})
    assert factor_returns(frame, RUN)["a"] == pytest.approx(np.diff(np.log(CLOSES[:, 0])))


def test_groups_add_up_to_the_exposure_of_the_run_and_symbols_without_one_are_shown(tmp_path: Path) -> None:
    groups = groups_of({FIRST: "tech"}, MARKET.symbols)
    assert list(groups.values()) == ["tech", UNGROUPED, UNGROUPED]
    assert groups_of(csv_of(tmp_path, "Symbol,Group", [(FIRST, "tech")]), MARKET.symbols) == groups
    short = oo.run_backtest(MARKET, np.tile([0.4, -0.3, 0.2], (120, 1)), (30, 110))
    tech, others = group_exposure(short.weights, MARKET.symbols, groups)
    assert (tech.n_symbols, others.n_symbols) == (1, 2)
    assert tech.net + others.net == pytest.approx(short.weights.sum(axis=1))
    assert tech.gross + others.gross == pytest.approx(np.abs(short.weights).sum(axis=1))
    assert (others.gross[1:] > np.abs(others.net[1:])).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"NONE": "tech"}, "received 'NONE'"),
        ({FIRST: ""}, "must be a name"),
        ({FIRST: 3}, "must be a name"),
        ([FIRST], "a mapping of symbol to group"),
        ("no.csv", "must be a CSV file"),
    ],
)
def test_groups_of_unknown_symbols_or_without_a_name_are_refused(given: Any, words: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=words):
        groups_of(given, MARKET.symbols)


def test_a_file_of_groups_needs_its_columns_and_one_row_per_symbol(tmp_path: Path) -> None:
    with pytest.raises(oo.OpenOutcryError, match="the columns symbol and group"):
        groups_of(csv_of(tmp_path, "ticker,sector", [(FIRST, "a")]), MARKET.symbols)
    with pytest.raises(oo.OpenOutcryError, match="twice"):
        groups_of(csv_of(tmp_path, "symbol,group", [(FIRST, "a"), (FIRST, "b")]), MARKET.symbols)
    with pytest.raises(oo.OpenOutcryError, match=r"row 2 of .* must have 2 cells"):
        groups_of(csv_of(tmp_path, "symbol,group", [(FIRST,)]), MARKET.symbols)


def test_daily_returns_are_compounded_between_the_bars_of_a_slower_run(tmp_path: Path) -> None:
    weekly = oo.Dataset.from_arrays(
        MARKET.dates[::5], [FIRST], MARKET.close[::5, :1], periods_per_year=52.0, name="weekly"
    )
    run = oo.run_backtest(weekly, "equal-weight", (4, 20), lookback=3)
    daily = MARKET.close[1:, 0] / MARKET.close[:-1, 0] - 1.0
    rows = list(zip(MARKET.dates[1:], daily.tolist(), strict=True))
    expected = weekly.close[5:20, 0] / weekly.close[4:19, 0] - 1.0
    for order in (1, -1):
        found = benchmark_returns(csv_of(tmp_path, "date,return", rows[::order]), run)[1]
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_small_positive_numbers_of_a_file_are_returns_or_prices_by_the_name_of_their_column(tmp_path: Path) -> None:
    small = np.linspace(0.001, 0.002, len(RUN.dates))
    rows = list(zip(RUN.dates, small.tolist(), strict=True))
    assert benchmark_returns(csv_of(tmp_path, "date,return", rows), RUN)[1].tolist() == small[1:].tolist()
    prices = benchmark_returns(csv_of(tmp_path, "date,close", rows), RUN)[1]
    assert prices == pytest.approx(small[1:] / small[:-1] - 1.0)
    message = refused(csv_of(tmp_path, "date,bill", rows))
    assert "the column `bill` must be recognised as prices or as returns" in message
    assert "hint: name it `close` or `return`" in message


def test_groups_without_a_symbol_are_refused(tmp_path: Path) -> None:
    for given in ({}, csv_of(tmp_path, "symbol,group", [])):
        with pytest.raises(oo.OpenOutcryError, match="at least one symbol; received none"):
            groups_of(given, MARKET.symbols)
