"""Open a market by name or path: bundled, file of prices, snapshot or bytes."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from openoutcry import data
from openoutcry.arguments import path_of
from openoutcry.data import file_import
from openoutcry.data.bundled.universe import NAMES
from openoutcry.data.dataset import Dataset
from openoutcry.data.readers import file_content
from openoutcry.data.readers.echoed_values import short
from openoutcry.data.readers.market_columns import ReadOptions
from openoutcry.data.snapshots import snapshot_files
from openoutcry.errors import refusal

BYTES = (".market", ".market.gz")
_DIGEST_DIGITS = 64


def open_market(
    source: str | os.PathLike[str],
    periods_per_year: float | None = None,
    *,
    others: Iterable[str] = (),
    cached: bool = False,
) -> Dataset:
    """Return a bundled market, or the market of a file.

    A file is one that `Dataset.from_csv` reads, a snapshot or its folder, or the output of `openoutcry data export`.
    Bundled markets have names such as `ecb-fx`, `ecb-fx:all` and `ecb-fx:USD,JPY`.

    Args:
        source: Name or path.
        periods_per_year: Bars per year of a file of prices; inferred from its dates by default.
        others: Names that the caller knows in addition, for the error message.
        cached: Whether a file of prices is read from the cache of commands if it is there.

    Raises:
        OpenOutcryError: the market is unknown or cannot be read.
    """
    path = path_of("dataset", source)
    name, _, universe = os.fspath(source).partition(":")
    stated = name if name in data.names() else "a snapshot" if is_snapshot(path) else ""
    stated = "a .market file" if path.name.endswith(BYTES) else stated
    if periods_per_year is not None and stated:
        message = f"`periods_per_year` must be left out with {stated}, which states it; received {periods_per_year}"
        if name not in data.names():
            command = f"openoutcry data import FILE --periods-per-year {periods_per_year:g} --out FOLDER"
            message += f"; hint: write another one from its file: `{command}`"
        raise refusal("argument_invalid", message)
    if name in data.names():
        return data.load(name, universe if universe in NAMES else universe.split(",") if universe else None)
    try:
        return _of_file(path, periods_per_year, cached=cached)
    except OSError as error:
        known = ", ".join([*data.names(), *others])
        message = f"a dataset must be one of {known}, or a file of prices, or a snapshot, or a .market file"
        message += f"; received {short(repr(os.fspath(source)))}: {error.strerror}"
        hint = "hint: `openoutcry data list` shows the bundled markets, and the path of a file is accepted"
        raise refusal("unknown_dataset", f"{message}; {hint}") from error
    except ModuleNotFoundError as error:
        wanted = f"a dataset must be a text file, because this form {error}"
        raise refusal("argument_invalid", f"{wanted}; received {os.fspath(source)!r}") from error


def is_snapshot(path: Path) -> bool:
    """Return whether a path is that of a snapshot; other JSON is a file of prices."""
    if _is_dir(path):
        return bool(_manifests(path))
    if path.suffix not in snapshot_files.SUFFIXES:
        return False
    if path.suffix != ".json" or not is_file(path):
        return True
    is_named = len(path.stem) == _DIGEST_DIGITS or path.with_suffix(".npz").is_file()
    return is_named or b'"openoutcry/snapshot/' in path.read_bytes()


def is_file(path: Path) -> bool:
    """Return whether a path is that of a file; a path that is too long is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _manifests(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if path.with_suffix(".npz").is_file())


def _of_file(path: Path, periods_per_year: float | None, *, cached: bool) -> Dataset:
    file_content.check_regular(path)
    if path.is_dir() and (manifests := _manifests(path)):
        if len(manifests) > 1:
            message = f"a folder of one snapshot is required; received {len(manifests)} in '{path}'"
            raise refusal("argument_invalid", f"{message}; hint: name one of them, such as '{manifests[0]}'")
        return snapshot_files.load(manifests[0])
    if is_snapshot(path):
        return snapshot_files.load(path)
    if path.name.endswith(BYTES):
        return _of_bytes(path)
    if not cached:
        read = Dataset.from_parquet if path.suffix == ".parquet" else Dataset.from_csv
        return read(path, periods_per_year)
    is_parquet = path.suffix == ".parquet"
    imported = file_import.import_parquet if is_parquet else file_import.import_file
    found = file_import.import_cached(imported, path, periods_per_year, ReadOptions())
    name = path.stem if is_parquet else path.name.partition(".")[0]
    return Dataset(found.core, name=name, notices=found.notices)


def _of_bytes(path: Path) -> Dataset:
    if path.suffix != ".gz":
        content = path.read_bytes()
    else:
        try:
            with gzip.open(path, "rb") as file:
                content = file_content.limited(file, path)
        # The archive is truncated or invalid; `FileNotFoundError` and its like have other types.
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            message = f"a complete gzip file is required; received '{path}', which is truncated or not gzip"
            raise refusal("argument_invalid", message) from error
    return Dataset.from_bytes(content, name=path.name.partition(".market")[0])
