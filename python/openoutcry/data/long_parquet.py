"""Long Parquet files, which Arrow decodes in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.data.long_frames import LongRows, arrow_parts

# Rows of a part, parts that are decoded ahead, and bytes of a column that are read at once.
_ROWS, _AHEAD, _BUFFER = 1 << 17, 1, 1 << 16


def core_of(
    path: Path, n_rows: int, names: dict[str, str], periods_per_year: float | None
) -> tuple[native.Dataset, bool]:
    """Return the market of a long Parquet file, and whether a value is missing.

    Args:
        path: Path of the file.
        n_rows: Number of its rows.
        names: Columns of the file by their role.
        periods_per_year: Bars per year; inferred from the dates by default.

    Raises:
        OpenOutcryError: the first invalid key or value, with its row.
    """
    rows = LongRows(names, n_rows)
    for part in arrow_parts(_batches(path, names), names):
        rows.push(part)
    return rows.market(periods_per_year), rows.has_missing


def _batches(path: Path, names: dict[str, str]) -> Iterator[Any]:
    """Yield batches of the columns, keys that are texts as dictionaries.

    Threads of Arrow decode the next ones.
    """
    from pyarrow import dataset, fs

    stream = dataset.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=_BUFFER, pre_buffer=False)
    keys = [names[name] for name in ("date", "symbol")]
    form = dataset.ParquetFileFormat(dictionary_columns=keys, default_fragment_scan_options=stream)
    file = form.make_fragment(str(path), filesystem=fs.LocalFileSystem())
    yield from file.to_batches(
        columns=list(dict.fromkeys(names.values())),
        batch_size=_ROWS,
        batch_readahead=_AHEAD,
        fragment_readahead=1,
        memory_pool=_pool(),
    )


def _pool() -> Any:
    """Return the pool that keeps the least memory of earlier batches."""
    import pyarrow

    try:
        return pyarrow.jemalloc_memory_pool()
    except NotImplementedError:
        return pyarrow.default_memory_pool()
