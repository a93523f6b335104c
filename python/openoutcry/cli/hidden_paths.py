"""Paths that a command hides from the agents that it starts."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

import typer

from openoutcry import data
from openoutcry.data import market_cache
from openoutcry.data.snapshots.snapshot_files import SUFFIXES
from openoutcry.ledger.jsonl_view import NAME as RUN_LIST
from openoutcry.ledger.ledger_store import default_folder, files_of
from openoutcry.ledger.sqlite_index import NAME as INDEX
from openoutcry.scoring.evaluation_journal import journal_of

SOURCES = ("source", "data", "public_key")
"""Parameters of commands with agents that are texts and may name files; those of type `Path` need no list."""

_OWN = "OPENOUTCRY_"
_OTHERS = ("*.entry", "*.part", f"{INDEX}.*")
"""Entries of the cache, and what a killed or running process has not renamed yet."""


def hidden_paths(context: typer.Context) -> list[Path]:
    """Return all paths that an agent of a command may not read.

    These are the files and folders that the command line names, whether they exist yet or not, except the agent itself:
    markets, suites, keys, records and their journals, reports, the ledger, other outputs. So are those that the shell
    connects to standard input, output and error, those that variables of this package name, the ledger of the user and
    the cache of markets. A folder that contains the agent's folder
    cannot be hidden; its files of this package are.
    """
    found = dict.fromkeys(each.absolute() for each in _named(context.params))
    agent_folder = Path.cwd().resolve()
    hidden: dict[Path, None] = {}
    for path in found:
        is_around = agent_folder.is_relative_to(path.resolve())
        hidden |= dict.fromkeys(_files_in(path) if is_around else [path, *_with(path)])
    return list(hidden)


def _named(params: dict[str, Any]) -> Iterator[Path]:
    for name, value in params.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        yield from (each for each in values if isinstance(each, Path) and str(each) != "-")
        if name in SOURCES:
            yield from (Path(each) for each in values if isinstance(each, str) and _is_path(each))
    yield from _redirected()
    yield default_folder()
    if (cache := market_cache.folder()) is not None:
        yield cache
    for name, text in os.environ.items():
        # `@` is before the name of a file with a value.
        path = Path(text.removeprefix("@"))
        if name.startswith(_OWN) and text and _exists(path):
            yield path


def _redirected() -> Iterator[Path]:
    """Yield the files of standard input, output and error, such as keys for `-`."""
    for descriptor in range(3):
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                yield Path(f"/proc/self/fd/{descriptor}").readlink()


def _is_path(text: str) -> bool:
    """Return whether a text names a file, and no market or suite of the package."""
    return text not in ("", "-") and text.partition(":")[0] not in data.names() and _exists(Path(text))


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        # A text with a zero byte.
        return False


def _with(path: Path) -> list[Path]:
    """Return the companions of a file.

    These are the other file of a snapshot, the journal, and parts that a killed process left.
    """
    name = escape(path.name)
    found = [journal_of(path), *path.parent.glob(f"{name}.*.part"), *path.parent.glob(f".{name}.*")]
    return found + [path.with_suffix(suffix) for suffix in SUFFIXES if path.suffix in SUFFIXES]


def _files_in(folder: Path) -> list[Path]:
    """Return the files of this package in a folder that contains the agent's folder."""
    manifests = [path for path in folder.glob("*.json") if path.with_suffix(".npz").is_file()]
    snapshots = [path.with_suffix(suffix) for path in manifests for suffix in SUFFIXES]
    others = [path for pattern in _OTHERS for path in folder.glob(pattern)]
    return [*files_of(folder), folder / RUN_LIST, *others, *snapshots]
