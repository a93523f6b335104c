"""Test the description of differences between two versions of a market."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import accepted, count, dataset_of
from command_line import typed
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.data.snapshots.back_adjustment import named, steps
from openoutcry.data.snapshots.snapshot_diff import differences

pytestmark = pytest.mark.once

DRAWS = settings(max_examples=count(400, 60))
N_BARS = 6000
DATES = np.datetime_as_string(np.busday_offset("1997-08-07", np.arange(N_BARS), roll="forward")).tolist()
SPLIT = DATES.index("2020-07-31")


def prices(seed: int = 0, n_symbols: int = 3) -> Any:
    """Return closes in cents, so that adjusted prices are rounded as vendors round them."""
    returns = np.random.default_rng(seed).normal(0.0, 0.012, (N_BARS, n_symbols))
    return np.round(60.0 * np.exp(np.cumsum(returns - returns.mean(axis=0), axis=0)), 2)


def market(close: Any, symbols: str = "ABC", rows: slice = slice(None), **extra: Any) -> oo.Dataset:
    tables = {name: each[rows] for name, each in extra.items()}
    return oo.Dataset.from_arrays(DATES[rows], list(symbols), close[rows], **tables)


def sentences(old: oo.Dataset, new: oo.Dataset) -> list[str]:
    return [str(each) for each in differences(old, new)]


def test_the_same_market_has_no_differences() -> None:
    assert sentences(market(prices()), market(prices())) == []


def test_a_split_counts_as_re_adjustment_and_other_changes_as_revisions() -> None:
    old, new = prices(), prices()
    new[:SPLIT, 0] = np.round(old[:SPLIT, 0] / 4.0, 2)
    for bar, move in ((100, 1.03), (3000, 0.9), (N_BARS - 2, 1.01)):
        new[bar, 0] = np.round(new[bar, 0] * move, 2)
    volume = np.round(np.random.default_rng(1).lognormal(14.0, 0.5, old.shape))
    adjusted = volume.copy()
    adjusted[:SPLIT, 0] *= 4.0
    adjusted[7, 1] += 1.0
    lines = sentences(
        market(old, open=np.round(old * 1.001, 2), volume=volume), market(new, open=opens(old, SPLIT), volume=adjusted)
    )
    dates = ", ".join(DATES[bar] for bar in (100, 3000, N_BARS - 2))
    assert lines == [
        f"A: {SPLIT:,} rows re-adjusted for the split of 2020-07-31 (4 for 1); "
        f"3 closes revised ({dates}), by up to 10 %; {SPLIT:,} volumes rescaled with them",
        f"B: 1 volume changed ({DATES[7]})",
    ]


def opens(close: Any, before: int) -> Any:
    found = np.round(close * 1.001, 2)
    found[:before, 0] = np.round(found[:before, 0] / 4.0, 2)
    return found


@pytest.mark.parametrize(
    ("old_for_new", "cause"),
    [
        (2.0, "split of 2020-07-31 (2 for 1)"),
        (1.5, "split of 2020-07-31 (3 for 2)"),
        (20.0, "split of 2020-07-31 (20 for 1)"),
        (0.1, "split of 2020-07-31 (1 for 10)"),
        (1.0 / 0.99, "dividend of 2020-07-31 (1 % of the price)"),
        (1.0 / 0.9973, "dividend of 2020-07-31 (0.27 % of the price)"),
        (1.0 / 1.2345, "factor of 2020-07-31 (times 1.2345)"),
    ],
)
@pytest.mark.parametrize("seed", range(count(20, 4)))
@pytest.mark.parametrize("decimals", [2, 4, 12])
def test_a_re_adjustment_is_reported_with_its_cause(old_for_new: float, cause: str, seed: int, decimals: int) -> None:
    old = prices(seed, 1)
    new = old.copy()
    new[:SPLIT] = np.round(old[:SPLIT] / old_for_new, decimals)
    (said,) = sentences(market(old, "A"), market(new, "A"))
    if "factor" not in cause:
        assert said == f"A: {SPLIT:,} rows re-adjusted for the {cause}"
    assert said.startswith(f"A: {SPLIT:,} rows re-adjusted for the {cause[:24]}")


def test_many_dividends_are_counted_and_a_few_are_listed() -> None:
    old = prices()
    for n_dividends in (2, 3, 8):
        new = old.copy()
        for k in range(n_dividends):
            bar = 500 * (k + 1)
            new[:bar, 1] = np.round(new[:bar, 1] * 0.99, 6)
        (said,) = sentences(market(old), market(new))
        rows = f"B: {500 * n_dividends:,} rows re-adjusted for "
        last = DATES[500 * n_dividends]
        if n_dividends > 3:
            assert said == f"{rows}8 dividends, the last on {last}"
        else:
            assert said.startswith(f"{rows}the dividend of {DATES[500]} (1 % of the price) and ")
            assert said.count("the dividend of") == n_dividends


def test_an_event_after_all_common_bars_is_dated_after_them() -> None:
    close = prices()
    new = close.copy()
    new[:SPLIT, 2] = close[:SPLIT, 2] / 3.0
    lines = sentences(market(close, rows=slice(0, SPLIT)), market(new))
    assert lines == [
        f"{N_BARS - SPLIT} bars added after the last: 2020-07-31 to {DATES[-1]}",
        f"C: {SPLIT:,} rows re-adjusted for a split after 2020-07-30 (3 for 1)",
    ]


def test_added_and_removed_bars_and_symbols_are_reported_once() -> None:
    close = prices()
    renamed = market(np.column_stack([close, prices(1, 1)]), "AXCD", slice(10, N_BARS))
    within = np.delete(np.arange(N_BARS), [5, 9, 4000])
    old = oo.Dataset.from_arrays([DATES[bar] for bar in within], list("ABC"), close[within])
    assert sentences(old, renamed) == [
        f"1 bar added within: {DATES[4000]}",
        f"8 bars removed at the start: {DATES[0]} to {DATES[8]}",
        "1 symbol added: D",
        "B renamed X: the same closes",
    ]
    assert sentences(market(close).select(["B", "A"]), market(close).select(["A"]))[0] == "1 symbol removed: B"
    assert sentences(market(close), market(close).select(["C", "A", "B"])) == ["the symbols are in another order"]


def test_ambiguous_symbols_are_not_reported_as_renamed() -> None:
    close = prices()
    close[:, 1] = close[:, 0]
    lines = sentences(market(close), market(close, "XYC"))
    assert lines == ["2 symbols removed: A, B", "2 symbols added: X, Y"]


def test_corporate_actions_cells_columns_fundamentals_and_news_are_reported() -> None:
    close, ones = prices(), np.ones((N_BARS, 3))
    splits, dividends = ones.copy(), ones * 0.0
    splits[SPLIT, 0], dividends[50, 1] = 4.0, 0.25
    gap = close.copy()
    gap[77, 2] = np.nan
    old = market(close, splits=ones, dividends=dividends)
    lanes: dict[str, Any] = {
        "fundamentals": [("C", "2001-02-03", "eps", 1.0), ("C", "2001-03-03", "eps", 1.5)],
        "news": [("A", "2002-02-02", "up")],
    }
    new = oo.Dataset.from_arrays(
        DATES, list("ABC"), gap, splits=splits, dividends=dividends * 2.0, high=close, periods_per_year=260.0, **lanes
    )
    assert sentences(old, new) == [
        "the column high was added",
        "252 bars per year became 260 bars per year",
        "A: split of 2020-07-31 added (4); 1 headline added, known from 2002-02-02 on",
        f"B: dividend of {DATES[50]} changed from 0.25 to 0.5",
        f"C: 1 close removed ({DATES[77]}); 2 fundamentals (eps) added, known from 2001-02-03 on",
    ]
    assert "split of 2020-07-31 removed (4)" in str(differences(new, old)[2])


@DRAWS
@given(seed=st.integers(0, 2**32 - 1), cell=st.integers(0, 2**32 - 1))
def test_a_change_of_any_bit_is_reported(seed: int, cell: int) -> None:
    drawn = accepted(seed)[0]
    dataset = dataset_of(drawn)
    columns = dataset._columns()
    rng = np.random.default_rng(cell)
    tables = [name for name in ("close", "open", "volume", "tradable", "splits") if columns[name] is not None]
    name = tables[rng.integers(len(tables))]
    table = columns[name].copy()
    places = np.argwhere(table != 0.0 if name == "tradable" else np.isfinite(table) & (table != 0.0))
    if not len(places):
        return
    place = tuple(places[rng.integers(len(places))])
    table[place] = False if name == "tradable" else np.nextafter(table[place], 1.0 if table[place] != 1.0 else 2.0)
    changed = oo.Dataset.from_arrays(**columns | {name: table})
    (difference,) = differences(dataset, changed)
    assert difference.about == dataset.symbols[place[1]]
    (part,) = difference.parts
    assert part.facts["column"] == name
    assert part.facts["n"] == 1
    assert dataset.dates[place[0]] in str(part.facts["cells"])
    json.dumps(difference.to_dict(), allow_nan=False)


@DRAWS
@given(seed=st.integers(0, 2**32 - 1), other=st.integers(0, 2**32 - 1))
def test_a_difference_is_reported_if_and_only_if_fingerprints_differ(seed: int, other: int) -> None:
    markets = [dataset_of(accepted(each)[0]) for each in (seed, other)]
    for old in markets:
        for new in markets:
            found = differences(old, new)
            assert bool(found) == (old.fingerprint != new.fingerprint)
            assert all(str(each) for each in found)
            json.dumps([each.to_dict() for each in found], allow_nan=False)


def test_steps_of_empty_and_short_series() -> None:
    assert steps(np.ones(0), np.ones(0)).events == []
    old = np.linspace(10.0, 12.0, 50)
    new = old.copy()
    new[-4:] *= 2.0
    found = steps(old, new)
    assert found.events == []
    assert (found.ratio == 1.0).all()


def test_a_factor_near_one_is_a_dividend_and_not_a_split() -> None:
    assert named(3, 10.0 / 11.0, 0.0).kind == "dividend"
    assert named(3, 0.8, 0.0).what == "5 for 4"
    assert named(3, 0.81, 0.0).kind == "dividend"


def test_the_command_prints_differences_and_sets_the_exit_code(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("monday.csv", "tuesday.csv")]
    for file, factor in zip(files, (1.0, 4.0), strict=True):
        rows = [f"{DATES[bar]},{(100 + bar % 7) / (factor if bar < 30 else 1.0)}" for bar in range(40)]
        file.write_text("\n".join(["date,AAPL", *rows]) + "\n", encoding="utf-8")

    def call(*words: Any) -> tuple[int, str, str]:
        done = typed("data", "diff", *words)
        return done.returncode, done.stdout, done.stderr

    sentence = f"AAPL: 30 rows re-adjusted for the split of {DATES[30]} (4 for 1)"
    assert call(*files) == (1, sentence + "\n", "")
    code, printed, _ = call(*files, "--json")
    found = json.loads(printed)
    assert (code, found["same"], found["differences"][0]["sentence"]) == (1, False, sentence)
    assert found["differences"][0]["parts"][0]["events"][0]["factor"] == 0.25
    assert call(files[0], files[0])[0] == 0
    assert json.loads(call(files[0], files[0], "--json")[1])["differences"] == []
    code, _, complaint = call(files[0], tmp_path / "gone.csv")
    assert (code, complaint.count("\n")) == (2, 1)
