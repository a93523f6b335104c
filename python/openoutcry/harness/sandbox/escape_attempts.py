"""The list of escape attempts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from openoutcry.harness.sandbox import escapes
from openoutcry.harness.sandbox.escapes import files, kernel, language, network, processes, resources

FOLDER = Path(escapes.__file__).resolve().parent
_GROUPS = (language, files, processes, network, kernel, resources)


@dataclass(frozen=True)
class Attempt:
    """One attempt to escape from the sandbox.

    Attributes:
        group: Name of its module in `escapes`.
        name: Name of its function.
        text: Description, the first line of its docstring.
        for_command: Whether a foreign command must be stopped, too; a command may fork and start threads.
        is_ended: Whether it runs until it is killed or crashes.
        in_namespaces: Whether only tier T3 stops it.
        is_heavy: Whether it imports a library.
        is_slow: Whether it takes a second of processor time.
    """

    group: str
    name: str
    text: str
    for_command: bool
    is_ended: bool
    in_namespaces: bool
    is_heavy: bool
    is_slow: bool


@lru_cache(maxsize=1)
def attempts() -> tuple[Attempt, ...]:
    """Return all attempts, in the order of their modules."""
    return tuple(each for module in _GROUPS for each in _of(module))


def _of(module: ModuleType) -> Iterator[Attempt]:
    group = module.__name__.rpartition(".")[2]

    def is_in(names: str, name: str) -> bool:
        return name in getattr(module, names, ())

    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not is_in("HELPERS", name):
            text = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
            for_command = module is not language and not is_in("WORKER", name)
            kinds = (is_in(kind, name) for kind in ("ENDED", "NAMESPACES", "HEAVY", "SLOW"))
            yield Attempt(group, name, text, for_command, *kinds)
