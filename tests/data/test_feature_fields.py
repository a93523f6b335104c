"""Test features of files and frames, of fundamentals and of headlines."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.data.feed_features import fundamental, news_age

DAYS = [f"2024-01-{day:02d}" for day in range(1, 29)]
LONG = "date,symbol,close,rsi,feature_mood\n" + "".join(
    f"{day},{symbol},{100 + row + place},{2 * row + place},{'' if row == 2 else 0.5 * row}\n"
    for row, day in enumerate(DAYS)
    for place, symbol in enumerate("AB")
)
RULES: dict[str, Any] = {"rsi": "refuse", "feature_mood": "forward"}


def test_columns_of_a_long_file_are_features_of_symbols() -> None:
    market = oo.Dataset.from_csv(LONG, features=RULES)
    assert list(market.features) == ["rsi", "mood"]
    np.testing.assert_array_equal(market.features["rsi"].values, 2.0 * np.arange(28)[:, None] + [0, 1])
    assert market.features["mood"].values[:4, 0].tolist() == [0.0, 0.5, 0.5, 1.5]
    assert not any("not read" in notice for notice in market.notices)


def test_a_column_with_the_prefix_is_a_feature_and_needs_a_rule_for_missing_values() -> None:
    refused = r'value_invalid: feature "mood" at row 2 \(2024-01-03\), column "A".*features={"mood": "forward"}'
    with pytest.raises(oo.OpenOutcryError, match=refused):
        oo.Dataset.from_csv(LONG)
    assert oo.Dataset.from_csv(LONG, features={"rsi": "refuse", "mood": "forward"}).features["mood"].values[2, 0] == 0.5
    whole = LONG.replace(",\n", ",7\n")
    assert list(oo.Dataset.from_csv(whole).features) == ["mood"]


def test_a_frame_and_a_file_have_the_same_features(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    market = oo.Dataset.from_csv(LONG, features=RULES)
    frame = pandas.read_csv(io.StringIO(LONG))
    assert oo.Dataset.from_frame(frame, features=RULES) == market
    with pytest.raises(oo.OpenOutcryError, match=r"a feature must be a column other than .*; received 'close'"):
        oo.Dataset.from_frame(frame, features=["close"])
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "prices.parquet")
    assert oo.Dataset.from_parquet(tmp_path / "prices.parquet", features=RULES) == market


@pytest.mark.parametrize("value", ["inf", "-2e30"])
def test_values_that_observations_cannot_show_are_refused(value: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(io.StringIO(LONG)).astype({"rsi": float})
    frame.loc[4, "rsi"] = float(value)
    for rule in ("refuse", "forward", 0.0):
        with pytest.raises(oo.OpenOutcryError, match=r"rsi.* must be "):
            oo.Dataset.from_frame(frame, features=RULES | {"rsi": rule})
        with pytest.raises(oo.OpenOutcryError, match=r"rsi.* must be "):
            oo.Dataset.from_csv(frame.to_csv(index=False), features=RULES | {"rsi": rule})


def test_a_column_of_a_wide_file_is_a_feature_of_the_market() -> None:
    text = "date,A,B,vix\n" + "".join(f"{day},{100 + k},{50 + k / 2},{k / 7}\n" for k, day in enumerate(DAYS))
    market = oo.Dataset.from_csv(text, features=["vix"])
    assert market.symbols == ("A", "B")
    np.testing.assert_array_equal(market.features["vix"].values, np.arange(28) / 7)


def test_a_column_of_a_file_of_one_symbol_is_a_feature() -> None:
    rows = "".join(f"{day},{100 + k},{101 + k},{99 + k},{100 + k},1000,{k / 7}\n" for k, day in enumerate(DAYS))
    market = oo.Dataset.from_csv("Date,Open,High,Low,Close,Volume,rsi\n" + rows, symbol="X", features=["rsi"])
    assert market.features["rsi"].values.shape == (28, 1)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"features": ["age"]}, "`features` must name columns of the file; received 'age' among"),
        ({"features": "rsi"}, "`features` must be a list of names"),
        ({"features": ["close"]}, "a feature must be a column other than .*; received 'close'"),
        ({"features": {"symbol": "forward"}}, "a feature must be a column other than .*; received 'symbol'"),
        ({"features": RULES | {"mood": 0.0}}, "`features` must name each column once; received 'mood' twice"),
        ({"features": {"rsi": [1]}}, "`missing` of feature 'rsi' must be a number"),
        ({"features": RULES, "axis": "intersection"}, "`axis` must be left out with features"),
    ],
)
def test_what_cannot_be_read_is_refused(options: dict[str, Any], wanted: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=wanted):
        oo.Dataset.from_csv(LONG, **options)


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="the name of a feature must be unique; received 'rsi' for two of"):
        oo.Dataset.from_csv(LONG.replace("feature_mood", "feature_rsi"), features=["rsi"])


def test_features_of_several_files_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        rows = "".join(f"{day},{100 + k},{k}\n" for k, day in enumerate(DAYS))
        (tmp_path / name).write_text("date,close,feature_mood\n" + rows)
    with pytest.raises(oo.OpenOutcryError, match=r"features must be in one file; received a\.csv of several"):
        oo.Dataset.from_csv([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_a_command_reads_features(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(LONG)
    words = ["--data", str(tmp_path / "prices.csv"), "--feature", "rsi", "--feature", "feature_mood=forward"]
    run = ["run", *words, "--agent", "equal-weight", "--record", str(tmp_path / "run.json")]
    found = CliRunner().invoke(app, run)
    assert found.exit_code == 0, found.output
    record = oo.RunRecord.load(tmp_path / "run.json")
    assert oo.replay(record, oo.Dataset.from_csv(tmp_path / "prices.csv", features=RULES)).verified
    again = CliRunner().invoke(app, ["replay", str(tmp_path / "run.json"), *words])
    assert again.exit_code == 0, again.output


def test_fundamentals_and_headlines_are_features_when_they_are_known() -> None:
    market = oo.Dataset.from_arrays(
        DAYS,
        ["A", "B"],
        100.0 + np.arange(56).reshape(28, 2),
        fundamentals=[
            ("A", DAYS[3], "eps", 1.0),
            ("A", f"{DAYS[10]}T12:00:00", "eps", 2.0),
            ("B", DAYS[0], "eps", 5.0),
        ],
        news=[("A", DAYS[5], "first"), ("A", DAYS[9], "second")],
    ).with_features({"eps": fundamental("eps"), "age": news_age}, missing=-1.0)
    assert market.features["age"].values[4:11, 0].tolist() == [-1.0, 0.0, 1.0, 2.0, 3.0, 0.0, 1.0]
    seen: list[dict[str, Any]] = []

    def watch(observation: dict[str, Any]) -> dict[str, Any]:
        seen.extend(observation["symbols"])
        return {"orders": []}

    oo.run_backtest(market, watch, (2, 28))
    assert {each.get("fundamentals", {}).get("eps", -1.0) == each["features"]["eps"] for each in seen} == {True}
    with pytest.raises(oo.OpenOutcryError, match="must be a fundamental of the market; received 'pe'"):
        market.with_features({"pe": fundamental("pe")})
