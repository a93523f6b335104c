"""What a request says, read in one way or refused as the protocol says."""

from __future__ import annotations

from functools import lru_cache
from unicodedata import category

from openoutcry import openoutcry_py as native
from openoutcry.arena.protocol import ArenaError, slug_of
from openoutcry.arena.times import moment_of
from openoutcry.openoutcry_py import OpenOutcryError


def json_text(body: bytes) -> str:
    """Return the text of a body, which every parser of JSON reads alike.

    Fields that come twice, half surrogates and bytes that are no UTF-8 end here.

    Raises:
        ArenaError: `invalid_payload`.
    """
    try:
        text = body.decode("utf-8")
        native.canonicalize(text)
    except UnicodeDecodeError as error:
        raise ArenaError("invalid_payload", f"UTF-8 is required; received byte {error.start} that is none") from error
    except OpenOutcryError as error:
        raise ArenaError("invalid_payload", _said(error)) from error
    return text


# Agents of one snapshot say the same moments.
@lru_cache(maxsize=1024)
def moment_at(field: str, text: object) -> int:
    """Return the moment that a member or a value of a query says.

    Raises:
        ArenaError: `invalid_payload`: it is no time in UTC.
    """
    try:
        return moment_of(field, text)
    except OpenOutcryError as error:
        raise ArenaError("invalid_payload", _said(error), field) from error


def slug_at(field: str, value: object) -> str:
    """Return the slug that somebody registers under, in lower case.

    Raises:
        ArenaError: `invalid_registration`: it is none.
    """
    slug = slug_of(value)
    if slug is None:
        wanted = "a slug of 1 to 40 of a-z, 0-9, `_` and `-`, beginning with a letter or a digit, is required"
        raise ArenaError("invalid_registration", wanted, field)
    return slug


def text_at(field: str, value: object, most: int, code: str = "invalid_payload") -> str | None:
    """Return a text for people without spaces around it, or None where it is none.

    Args:
        field: Where it stands.
        value: What came.
        most: Characters.
        code: Of the refusal.

    Raises:
        ArenaError: it is no text, too long, or has control characters or half surrogates.
    """
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > most or any(category(letter) in ("Cc", "Cs") for letter in value):
        told = f"a text of at most {most} characters, none of which controls, is required, or none"
        raise ArenaError(code, told, field)
    return value.strip() or None


def _said(error: OpenOutcryError) -> str:
    # The slug is of another table.
    return str(error).partition(": ")[2] or str(error)
