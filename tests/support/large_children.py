"""Read a large file in a child process, with limits of its memory and of its processor time."""

from __future__ import annotations

import multiprocessing
import queue
import resource
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from large_files import TEXTS, LargeFile, Shape

EXPECTED = ("OpenOutcryError", "ModuleNotFoundError", "UnicodeError")


class Reading(NamedTuple):
    """Outcome of a reading: empty, or an exception; growth of the memory in bytes, processor time in seconds."""

    outcome: str
    growth: int
    seconds: float


def shapes() -> dict[str, Shape]:
    """Return all shapes that this installation can write."""
    try:
        from large_packed import PACKED
    except ModuleNotFoundError:
        return TEXTS
    return TEXTS | PACKED


def written(shape: Shape, size: int, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Write a file of a shape; return its path and the options of its reader."""
    file: LargeFile = shape(size)
    path = folder / f"prices{file.suffix}"
    path.write_bytes(file.content)
    return path, dict(file.options)


def read_all(files: list[tuple[str, Path, dict[str, Any]]], address_space: int, seconds: int) -> dict[str, Reading]:
    """Read files in one child process that has a limit of memory and of processor time.

    A child that is ended by a limit leaves out the reading of its last file.
    """
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    child = context.Process(target=_read, args=(files, address_space, seconds, results))
    child.start()
    found: dict[str, Reading] = {}
    while len(found) < len(files) and (child.is_alive() or not results.empty()):
        # An empty queue: the child works, or it has ended.
        with suppress(queue.Empty):
            name, outcome, growth, seconds = results.get(timeout=1.0)
            found[name] = Reading(outcome, growth, seconds)
    child.join()
    return found


def _read(files: list[tuple[str, Path, dict[str, Any]]], address_space: int, seconds: int, results: Any) -> None:
    import openoutcry as oo

    # Libraries that a reader imports are no growth of its memory.
    for library in ("pandas", "pyarrow.parquet", "pyarrow.feather"):
        with suppress(ModuleNotFoundError):
            import_module(library)
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = int(used.ru_utime + used.ru_stime) + 1
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, spent + seconds))
    for name, path, options in files:
        start, begun, outcome = _peak(), time.process_time(), ""
        try:
            oo.Dataset.from_csv(path, **options)
        except BaseException as error:  # noqa: BLE001 - what the reader must not raise is reported
            kinds = [kind.__name__ for kind in type(error).__mro__]
            outcome = "" if set(kinds) & set(EXPECTED) else f"{kinds[0]}: {error}"[:300]
        results.put((name, outcome, _peak() - start, time.process_time() - begun))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
