"""Long Parquet files. Several threads decode their columns in parts."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.data.long_frames import LongRows, arrow_parts

# Rows of a part, bytes of a column that are read at once, and threads that decode values.
_ROWS, _BUFFER, _THREADS = 1 << 15, 1 << 16, 2
# Parts after which a thread returns free memory.
_PARTS = 64


def core_of(path: Path, names: dict[str, str], periods_per_year: float | None) -> tuple[native.Dataset, bool]:
    """Return the market of a long Parquet file, and whether a value is missing.

    Args:
        path: Path of the file.
        names: Columns of the file by their role.
        periods_per_year: Bars per year; inferred from the dates by default.

    Raises:
        OpenOutcryError: the first invalid key, or the first invalid value of a column, with its row.
    """
    from pyarrow import parquet

    rows = LongRows(names, parquet.read_metadata(path).num_rows)
    keys = {name: names[name] for name in ("date", "symbol")}

    def read_values(name: str) -> None:
        first = 0
        for part in arrow_parts(_batches(path, [names[name]], []), {name: names[name]}):
            rows.push_values(name, part[name], first)
            first += len(part[name])

    with ThreadPoolExecutor(_THREADS) as threads:
        columns = [threads.submit(read_values, name) for name in rows.names]
        for part in arrow_parts(_batches(path, list(keys.values()), list(keys.values())), keys):
            rows.push_keys(part["date"], part["symbol"])
    for column in columns:
        column.result()
    return rows.market(periods_per_year), rows.has_missing


def _batches(path: Path, columns: list[str], texts: list[str]) -> Iterator[Any]:
    """Yield batches of columns, texts as dictionaries.

    The pool of Arrow keeps the memory of earlier batches per thread.
    """
    from pyarrow import default_memory_pool, parquet

    with parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False, buffer_size=_BUFFER) as file:
        for number, batch in enumerate(file.iter_batches(_ROWS, columns=columns, use_threads=False), start=1):
            yield batch
            if number % _PARTS == 0:
                default_memory_pool().release_unused()
