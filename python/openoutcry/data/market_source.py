"""Open a market by name or path: bundled, file of prices, snapshot or bytes."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from openoutcry import data
from openoutcry.arguments import is_file_object, path_of
from openoutcry.data import file_import
from openoutcry.data.bundled.universe import NAMES
from openoutcry.data.dataset import Dataset
from openoutcry.data.readers import file_content
from openoutcry.data.readers.echoed_values import short
from openoutcry.data.readers.file_objects import FileSource, source_of
from openoutcry.data.readers.market_columns import NO_OPTIONS, ReadOptions
from openoutcry.data.readers.questions import Question, questions_of
from openoutcry.data.snapshots import snapshot_files
from openoutcry.errors import OpenOutcryError, refusal

BYTES = (".market", ".market.gz")
_DIGEST_DIGITS = 64


def open_market(
    source: FileSource,
    periods_per_year: float | None = None,
    *,
    options: ReadOptions = NO_OPTIONS,
    others: Iterable[str] = (),
    is_command: bool = False,
) -> Dataset:
    """Return a bundled market, or the market of a file.

    A file is one that `Dataset.from_csv` reads, a snapshot or its folder, or the output of `openoutcry data export`.
    Bundled markets have names such as `ecb-fx`, `ecb-fx:all` and `ecb-fx:USD,JPY`.

    Args:
        source: Name, path, or file object of prices.
        periods_per_year: Bars per year of a file of prices; inferred from its dates by default.
        options: What a file of prices does not say.
        others: Names that the caller knows in addition, for the error message.
        is_command: Whether a command opens it: it has the options of the reader, and reads from the cache of commands.

    Raises:
        OpenOutcryError: the market is unknown or cannot be read.
    """
    if not isinstance(source, (str, os.PathLike)) and is_file_object(source):
        file = source_of("dataset", source)
        return Dataset._read(file_import.import_file(file, periods_per_year, options), name_of(file))
    path = path_of("dataset", source)
    assert isinstance(source, (str, os.PathLike)), "`path_of` refuses others"
    check_unread(source, periods_per_year, options)
    name, _, universe = os.fspath(source).partition(":")
    if name in data.names():
        return data.load(name, universe if universe in NAMES else universe.split(",") if universe else None)
    try:
        return _stated_market(path) or _of_prices(path, periods_per_year, options, is_command=is_command)
    except OSError as error:
        known = ", ".join([*data.names(), *others])
        message = f"a dataset must be one of {known}, or a file of prices, or a snapshot, or a .market file"
        message += f"; received {short(repr(os.fspath(source)))}: {error.strerror}"
        hint = "hint: `openoutcry data list` shows the bundled markets, and the path of a file is accepted"
        raise refusal("unknown_dataset", f"{message}; {hint}") from error


def named_market(source: str | os.PathLike[str]) -> str:
    """Return what a source names instead of a file of prices; empty for such a file."""
    path, name = path_of("dataset", source), os.fspath(source).partition(":")[0]
    if name in data.names():
        return name
    return "a snapshot" if is_snapshot(path) else "a .market file" if path.name.endswith(BYTES) else ""


def check_unread(source: str | os.PathLike[str], periods_per_year: float | None, options: ReadOptions) -> None:
    """Refuse options with a market that is not read from a file of prices.

    Raises:
        OpenOutcryError: `argument_invalid`: an option would have no effect.
    """
    year = {} if periods_per_year is None else {"periods_per_year": periods_per_year}
    given = year | options.stated()
    if given and (market := named_market(source)):
        name, value = next(iter(given.items()))
        message = f"`{name}` must be left out with {market}, which states it; received {value}"
        if periods_per_year is not None and market.startswith("a "):
            command = f"openoutcry data import FILE --periods-per-year {periods_per_year:g} --out FOLDER"
            message += f"; hint: write another one from its file: `{command}`"
        raise refusal("argument_invalid", message)


def is_snapshot(path: Path) -> bool:
    """Return whether a path is that of a snapshot; other JSON is a file of prices."""
    if _is_dir(path):
        return bool(_manifests(path))
    if path.suffix not in snapshot_files.SUFFIXES:
        return False
    if path.suffix != ".json" or not is_file(path):
        return True
    is_named = len(path.stem) == _DIGEST_DIGITS or path.with_suffix(".npz").is_file()
    return is_named or b'"openoutcry/snapshot/' in file_content.plain_bytes(path)


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


def _stated_market(path: Path) -> Dataset | None:
    """Return the market of a snapshot or of bytes; None for a file of prices."""
    file_content.check_regular(path)
    if path.is_dir() and (manifests := _manifests(path)):
        if len(manifests) > 1:
            message = f"a folder of one snapshot is required; received {len(manifests)} in '{path}'"
            raise refusal("argument_invalid", f"{message}; hint: name one of them, such as '{manifests[0]}'")
        return snapshot_files.load(manifests[0])
    if is_snapshot(path):
        return snapshot_files.load(path)
    return _of_bytes(path) if path.name.endswith(BYTES) else None


def _of_prices(path: Path, periods_per_year: float | None, options: ReadOptions, *, is_command: bool) -> Dataset:
    try:
        if is_command:
            found = file_import.import_cached(path, periods_per_year, options)
        else:
            found = file_import.import_file(path, periods_per_year, options)
    except ModuleNotFoundError as error:
        raise without_package(error, path, options) from error
    except OpenOutcryError as error:
        if is_command or not (questions := questions_of(error)):
            raise
        raise _asked_for_dataset(error, path, questions) from error
    return Dataset._read(found, name_of(path))


def name_of(path: Path) -> str:
    """Return the name of the market of a file of prices."""
    return path.stem if path.suffix == ".parquet" else path.name.partition(".")[0]


def without_package(error: ModuleNotFoundError, path: Path, options: ReadOptions) -> OpenOutcryError:
    """Return the refusal of a file or an option that needs another package."""
    what = options.calendar or options.axis if "calendars" in str(error) else path.name
    return refusal("argument_invalid", f"`{what}` {error}; received no such package")


def _asked_for_dataset(error: OpenOutcryError, path: Path, questions: list[Question]) -> OpenOutcryError:
    """Return the refusal of a path alone, with a hint at what takes the options."""
    message, _, _ = str(error).removeprefix(f"{error.slug}: ").partition("; hint: ")
    keywords, rest = ", ".join(each.keyword for each in questions), "".join(each.rest for each in questions)
    return refusal(error.slug, f"{message}; hint: pass Dataset.from_csv({os.fspath(path)!r}, {keywords}){rest}")


def _of_bytes(path: Path) -> Dataset:
    if path.suffix != ".gz":
        content = file_content.plain_bytes(path)
    else:
        try:
            content = file_content.decompressed(path)
        # The archive is truncated or invalid; `FileNotFoundError` and its like have other types.
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            message = f"a complete gzip file is required; received '{path}', which is truncated or not gzip"
            raise refusal("argument_invalid", message) from error
    return Dataset.from_bytes(content, name=path.name.partition(".market")[0])
