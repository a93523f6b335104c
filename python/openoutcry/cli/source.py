"""Markets and agents as the command line names them."""

from __future__ import annotations

from pathlib import Path

from openoutcry import data
from openoutcry.dataset import Dataset


def open_dataset(source: str) -> Dataset:
    """Return a bundled market, or the market of a CSV or Parquet file.

    Bundled ones are named like `ecb-fx`, `ecb-fx:all`, `ecb-fx:USD,JPY`.

    Raises:
        ValueError: it is neither.
    """
    name, _, universe = source.partition(":")
    if name in data.names():
        chosen: str | list[str] | None = universe.split(",") if "," in universe else universe or None
        return data.load(name, chosen)
    path = Path(source)
    if not path.is_file():
        known = ", ".join(data.names())
        raise ValueError(f"data must be one of {known}, or a CSV or Parquet file; received {source!r}")
    return Dataset.from_parquet(path) if path.suffix == ".parquet" else Dataset.from_csv(path)
