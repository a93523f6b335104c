"""Errors raised in Python, in the same form as those raised by the native module."""

from __future__ import annotations

from openoutcry.openoutcry_py import OpenOutcryError as OpenOutcryError
from openoutcry.openoutcry_py import readable_message


def refusal(slug: str, message: str) -> OpenOutcryError:
    """Return an `OpenOutcryError` with a slug of `contract/errors.json`.

    The caller raises it. Control characters of the message are escaped, and a long one is cut in the middle.
    """
    error = OpenOutcryError(readable_message(f"{slug}: {message}"))
    error.slug = slug
    return error


def add_note(error: BaseException, text: str) -> None:
    """Add a line to the traceback of an exception in place."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        chain_note(error, text)


def chain_note(error: BaseException, text: str) -> None:
    """Attach a line to an exception; Python 3.10 has no `add_note`."""
    root, seen = error, {id(error)}
    while (cause := root.__cause__ or root.__context__) is not None and id(cause) not in seen:
        root = cause
        seen.add(id(root))
    root.__cause__ = RuntimeError(text)
    error.__notes__ = [*getattr(error, "__notes__", []), text]  # type: ignore[attr-defined]
