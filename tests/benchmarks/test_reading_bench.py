"""`openoutcry bench --data`: rows, goals, and a missing library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import openoutcry as oo
from openoutcry.benchmarks import reading_speed as bench
from openoutcry.cli import bench as command

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("N_SYMBOLS", 20), ("N_DAYS", 50), ("VENDOR_BYTES", 50_000), ("ROUNDS", 1)):
        monkeypatch.setattr(bench, name, size)


def test_the_bench_compares_with_pandas_and_polars(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    command.bench(
        check=False, batch=False, scenarios=False, score=False, agents=False, reading=True, intraday=False, as_json=True
    )
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    csv, parquet = rows["from_csv, 20 symbols x 50 days"], rows["from_parquet, 20 symbols x 50 days"]
    assert (csv["peer_is"], parquet["peer_is"]) == ("pandas.read_csv", "polars.read_parquet")
    # The goal is a multiple of the time of the peer.
    assert csv["bound"] == pytest.approx(bench.CSV * csv["ratio"] * csv["value"])
    assert parquet["bound"] == pytest.approx(bench.PARQUET * parquet["ratio"] * parquet["value"])
    for read in ("from_csv", "from_parquet"):
        assert rows[f"peak memory of {read}, above the imports"]["bound"] == bench.MEMORY
    assert any("vendor" in what for what in rows)


def test_the_files_of_the_bench_are_markets(tmp_path: Path) -> None:
    bench.write_long(tmp_path / "long.csv")
    market = oo.Dataset.from_csv(tmp_path / "long.csv")
    assert (market.n_symbols, market.n_bars, market.periods_per_year) == (20, 50, 252.0)
    bench.write_vendor(tmp_path / "V.csv")
    minutes = oo.Dataset.from_csv(tmp_path / "V.csv", bench.MINUTES, date_order="mdy")
    assert minutes.dates[:2] == ("2020-01-06T00:00:00", "2020-01-06T00:01:00")
    assert minutes.has_opens


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_missing_library_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # None in `sys.modules` makes an import fail.
    monkeypatch.setitem(bench.sys.modules, library, None)  # type: ignore[arg-type]
    with pytest.raises(ModuleNotFoundError, match=f"without {library}"):
        bench.measure()
