"""Input frames of a leak check: synthetic, bundled, or read from a file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from openoutcry.audits.leakcheck.agent_target import NEWS
from openoutcry.audits.leakcheck.frame_columns import NAMES, TIMES
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec
from openoutcry.untrusted.bounded_file import open_file

LIBRARIES = ("pandas", "polars", "numpy")

# A pipeline may look back more than a year; an environment or agent is slower, because it steps bar by bar.
BARS = {"pipeline": 1_000, "env": 400, "agent": 240}
SYMBOLS = {"pipeline": 1, "env": 1, "agent": 3}
SEED = 11
# Every symbol has a row for each date, so that the handling of missing rows by a pipeline does not matter.
_EVERY_DAY: dict[str, float] = {"late_listings": 0.0, "delisting_rate": 0.0, "halt_rate": 0.0}
_EVERY_DAY |= {"dividend_yield": 0.0, "split_above": 0.0}

_TABLES = {"open": "open", "high": "high", "low": "low", "close": "close", "volume": "volume"}
_TABLES |= {"dividends": "dividend", "splits": "split", "delistings": "delisting_return"}


def library_of(name: str | None) -> str:
    """Return the frame library to use; by default the first that is installed.

    Raises:
        OpenOutcryError: the library is unknown.
        ModuleNotFoundError: the library is not installed.
    """
    if name is None:
        return next((each for each in LIBRARIES if find_spec(each) is not None), "numpy")
    if name not in LIBRARIES:
        raise refusal("argument_invalid", f"`frame` must be one of {', '.join(LIBRARIES)}; received {name!r}")
    if find_spec(name) is None:
        raise ModuleNotFoundError(f"needs `pip install {name}`", name=name)
    return name


def synthetic(kind: str, library: str, n_bars: int | None = None, n_symbols: int | None = None) -> Any:
    """Return a synthetic frame of opens, highs, lows, closes and volumes.

    Dates are the index of a pandas frame with one symbol; a frame with several symbols has a symbol column. A frame
    for agents has a headline in each row that reports the move of its bar.
    """
    bars = BARS[kind] if n_bars is None else n_bars
    spec = ScenarioSpec("hard", n_symbols=SYMBOLS[kind] if n_symbols is None else n_symbols, n_days=bars, **_EVERY_DAY)
    columns = _long(Scenario(spec, SEED).dataset())
    if kind == "agent":
        moves = columns["close"] / columns["open"] - 1.0
        rows = zip(columns["symbol"], moves, strict=True)
        columns[NEWS] = np.array([f"{symbol} moves {move:+.2%} in a day" for symbol, move in rows], dtype=object)
    order = ["date", "symbol", "open", "high", "low", "close", "volume", NEWS]
    return frame_of({name: columns[name] for name in order if name in columns}, library, is_long=kind == "agent")


def from_dataset(dataset: Dataset, kind: str, library: str) -> Any:
    """Convert a dataset to a frame with the layout of `synthetic`."""
    return frame_of(_long(dataset), library, is_long=kind == "agent")


def read_file(path: Path, kind: str, library: str) -> Any:
    """Read a CSV or Parquet file and parse its dates.

    Raises:
        OpenOutcryError: `unknown_dataset`: the file cannot be read.
    """
    is_parquet = path.suffix == ".parquet"
    try:
        open_file(path, "a dataset", "unknown_dataset").close()
        if library == "polars" or find_spec("pandas") is None:
            import polars as pl

            table = pl.read_parquet(path) if is_parquet else pl.read_csv(path, try_parse_dates=True)
            columns = {each.name: np.array(each.to_numpy()) for each in table.get_columns()}
        else:
            import pandas as pd

            table = pd.read_parquet(path) if is_parquet else pd.read_csv(path)
            if not isinstance(table.index, pd.RangeIndex):
                table = table.reset_index()
            columns = {str(name): np.array(values.to_numpy()) for name, values in table.items()}
    except (OSError, ValueError, ImportError, pl_errors()) as error:
        reason = " ".join(str(error).split())
        message = f"a dataset must be a readable CSV or Parquet file; received '{path}': {reason}"
        raise refusal("unknown_dataset", message) from None
    for name, values in columns.items():
        if name.strip().lower() in TIMES and values.dtype.kind in "OUT":
            columns[name] = _dates(name, values)
    return frame_of(columns, library, is_long=kind == "agent")


def pl_errors() -> type[Exception]:
    """Return the base error of polars; OSError if polars is not installed."""
    if find_spec("polars") is None:
        return OSError
    from polars.exceptions import PolarsError

    error: type[Exception] = PolarsError
    return error


def frame_of(columns: dict[str, Any], library: str, *, is_long: bool) -> Any:
    """Build a frame from columns; dates of a single symbol become the pandas index."""
    time = next((name for name in columns if name.strip().lower() in TIMES), None)
    symbol = next((name for name in columns if name.strip().lower() in NAMES), None)
    is_single = symbol is not None and len(set(columns[symbol].tolist())) == 1
    if is_single and not is_long:
        columns = {name: values for name, values in columns.items() if name != symbol}
    if library == "numpy":
        kinds = [(name, "U32" if values.dtype.kind == "O" else values.dtype) for name, values in columns.items()]
        table = np.empty(len(next(iter(columns.values()))), dtype=kinds)
        for name, values in columns.items():
            table[name] = values
        return table
    if library == "polars":
        import polars as pl

        return pl.DataFrame(
            {name: values.tolist() if values.dtype.kind in "OU" else values for name, values in columns.items()}
        )
    import pandas as pd

    frame = pd.DataFrame(columns)
    is_indexed = time is not None and not is_long and (symbol is None or is_single)
    return frame.set_index(time) if is_indexed else frame


def _long(dataset: Dataset) -> dict[str, Any]:
    n_bars, n_symbols = dataset.close.shape
    columns: dict[str, Any] = {
        "date": np.repeat(_dates("date", np.array(dataset.dates)), n_symbols),
        "symbol": np.tile(np.array(dataset.symbols, dtype=object), n_bars),
    }
    for name, column in _TABLES.items():
        table = getattr(dataset, name)
        if table is not None:
            columns[column] = np.array(table).reshape(-1)
    # Rows without a close or a delisting are omitted.
    kept = np.isfinite(columns["close"])
    if "delisting_return" in columns:
        kept |= np.isfinite(columns["delisting_return"])
    return {name: values[kept] for name, values in columns.items()}


def _dates(name: str, values: Any) -> Any:
    texts = [str(value).removesuffix("Z") for value in values]
    try:
        return np.array(texts, dtype="datetime64[ns]")
    except ValueError:
        row = next(row for row, text in enumerate(texts) if not _is_date(text))
        received = repr(values[row]) if isinstance(values[row], str) else "none"
        message = f"`{name}` must contain ISO 8601 dates; received {received} in row {row}"
        raise refusal("date_invalid", message) from None


def _is_date(text: str) -> bool:
    try:
        np.datetime64(text, "ns")
    except ValueError:
        return False
    return True
