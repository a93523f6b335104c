"""What a request says, read in one way or refused as the protocol says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from unicodedata import category

from openoutcry import openoutcry_py as native
from openoutcry.arena.protocol import MAX_DISPLAY_NAME, ArenaError, shown, slug_of
from openoutcry.arena.timestamps import parse_timestamp
from openoutcry.openoutcry_py import OpenOutcryError

_PARSED = re.compile(r"; received (?!the field |number |recursion ).* at (line [0-9]+) (column [0-9]+)$", re.DOTALL)
"""A parser's own words of what is no JSON, and where."""
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that are not seen themselves and change what else is."""
_BLANK = "\u115f\u1160\u3164\uffa0"
"""Letters of Hangul that show nothing."""


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
        raise ArenaError("invalid_payload", _PARSED.sub(r"; received what is none at \1, \2", _said(error))) from error
    return text


# Agents of one snapshot say the same moments.
@lru_cache(maxsize=1024)
def time_field(field: str, text: object) -> int:
    """Return the moment that a member or a value of a query says.

    Raises:
        ArenaError: `invalid_payload`: it is no time in UTC.
    """
    try:
        return parse_timestamp(field, text)
    except OpenOutcryError as error:
        raise ArenaError("invalid_payload", _said(error), field) from error


def slug_field(field: str, value: object) -> str:
    """Return the slug that somebody registers under, in lower case.

    Raises:
        ArenaError: `invalid_registration`: it is none.
    """
    slug = slug_of(value)
    if slug is None:
        wanted = "a slug of 1 to 40 of a-z, 0-9, `_` and `-`, beginning with a letter or a digit, is required"
        raise ArenaError("invalid_registration", f"{wanted}; received {shown(value)}", field)
    return slug


def text_field(field: str, value: object, most: int, code: str = "invalid_payload") -> str | None:
    """Return a text for people without spaces around it, or None where it is none.

    Args:
        field: Where it stands.
        value: What came.
        most: Characters.
        code: Of the refusal.

    Raises:
        ArenaError: it is no text, too long, or has characters that control, format or are half of one.
    """
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > most or any(category(letter) in _UNSEEN for letter in value):
        wanted = f"a text of at most {most} characters, none of which controls or hides others, is required, or none"
        raise ArenaError(code, f"{wanted}; received {shown(value)}", field)
    return value.strip() or None


def name_field(value: object) -> str | None:
    """Return the name of an agent for people, or None where it has none.

    Raises:
        ArenaError: `invalid_registration`: nobody could tell who it is.
    """
    told = text_field("display_name", value, MAX_DISPLAY_NAME, "invalid_registration")
    if told is None or any(category(letter)[0] in "LN" and letter not in _BLANK for letter in told):
        return told
    wanted = "a name with a letter or a digit is required, or none"
    raise ArenaError("invalid_registration", f"{wanted}; received {shown(value)}", "display_name")


_WANTED = {
    "missing": "a value",
    "string_type": "a text",
    "string_too_long": "a text of at most {max_length} characters",
    "float_type": "a number",
    "finite_number": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than_equal": "a number of at most {le:g}",
    "literal_error": "one of {expected}",
    "list_type": "a list",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def validation_error(error: Mapping[str, Any]) -> ArenaError:
    """Return the refusal of a value that a model does not take, in our words.

    Args:
        error: The first of a validation, with its input and context.
    """
    wanted = _WANTED.get(error["type"], "a value of the protocol").format_map(error.get("ctx", {})).replace("'", "")
    came = "none" if error["type"] == "missing" else shown(error["input"])
    place = path_of(tuple(error["loc"]))
    return ArenaError("invalid_payload", f"{wanted} is required; received {came}", place)


def path_of(place: tuple[int | str, ...]) -> str | None:
    """Return the path of a member in the form `decisions[2].yes_probability`."""
    told = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in place)
    return told.removeprefix(".") or None


def _said(error: OpenOutcryError) -> str:
    # The slug is of another table.
    return str(error).partition(": ")[2] or str(error)
