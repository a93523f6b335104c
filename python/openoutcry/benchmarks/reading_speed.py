"""Speed and memory of reading files, compared with pandas and polars.

Each reader reads in a fresh process, the readers in turns. Within one process the time of a later read depends on the
memory that its allocator has kept of earlier ones, which differs between libraries and from run to run. A small file is
read before, so that imports and the start of threads do not count. The time ends when the tables are there; that of
their release does not count. Figures are medians.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from openoutcry.benchmarks.engine_speed import Row
from openoutcry.data.dataset import Dataset

N_SYMBOLS, N_DAYS, VENDOR_BYTES = 500, 5000, 10_000_000
ROUNDS = 7
# Minutes of a year around the clock.
MINUTES = 365.0 * 1440
# Goals: time relative to pandas and polars, memory relative to the tables, seconds for a file of a vendor.
CSV, PARQUET, MEMORY, VENDOR = 1.5, 2.0, 2.0, 2.0
_TINY = "date,symbol,close\n2024-01-02,A,1\n2024-01-03,A,1\n"
# Prints the seconds of a read, and the bytes by which it grows the peak memory of the process.
_READ = """
import sys
import time
from functools import reduce
from importlib import import_module
from pathlib import Path

def peak():
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

module, names, first, path = sys.argv[1:]
read = reduce(getattr, names.split("."), import_module(module))
read(first)
before, start = peak(), time.perf_counter()
table = read(path)
print(time.perf_counter() - start, peak() - before)
"""


class _Reader(NamedTuple):
    """A module, and the name of its reader."""

    module: str
    name: str


def measure() -> list[Row]:
    """Return the rows of CSV, Parquet and a file of a vendor; takes about a minute.

    Raises:
        ModuleNotFoundError: pandas, polars or pyarrow is not installed.
    """
    try:
        import pandas as pd  # noqa: F401 the other processes import it
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
        rows = [
            *_compared("from_csv", CSV, _Reader("pandas", "read_csv"), (tiny, csv)),
            *_compared(
                "from_parquet", PARQUET, _Reader("polars", "read_parquet"), (tiny.with_suffix(".parquet"), table)
            ),
        ]
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


def _compared(name: str, goal: float, peer: _Reader, paths: tuple[Path, Path]) -> list[Row]:
    """Return the rows of the time and of the memory of a reader of `Dataset`.

    Args:
        name: Its name.
        goal: The most time, relative to the peer.
        peer: The reader to compare with, measured in turns.
        paths: A small file, and the file.
    """
    readers = (_Reader("openoutcry.data.dataset", f"Dataset.{name}"), peer)
    rounds = [[_read(reader, paths) for reader in readers] for _ in range(ROUNDS)]
    (here, memory), (there, _) = (map(median, zip(*column, strict=True)) for column in zip(*rounds, strict=True))
    what, times = f"{name}, {N_SYMBOLS} symbols x {N_DAYS:,} days", memory / (16 * N_SYMBOLS * N_DAYS)
    peer_is = f"{peer.module}.{peer.name}"
    return [
        Row(what, here, goal * there, " s", f"{there:.3g} s", there / here, peer_is),
        Row(f"peak memory of {name}, above the imports", times, MEMORY, " x tables"),
    ]


def _read(reader: _Reader, paths: tuple[Path, Path]) -> tuple[float, float]:
    """Return the seconds of a read in a fresh process, and its peak memory in bytes."""
    command = [sys.executable, "-c", _READ, *reader, *map(str, paths)]
    seconds, size = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(size)


def _seconds(read: Callable[[Path], Any], path: Path) -> float:
    start = time.perf_counter()
    read(path)
    return time.perf_counter() - start
