"""The attempts to break out, by name."""

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
    """One attempt to break out.

    Attributes:
        group: Its module.
        name: Its function there.
        text: What it tries, in words.
        for_command: Whether a foreign command is stopped, too; it may fork and thread.
        is_ended: Whether it goes on until it is ended, by the harness or by itself.
        in_namespaces: Whether it is stopped from the third tier on, and not before.
        is_heavy: Whether it imports a library.
        is_slow: Whether it computes for a second.
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
