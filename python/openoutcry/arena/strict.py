"""What a request says, read in one way or refused as the protocol says."""

from __future__ import annotations

from functools import lru_cache

from openoutcry import openoutcry_py as native
from openoutcry.arena.protocol import ArenaError
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


def _said(error: OpenOutcryError) -> str:
    # The slug is of another table.
    return str(error).partition(": ")[2] or str(error)
