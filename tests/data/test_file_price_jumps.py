"""Test notices of prices far from their neighbours, and of symbols without a close."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app

N = 60
DAYS = [f"{day:%Y-%m-%d}" for day in pd.bdate_range("2024-01-01", periods=N)]
WALK = (100.0 * np.exp(np.cumsum(np.random.default_rng(3).normal(0.0, 0.01, N)))).round(2)
Prices = npt.NDArray[np.float64]


def changed(**bars: float) -> Prices:
    """Return closes, some multiplied: `b5=100` is the close of bar 5."""
    close = WALK.copy()
    for name, factor in bars.items():
        close[int(name[1:])] *= factor
    return close


def read(close: Prices, door: str, folder: Path, **columns: Prices) -> oo.Dataset:
    """Read closes of A, next to those of B, by a door."""
    if door == "arrays":
        tables = {name: np.column_stack([values, WALK]) for name, values in columns.items()}
        return oo.Dataset.from_arrays(DAYS, ["A", "B"], np.column_stack([close, WALK]), **tables)
    frame = pd.DataFrame({"date": DAYS, "symbol": "A", "close": close, **columns})
    other = pd.DataFrame({"date": DAYS, "symbol": "B", "close": WALK, **dict.fromkeys(columns, WALK)})
    if "split" in columns:
        other["split"] = 1.0
    rows = pd.concat([frame, other])
    if door == "frame":
        return oo.Dataset.from_frame(rows)
    if door == "vendor":
        rows = rows.rename(columns={"symbol": "Ticker", "close": "Close"})
    if door == "parquet":
        rows.to_parquet(folder / "bars.parquet", index=False)
        return oo.Dataset.from_parquet(folder / "bars.parquet")
    if door == "wide":
        return oo.Dataset.from_csv(pd.DataFrame({"date": DAYS, "A": close, "B": WALK}).to_csv(index=False))
    (folder / "bars.csv").write_text(rows.to_csv(index=False))
    return oo.Dataset.from_csv(folder / "bars.csv")


DOORS = ["file", "vendor", "frame", "parquet", "wide", "arrays"]


def found(dataset: oo.Dataset) -> list[str]:
    return [notice for notice in dataset.notices if "hint: correct them" in notice or "in one unit" in notice]


@pytest.mark.parametrize("door", DOORS)
def test_a_close_far_from_both_neighbours_is_a_notice(door: str, tmp_path: Path) -> None:
    (notice,) = found(read(changed(b20=100), door, tmp_path))
    assert notice.startswith("1 close is at least 50 times the closes before and after, or at most 1/50, such as ")
    shown = f"{WALK[20] * 100:.6g} of A on {DAYS[20]}, between {WALK[19]:g} and {WALK[21]:g}"
    assert shown in notice
    several = found(read(changed(b20=0.01, b30=0.01, b31=0.01, b40=1000), door, tmp_path))
    assert several[0].startswith("4 closes are at least 50 times")
    assert len(several) == 1


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("factor", [100.0, 0.01, 1000.0])
def test_a_change_of_units_is_a_notice(factor: float, door: str, tmp_path: Path) -> None:
    (notice,) = found(read(np.where(np.arange(N) < 30, WALK * factor, WALK), door, tmp_path))
    assert "as between pence and pounds: A on " + DAYS[30] in notice
    assert f"from {WALK[29] * factor:.6g} to {WALK[30]:g}; hint: write all prices of a symbol in one unit" in notice


@pytest.mark.parametrize("place", [0, N - 1])
def test_the_first_or_last_close_in_another_unit_is_a_notice(place: int, tmp_path: Path) -> None:
    assert found(read(changed(**{f"b{place}": 100.0}), "file", tmp_path))


@pytest.mark.parametrize("door", ["file", "vendor", "frame", "arrays"])
def test_an_open_far_from_its_close_is_a_notice(door: str, tmp_path: Path) -> None:
    opens = WALK.copy()
    opens[20] /= 100
    column = {"open": opens}
    (notice,) = found(read(WALK, door, tmp_path, **column))
    assert f"{opens[20]:g} of A on {DAYS[20]}, with a close of {WALK[20]:g}" in notice
    # The open of a bar with such a close is right.
    assert "1 close is" in found(read(changed(b20=100), door, tmp_path, open=WALK))[0]
    assert len(found(read(changed(b20=100), door, tmp_path, open=WALK))) == 1


@pytest.mark.parametrize("ratio", [50.0, 100.0, 0.01])
def test_a_split_is_no_jump(ratio: float, tmp_path: Path) -> None:
    split = np.ones(N)
    split[30] = ratio
    dataset = read(np.where(np.arange(N) < 30, WALK * ratio, WALK), "file", tmp_path, split=split)
    assert not found(dataset)
    assert found(read(changed(b20=0.01), "file", tmp_path, split=np.ones(N)))


def test_real_moves_have_no_notice(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        moves = rng.standard_t(3, N) * 0.1
        moves[int(rng.integers(N))] += rng.choice([-3.0, 3.0])
        assert not found(read(np.exp(np.cumsum(np.clip(moves, -3.5, 3.5))), "frame", tmp_path))
    # A token that loses nearly everything within days.
    fall = np.where(np.arange(N) < 30, WALK, WALK * 0.004)
    assert not found(read(fall, "frame", tmp_path))
    ticks = np.maximum(1, 3 + np.cumsum(rng.choice([-1, 0, 1], N))) * 1e-4
    assert not found(read(ticks, "frame", tmp_path))


@pytest.mark.parametrize("door", ["file", "vendor", "frame", "parquet", "wide"])
def test_a_symbol_without_a_close_is_a_notice(door: str, tmp_path: Path) -> None:
    dataset = read(np.full(N, np.nan), door, tmp_path)
    if door == "wide":
        assert any("A never closes" in notice for notice in dataset.notices) or dataset.symbols == ("B",)
    else:
        assert "A never closes: it can never be traded" in dataset.notices
    assert not [notice for notice in read(WALK, door, tmp_path).notices if "never" in notice]


def test_the_check_of_a_file_shows_each_of_them_once(tmp_path: Path) -> None:
    rows = pd.DataFrame({"date": DAYS, "symbol": "A", "close": changed(b20=100)})
    rows = pd.concat([rows, pd.DataFrame({"date": DAYS, "symbol": "B", "close": np.nan})])
    (tmp_path / "bars.csv").write_text(rows.to_csv(index=False))
    result = CliRunner().invoke(app, ["data", "check", str(tmp_path / "bars.csv"), "--json"])
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    texts = [*shown["notices"], *shown.get("warnings", [])]
    assert sum("never close" in text for text in texts) == 1
    assert sum("1 close is at least 50 times" in text for text in texts) == 1
