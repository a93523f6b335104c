"""Refusals of the Python side, in the form of the native ones."""

from __future__ import annotations

from openoutcry.openoutcry_py import OpenOutcryError


def refusal(slug: str, message: str) -> OpenOutcryError:
    """Return the error of a slug of `contract/errors.json`, to be raised."""
    error = OpenOutcryError(f"{slug}: {message}")
    error.slug = slug
    return error
