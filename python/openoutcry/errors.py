"""Refusals of the Python side, in the form of the native ones."""

from __future__ import annotations

from openoutcry.openoutcry_py import OpenOutcryError


def refusal(slug: str, message: str) -> OpenOutcryError:
    """Return the error of a slug of `contract/errors.json`, to be raised."""
    error = OpenOutcryError(f"{slug}: {message}")
    error.slug = slug
    return error


def tell(error: BaseException, text: str) -> None:
    """Add a line to what is shown of an exception, which stays the same object."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        chain(error, text)


def chain(error: BaseException, text: str) -> None:
    """Say a line as the first cause of an error.

    So `tell` does where exceptions have no notes, in Python 3.10.
    """
    root, seen = error, {id(error)}
    while (cause := root.__cause__ or root.__context__) is not None and id(cause) not in seen:
        root = cause
        seen.add(id(root))
    root.__cause__ = RuntimeError(text)
    error.__notes__ = [*getattr(error, "__notes__", []), text]  # type: ignore[attr-defined]
