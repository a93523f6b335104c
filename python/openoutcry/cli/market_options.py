"""Markets, agents and pages as the command line names them."""

from __future__ import annotations

import gzip
import os
import string
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openoutcry import agents, data
from openoutcry.agents.python_worker import is_missing_dependency
from openoutcry.cli.name_suggestions import suggesting_names
from openoutcry.data.bundled.universe import NAMES
from openoutcry.data.dataset import Dataset
from openoutcry.data.snapshots import snapshot_files
from openoutcry.errors import refusal
from openoutcry.records.record_writer import RecordWriter
from openoutcry.records.run_record import check_record_path

SNAPSHOT = snapshot_files.SUFFIXES
BYTES = (".market", ".market.gz")


def open_dataset(source: str, periods_per_year: float | None = None) -> Dataset:
    """Return a bundled market, or that of a file.

    A file is CSV, Parquet, a snapshot, or what `data export` writes. Bundled ones are named like `ecb-fx`,
    `ecb-fx:all`, `ecb-fx:USD,JPY`.

    Raises:
        OpenOutcryError: it is none of these, or cannot be read.
    """
    name, _, universe = source.partition(":")
    path = Path(source)
    whole = "a snapshot, which says it" if path.suffix in SNAPSHOT else ""
    whole = "the bytes of a market, which say it" if path.name.endswith(BYTES) else whole
    if periods_per_year is not None and (name in data.names() or whole):
        what = whole or f"{name}, which says it"
        message = f"`--periods-per-year` must be left out with {what}; received {periods_per_year}"
        raise refusal("argument_invalid", message)
    if name in data.names():
        return data.load(name, universe if universe in NAMES else universe.split(",") if universe else None)
    bars = 252.0 if periods_per_year is None else periods_per_year
    try:
        if path.suffix in SNAPSHOT:
            return snapshot_files.load(path)
        if path.name.endswith(BYTES):
            return _of_bytes(path)
        return Dataset.from_parquet(path, bars) if path.suffix == ".parquet" else Dataset.from_csv(path, bars)
    except OSError as error:
        known = f"one of {', '.join(data.names())}, or a CSV or Parquet file, or a snapshot, or a .market file"
        message = f"a dataset must be {known}; received {source!r}: {error.strerror}"
        raise refusal("unknown_dataset", message) from error
    except ModuleNotFoundError as error:
        raise refusal(
            "argument_invalid", f"a dataset must be CSV here, as Parquet {error}; received {source!r}"
        ) from error


def _of_bytes(path: Path) -> Dataset:
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        # Of what was cut or is no archive; a file that cannot be read was told above.
        except (OSError, EOFError, zlib.error) as error:
            message = f"a whole file of gzip is required; received '{path}', which was cut or is none"
            raise refusal("argument_invalid", message) from error
    return Dataset.from_bytes(content, name=path.name.partition(".market")[0])


@contextmanager
def modules_here() -> Iterator[None]:
    """Find modules of the working folder before all others, as `python -m` does.

    After the block they are found after all others. It is for `module:function` of who runs the command. If the folder
    stayed in front, a file called as a module of Python would stand in for that in all that this package imports later.
    """
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")
        sys.path.append("")


def load_agent(name: str, seed: int) -> agents.Agent:
    """Return a baseline by name, or the callable at `module:function`.

    Raises:
        OpenOutcryError: there is no such baseline, module or callable. What else a module raises passes.
    """
    with suggesting_names(name):
        return _loaded(name, seed)


def _loaded(name: str, seed: int) -> agents.Agent:
    module = name.partition(":")[0]
    try:
        return agents.load(name, seed)
    except ModuleNotFoundError as error:
        # What the module itself imports in vain is its own fault, and keeps its traceback.
        if is_missing_dependency(error, module):
            raise
        message = f"an agent must be a baseline or `module:function`; received {name!r}, and no module {error.name!r}"
        raise refusal("unknown_agent", message) from error


def public_key_of(told: str) -> str:
    """Return a public key in hexadecimal, given as such or as the file that holds it.

    Raises:
        OpenOutcryError: `key_invalid`: it is neither.
    """
    if _is_key(told):
        return told.lower()
    try:
        held = Path(told).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        held = ""
    if not _is_key(held):
        wanted = "`--public-key` must be 64 hexadecimal digits, or a file that holds them"
        raise refusal("key_invalid", f"{wanted}; received {told!r}")
    return held.lower()


def _is_key(told: str) -> bool:
    return len(told) == 64 and not set(told) - set(string.hexdigits)


def is_streamed(path: Path) -> bool:
    """Return whether a record is written line by line, while its runs are made."""
    return path.name.removesuffix(".zst").endswith(".jsonl")


def record_to_write(path: Path, *, force: bool) -> Path:
    """Return the path of a record, once a new one can surely be written there.

    Raises:
        OpenOutcryError: the suffix is not that of a record, its folder is missing, or a file is there.
    """
    check_record_path(path)
    page_to_write(path, "--record")
    if path.exists() and not force:
        wanted = "`--record` must be a new file, or come with `--force`"
        raise refusal("argument_invalid", f"{wanted}; received '{path}', which is there")
    return path


def writer_of(path: Path, agent_id: str, in_sample_trials: int) -> RecordWriter | None:
    """Return what writes a record while its runs are made.

    None for a file that is written at their end.

    What is there is removed: `record_to_write` says whether it may be.
    """
    if not is_streamed(path):
        return None
    path.unlink(missing_ok=True)
    return RecordWriter(path, agent_id, in_sample_trials)


def page_to_write(path: Path, option: str = "--report") -> Path:
    """Return the path of a page, once it is sure that one can be written there.

    Raises:
        OpenOutcryError: its folder is missing, or it cannot be written to.
    """
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        message = f"`{option}` must be a file that can be written, in a folder that is there; received '{path}'"
        raise refusal("argument_invalid", message)
    return path


def picture_to_write(path: Path) -> Path:
    """Return the path of `--picture`, once it is sure that one can be written there.

    Raises:
        OpenOutcryError: it does not end in `.svg`, or as of `page_to_write`.
    """
    if path.suffix.lower() != ".svg":
        raise refusal("argument_invalid", f"`--picture` must be a path that ends in `.svg`; received '{path}'")
    return page_to_write(path, "--picture")
