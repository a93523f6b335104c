"""Users' data in JavaScript and in Python: one text gives one market, the same notices or the same refusal."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders import count
from user_files import AT, BARS, DAYS, TEXTS, WALK, N, compared, random_text, reading

import openoutcry as oo
from openoutcry import openoutcry_py as native

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = count(2_000, 300)
# Dates of bars -> bars per year, None if the dates do not show it.
CALENDARS: dict[str, tuple[pd.DatetimeIndex, float | None]] = {
    "weekdays": (pd.bdate_range("2019-01-01", periods=300), 252.0),
    "Fridays": (pd.date_range("2019-01-04", periods=120, freq="W-FRI"), 52.0),
    "month ends": (pd.date_range("2015-01-31", periods=60, freq="ME"), 12.0),
    "hours": (pd.date_range("2024-01-01", periods=840, freq="h"), 8760.0),
    "a third of the days": (pd.DatetimeIndex(pd.date_range("2019-01-01", periods=900)[::3]), None),
    "minutes of one morning": (pd.date_range("2024-01-02 09:30", periods=30, freq="min"), None),
}
UNKNOWN = {"csv": "date,A\n" + "".join(f"2024-01-02T09:{30 + k}:00,{100 + k % 7}\n" for k in range(30))}


def in_node(what: str, given: Any, folder: Path) -> Any:
    file = folder / f"{what}.json"
    file.write_text(json.dumps(given), encoding="utf-8")
    here = ROOT / "tests" / "everywhere" / "node.mjs"
    command = ["node", here, ROOT / "rust" / "wasm" / "npm" / "dist" / "node.js", what, file]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_text_is_the_same_market_or_refusal_in_both_languages(tmp_path: Path) -> None:
    found = in_node("readings", [{"csv": text} for text in TEXTS.values()], tmp_path)
    assert dict(zip(TEXTS, map(compared, found), strict=True)) == {
        name: compared(reading(text)) for name, text in TEXTS.items()
    }
    refused = {name for name, each in zip(TEXTS, found, strict=True) if "slug" in each}
    assert refused == {
        "a split in adjusted prices",
        "an inverted ratio",
        "a split between two adjusted closes",
        "highs as lows",
        "a close outside of each bar",
        "opens as traded next to adjusted closes",
    }
    assert all(each["message"].count("hint:") == 1 for each in found if "slug" in each)


def test_random_texts_are_the_same_market_or_refusal_in_both_languages(tmp_path: Path) -> None:
    print(f"{ROUNDS} texts of the seeds from 0 on")
    texts = [random_text(seed) for seed in range(ROUNDS)]
    found = in_node("readings", [{"csv": text} for text in texts], tmp_path)
    for seed, (text, each) in enumerate(zip(texts, found, strict=True)):
        assert compared(each) == compared(reading(text)), seed
    messages = [each.get("message", "") for each in found]
    kinds = [
        sum(part in message for message in messages) for part in ("split", "highs must", "closes must", "opens must")
    ]
    assert min(*kinds, messages.count("")) > ROUNDS // 50, (kinds, messages.count(""))


@pytest.mark.parametrize("name", CALENDARS)
def test_the_bars_per_year_of_a_text_are_the_same_in_both_languages(name: str, tmp_path: Path) -> None:
    dates, periods = CALENDARS[name]
    is_daily = (dates == dates.normalize()).all()
    texts = [f"{date:%Y-%m-%d}" if is_daily else date.isoformat() for date in dates]
    text = "date,A\n" + "".join(f"{date},{100 + k % 7}\n" for k, date in enumerate(texts))
    stated = (None, 12.0, 252.0, 400.0)
    given = [{"csv": text, "options": {} if each is None else {"periodsPerYear": each}} for each in stated]
    found = in_node("readings", given, tmp_path)
    assert list(map(compared, found)) == [compared(reading(text, each)) for each in stated]
    assert found[0]["periods"] == periods
    is_unknown = any("hint: state `periodsPerYear`" in notice for notice in found[0]["notices"])
    assert is_unknown is (periods is None)


def test_an_annual_rate_on_unknown_bars_per_year_is_refused_with_the_option(tmp_path: Path) -> None:
    rates = {"financing_bps": 0, "cash_bps": 0, "borrow_bps": 5}
    given = {"market": UNKNOWN, "weights": [[0.5]] * 30, "settings": {"costs": rates}}
    found = in_node("runs", given, tmp_path)
    for each in found.values():
        assert each["slug"] == "cost_invalid"
        assert "for annual rates; received `borrow_bps` 5 and dates that do not show it" in each["message"]
        assert "hint: state `periodsPerYear` in `fromCsv`" in each["message"]


def test_a_run_on_unknown_bars_per_year_has_no_annual_numbers(tmp_path: Path) -> None:
    costs = {"financing_bps": 0, "cash_bps": 0, "borrow_bps": 0}
    given = {"market": UNKNOWN, "weights": [[0.5]] * 30, "settings": {"costs": costs}}
    found = in_node("runs", given, tmp_path)
    market = oo.Dataset.from_csv(UNKNOWN["csv"])
    run = oo.run_backtest(market, "momentum", costs=oo.CostModel(**costs), capture=True)
    assert found["agent"] == {"nav": run.nav.tolist(), "start": run.window.start}
    assert run.record is not None
    with pytest.raises(oo.OpenOutcryError, match="without a known number of bars per year") as refused:
        oo.score(run.record, dataset=market)
    assert found["board"]["slug"] == refused.value.slug
    assert found["board"]["message"].endswith(str(refused.value))


def test_weights_run_over_all_bars_by_default_in_both_languages(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 2))
    found = in_node("runs", {"market": {"csv": BARS}, "weights": weights.tolist(), "settings": {}}, tmp_path)
    run = oo.run_backtest(oo.Dataset.from_csv(BARS), weights)
    assert found["weights"] == {"nav": run.nav.tolist(), "start": 0}
    assert len(run.nav) == N
    assert found["agent"]["start"] == 19


@pytest.mark.parametrize("header", ["Open,High,Low,Price,Volume", "o,h,l,c,v", "LOW,OPEN,XOM", "Open,Settle"])
def test_fields_of_a_bar_are_no_symbols(header: str, tmp_path: Path) -> None:
    row = ",".join(["1"] * (header.count(",") + 1))
    text = f"date,{header}\n" + "".join(f"{day},{row}\n" for day in DAYS)
    (found,) = in_node("readings", [{"csv": text}], tmp_path)
    with pytest.raises(oo.OpenOutcryError) as refused:
        native.Dataset.from_csv(text)
    assert found["slug"] == refused.value.slug == "missing_column"
    assert found["message"].endswith(str(refused.value))
    assert "which column is the `close`" in found["message"] or "column `symbol` is required" in found["message"]


@pytest.mark.parametrize("header", ["A_Open,A_Close", "Close A,B,Volume A", "A.high,A.low,A.open"])
def test_columns_of_a_symbol_and_a_field_are_no_symbols(header: str, tmp_path: Path) -> None:
    row = ",".join(["1"] * (header.count(",") + 1))
    text = f"date,{header}\n" + "".join(f"{day},{row}\n" for day in DAYS)
    (found,) = in_node("readings", [{"csv": text}], tmp_path)
    assert found["slug"] == "unknown_column"
    assert "columns must be the closes of symbols; received" in found["message"]
    assert found["message"].count("hint:") == 1


def test_columns_keep_every_value_and_have_the_notices_of_arrays(tmp_path: Path) -> None:
    splits, volume = np.ones((N, 1)), np.zeros((N, 1))
    splits[AT] = 10.0
    tables = {"close": WALK[:, None], "splits": splits, "volume": volume}
    columns = {"dates": DAYS, "symbols": ["A"], **{name: table.tolist() for name, table in tables.items()}}
    (found,) = in_node("readings", [{"columns": columns}], tmp_path)
    market = oo.Dataset.from_arrays(DAYS, ["A"], **tables)
    assert found["fingerprint"] == market.fingerprint
    never = "A can never fill: its volume is 0 on every bar"
    assert [notice for notice in found["notices"] if notice != never] == list(market.notices)
    assert never in found["notices"]
