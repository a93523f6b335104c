"""Open the markets, agents and output files named on the command line."""

from __future__ import annotations

import os
import string
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from openoutcry import agents
from openoutcry.agents.python_worker import is_missing_dependency
from openoutcry.cli.name_suggestions import suggesting_names
from openoutcry.cli.reader_options import NOTHING_STATED, Reading
from openoutcry.data.dataset import Dataset
from openoutcry.data.market_source import named_market, open_market
from openoutcry.data.snapshots import snapshot_files
from openoutcry.errors import refusal
from openoutcry.harness.agent_lookup import public_name
from openoutcry.records.record_writer import RecordWriter
from openoutcry.records.run_record import check_record_path
from openoutcry.scenarios.scenario import NAMES, Scenario, ScenarioSpec
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, KEY_BYTES, is_inherited, read_text

SNAPSHOT = snapshot_files.SUFFIXES
SCENARIO = typer.Option(
    None, help=f"The market is a scenario: a JSON file with its spec, or one of {', '.join(NAMES)}."
)
SCENARIO_KEY = typer.Option(None, help="Revealed key of that scenario, 64 hexadecimal digits.")


def open_dataset(source: str, reading: Reading = NOTHING_STATED) -> Dataset:
    """Return a bundled market, or the market of a file; see `open_market`.

    Raises:
        OpenOutcryError: the market is unknown or cannot be read.
    """
    return open_market(source, reading.periods_per_year, options=reading.options, is_command=True)


def open_datasets(sources: Sequence[str], reading: Reading) -> list[Dataset]:
    """Return the market of each source; the options are for the files of prices.

    Raises:
        OpenOutcryError: a market is unknown or cannot be read, or options are given and no source is a file of prices.
    """
    are_files = [not named_market(each) for each in sources]
    if not any(are_files):
        reading.refuse(", ".join(sources) or "no `--data`")
    pairs = zip(sources, are_files, strict=True)
    return [open_dataset(each, reading if is_file else NOTHING_STATED) for each, is_file in pairs]


@contextmanager
def working_directory_modules() -> Iterator[None]:
    """Put the working directory first on `sys.path`, to import `module:function`.

    After the block it is last. If it stayed first, a file of the user with the name of a standard module would replace
    that module in later imports of this package.
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
        OpenOutcryError: no such baseline, module or callable exists. Other exceptions of the module propagate.
    """
    with suggesting_names(name):
        return _loaded(name, seed)


def _loaded(name: str, seed: int) -> agents.Agent:
    module = name.partition(":")[0]
    if "@" in name:
        wanted = "an agent must be a baseline or `module:function`"
        raise refusal("unknown_agent", f"{wanted}; received {public_name(name)!r}")
    try:
        return agents.load(name, seed)
    except ModuleNotFoundError as error:
        # A missing import inside the module is a bug of the agent and keeps its traceback.
        if is_missing_dependency(error, module):
            raise
        message = f"an agent must be a baseline or `module:function`; received {name!r}, and no module {error.name!r}"
        raise refusal("unknown_agent", message) from error


def public_key_of(key: str) -> str:
    """Return a public key in hexadecimal, given directly or as a file.

    Raises:
        OpenOutcryError: `key_invalid`: the value is neither.
    """
    if _is_key(key):
        return key.lower()
    try:
        content = read_text(key, KEY_BYTES, "`--public-key`", "key_invalid").strip()
    except (OSError, UnicodeDecodeError):
        content = ""
    if not _is_key(content):
        wanted = "`--public-key` must be 64 hexadecimal digits, or a file that contains them"
        raise refusal("key_invalid", f"{wanted}; received {key!r}")
    return content.lower()


def _is_key(text: str) -> bool:
    return len(text) == 64 and not set(text) - set(string.hexdigits)


def is_streamed(path: Path) -> bool:
    """Return whether a record is written line by line during its runs."""
    return path.name.removesuffix(".zst").endswith(".jsonl")


def checked_record_file(path: Path, *, force: bool) -> Path:
    """Check that a new record can be written to a path, and return the path.

    Raises:
        OpenOutcryError: the suffix is not that of a record, the folder does not exist, or the file exists.
    """
    check_record_path(path, "`--record`")
    checked_output_file(path, "--record")
    if path.exists() and not force:
        message = f"`--record` must be a new file; received '{path}', which exists"
        raise refusal("argument_invalid", f"{message}; hint: `--force` overwrites it")
    return path


def record_writer_for(path: Path, agent_id: str, in_sample_trials: int) -> RecordWriter | None:
    """Return a writer for a record that is written during its runs.

    None if it is written at the end.

    An existing file is deleted: call `checked_record_file` first.
    """
    if not is_streamed(path):
        return None
    path.unlink(missing_ok=True)
    return RecordWriter(path, agent_id, in_sample_trials)


def checked_output_file(path: Path, option: str = "--report") -> Path:
    """Check that a file can be written to a path, and return the path.

    Raises:
        OpenOutcryError: the folder does not exist, the file cannot be written, or the path is a named pipe, which may
            never have a reader.
    """
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        message = f"`{option}` must be a writable file in an existing folder; received '{path}'"
        raise refusal("argument_invalid", message)
    if path.is_fifo() and not is_inherited(path.stat()):
        message = f"`{option}` must be a file; received '{path}', which is a named pipe; hint: name a new file"
        raise refusal("argument_invalid", message)
    return path


def checked_picture_file(path: Path) -> Path:
    """Check that a picture can be written to `--picture`, and return its path.

    Raises:
        OpenOutcryError: the path does not end in `.svg`, or `checked_output_file` raises.
    """
    if path.suffix.lower() != ".svg":
        raise refusal("argument_invalid", f"`--picture` must be a path that ends in `.svg`; received '{path}'")
    return checked_output_file(path, "--picture")


def revealed_scenario(name: str | None, key: str | None) -> Scenario | None:
    """Return the scenario of `--scenario` and `--scenario-key`; None without them.

    Raises:
        OpenOutcryError: `argument_invalid`: only one is given, the scenario is unknown, or the key is invalid.
    """
    if (name is None) != (key is None):
        given = "--scenario" if key is None else "--scenario-key"
        raise refusal(
            "argument_invalid", f"`--scenario` and `--scenario-key` must be given together; received `{given}` alone"
        )
    if name is None or key is None:
        return None
    if name in NAMES:
        return Scenario.revealed(name, key)
    try:
        spec = ScenarioSpec.from_json(read_text(name, DOCUMENT_BYTES, "`--scenario`"))
    except (OSError, UnicodeDecodeError) as error:
        wanted = f"`--scenario` must be one of {', '.join(NAMES)}, or a JSON file with a spec"
        raise refusal("argument_invalid", f"{wanted}; received {name!r}") from error
    return Scenario.revealed(spec, key)
