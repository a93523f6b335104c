"""Speed and memory of reading files, compared with pandas and polars."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from openoutcry.benchmarks.engine_speed import Row
from openoutcry.data.dataset import Dataset

N_SYMBOLS, N_DAYS, VENDOR_BYTES = 500, 5000, 10_000_000
ROUNDS = 5
# Minutes of a year around the clock.
MINUTES = 365.0 * 1440
# Goals: time relative to pandas and polars, memory relative to the tables, seconds for a file of a vendor.
CSV, PARQUET, MEMORY, VENDOR = 1.5, 2.0, 2.0, 2.0
_TINY = "date,symbol,close\n2024-01-02,A,1\n2024-01-03,A,1\n"
# The libraries are imported before, and the first file sets up what every file needs.
_PEAK = """
import sys
from pathlib import Path
from openoutcry.data.dataset import Dataset

def peak():
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

read = getattr(Dataset, sys.argv[1])
read(sys.argv[2])
before = peak()
read(sys.argv[3])
print(peak() - before)
"""


def measure() -> list[Row]:
    """Return the rows of CSV, Parquet and a file of a vendor; takes about a minute.

    Raises:
        ModuleNotFoundError: pandas, polars or pyarrow is not installed.
    """
    try:
        import pandas as pd
        import polars as pl
        import pyarrow  # noqa: F401 `from_parquet` needs it
    except ModuleNotFoundError as error:
        message = f"openoutcry.benchmarks.reading_speed needs `pip install pandas polars pyarrow`; without {error.name}"
        raise ModuleNotFoundError(message, name=error.name) from error
    with TemporaryDirectory() as place:
        csv, table, tiny = (Path(place, name) for name in ("long.csv", "long.parquet", "tiny.csv"))
        write_long(csv)
        tiny.write_text(_TINY, encoding="utf-8")
        for text in (csv, tiny):
            pl.read_csv(text, try_parse_dates=True).write_parquet(text.with_suffix(".parquet"))
        size = f"{N_SYMBOLS} symbols x {N_DAYS:,} days"
        rows = [
            _compared(f"from_csv, {size}", CSV, (Dataset.from_csv, pd.read_csv), csv, "pandas.read_csv"),
            _compared(f"from_parquet, {size}", PARQUET, (Dataset.from_parquet, pl.read_parquet), table, "polars"),
        ]
        for read, path in (("from_csv", csv), ("from_parquet", table)):
            times = _peak(read, tiny.with_suffix(path.suffix), path) / (16 * N_SYMBOLS * N_DAYS)
            rows.append(Row(f"peak memory of {read}, above the imports", times, MEMORY, " x tables"))
        vendor = Path(place, "vendor.csv")
        write_vendor(vendor)
        read_vendor = partial(Dataset.from_csv, periods_per_year=MINUTES, date_order="mdy")
        seconds = median(_seconds(read_vendor, vendor) for _ in range(ROUNDS))
        rows.append(Row(f"from_csv, vendor form, {vendor.stat().st_size / 1e6:.2g} MB", seconds, VENDOR, " s"))
        return rows


def write_long(path: Path) -> None:
    """Write closes and volumes of random walks: a row per weekday and symbol."""
    random = np.random.default_rng(0)
    names, close = [f"S{place:03}" for place in range(N_SYMBOLS)], np.full(N_SYMBOLS, 100.0)
    with path.open("w", encoding="utf-8") as file:
        file.write("date,symbol,close,volume\n")
        for day in np.busday_offset("2000-01-03", np.arange(N_DAYS), roll="forward").tolist():
            close *= np.exp(random.normal(0.0, 0.01, N_SYMBOLS))
            cells = zip(names, close.tolist(), random.integers(1_000, 10_000_000, N_SYMBOLS).tolist(), strict=True)
            file.writelines(f"{day},{name},{price:.2f},{volume}\n" for name, price, volume in cells)


def write_vendor(path: Path) -> None:
    """Write minute bars of one symbol, with American dates."""
    random, size, minute = np.random.default_rng(0), 0, np.datetime64("2020-01-06T00:00")
    with path.open("w", encoding="utf-8") as file:
        file.write("Date,Open,High,Low,Close,Volume\n")
        while size < VENDOR_BYTES:
            times, prices = (minute + np.arange(1440)).tolist(), (100.0 + random.random(1440)).tolist()
            for moment, price in zip(times, prices, strict=True):
                bar = f"{price:.4f},{price + 0.1:.4f},{price - 0.1:.4f},{price:.4f},{price * 100:.0f}"
                size += file.write(f"{moment:%m/%d/%Y %H:%M},{bar}\n")
            minute += 1440


def _compared(what: str, goal: float, reads: tuple[Callable[[Path], Any], ...], path: Path, peer: str) -> Row:
    """Return the row of a reader and its peer, measured in turns."""
    taken = [[_seconds(read, path) for read in reads] for _ in range(ROUNDS)]
    here, there = (median(column) for column in zip(*taken, strict=True))
    return Row(what, here, goal * there, " s", f"{there:.3g} s", there / here, peer)


def _seconds(read: Callable[[Path], Any], path: Path) -> float:
    start = time.perf_counter()
    read(path)
    return time.perf_counter() - start


def _peak(read: str, first: Path, path: Path) -> int:
    """Return the bytes by which the peak memory of a fresh process grows."""
    command = [sys.executable, "-c", _PEAK, read, str(first), str(path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
