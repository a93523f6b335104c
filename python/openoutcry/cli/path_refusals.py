"""Refusals of folders in place of files, and of other unusable paths.

Every command reads and writes files through several layers. What none of them refuses is refused here, so that a wrong
path is never a traceback.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from openoutcry.errors import refusal
from openoutcry.ledger.ledger_store import default_folder
from openoutcry.openoutcry_py import OpenOutcryError


def refused_path(error: OSError, words: Iterable[str]) -> OpenOutcryError | None:
    """Return the refusal of a path of a command or below one; None for others.

    An error of another path, such as one of an agent in this process, keeps its traceback.

    Args:
        error: What the operating system reported.
        words: Words of the command line.
    """
    paths = [Path(os.fsdecode(each)) for each in (error.filename2, error.filename) if isinstance(each, (str, bytes))]
    named = [Path(each.partition("=")[2] or each).absolute() for each in words if each] + [default_folder().absolute()]
    found = next((path for path in paths if any(path.absolute().is_relative_to(each) for each in named)), None)
    if found is None:
        return None
    received = f"received '{found}': {error.strerror}"
    if is_folder(found):
        hint = "hint: it is a folder; name a file, or move the folder away"
        return refusal("argument_invalid", f"a file is required; {received}; {hint}")
    hint = "hint: check the path, its kind and the rights to it"
    return refusal("argument_invalid", f"a path that can be used is required; {received}; {hint}")


def with_folder_hint(message: str, words: Iterable[str]) -> str:
    """Return an error message, with a hint if it quotes a folder of the command."""
    # A message that asks for a folder may quote one.
    if "hint:" in message or "folder is required" in message:
        return message
    given = (text for each in words for text in (each, each.partition("=")[2]))
    folder = next((each for each in given if each and f"'{each}'" in message and is_folder(Path(each))), None)
    return message if folder is None else f"{message}; hint: '{folder}' is a folder; name a file"


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
