"""Validation of request fields; invalid values raise errors of the protocol."""

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
"""Message of the JSON parser about a syntax error and its position."""
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of invisible characters: control, format, surrogate, line and paragraph separator."""
_BLANK = "\u115f\u1160\u3164\uffa0"
"""Hangul letters that render as blanks."""


def json_text(body: bytes) -> str:
    """Decode a JSON body and check that every JSON parser reads it alike.

    Raises:
        ArenaError: `invalid_payload`: invalid UTF-8 or JSON, duplicate keys or lone surrogates.
    """
    try:
        text = body.decode("utf-8")
        native.canonicalize(text)
    except UnicodeDecodeError as error:
        raise ArenaError(
            "invalid_payload", f"UTF-8 is required; received an invalid byte at offset {error.start}"
        ) from error
    except OpenOutcryError as error:
        raise ArenaError(
            "invalid_payload", _PARSED.sub(r"; received invalid JSON at \1, \2", _message(error))
        ) from error
    return text


# Requests for one snapshot repeat the same times.
@lru_cache(maxsize=1024)
def time_field(field: str, text: object) -> int:
    """Parse a timestamp of a body or a query.

    Raises:
        ArenaError: `invalid_payload`: the value is not a time in UTC.
    """
    try:
        return parse_timestamp(field, text)
    except OpenOutcryError as error:
        raise ArenaError("invalid_payload", _message(error), field) from error


def slug_field(field: str, value: object) -> str:
    """Parse the slug of a registration; return it in lower case.

    Raises:
        ArenaError: `invalid_registration`: the value is not a slug.
    """
    slug = slug_of(value)
    if slug is None:
        wanted = "a slug of 1 to 40 characters a-z, 0-9, `_` and `-`, starting with a letter or a digit, is required"
        raise ArenaError("invalid_registration", f"{wanted}; received {shown(value)}", field)
    return slug


def text_field(field: str, value: object, most: int, code: str = "invalid_payload") -> str | None:
    """Parse a display text; return it stripped, or None if it is absent or blank.

    Args:
        field: Path of the field.
        value: The received value.
        most: Maximum number of characters.
        code: Error code.

    Raises:
        ArenaError: the value is not a string, is too long, or contains control or invisible characters.
    """
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > most or any(category(letter) in _UNSEEN for letter in value):
        wanted = f"a string of at most {most} characters without control or invisible characters is required, or null"
        raise ArenaError(code, f"{wanted}; received {shown(value)}", field)
    return value.strip() or None


def name_field(value: object) -> str | None:
    """Parse the display name of an agent, or return None without one.

    Raises:
        ArenaError: `invalid_registration`: the name has no visible letter or digit.
    """
    name = text_field("display_name", value, MAX_DISPLAY_NAME, "invalid_registration")
    if name is None or any(category(letter)[0] in "LN" and letter not in _BLANK for letter in name):
        return name
    wanted = "a name with a letter or a digit is required, or null"
    raise ArenaError("invalid_registration", f"{wanted}; received {shown(value)}", "display_name")


_WANTED = {
    "missing": "a value",
    "string_type": "a string",
    "string_too_long": "a string of at most {max_length} characters",
    "float_type": "a number",
    "finite_number": "a number",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "int_parsing": "an integer",
    "int_parsing_size": "an integer with fewer digits",
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
    """Convert a validation error of pydantic to an error of the protocol.

    Args:
        error: The first error of a validation, with its input and context.
    """
    wanted = _WANTED.get(error["type"], "a valid value").format_map(error.get("ctx", {})).replace("'", "")
    received = "none" if error["type"] == "missing" else shown(error["input"])
    path = path_of(tuple(error["loc"]))
    return ArenaError("invalid_payload", f"{wanted} is required; received {received}", path)


def path_of(location: tuple[int | str, ...]) -> str | None:
    """Return the path of a member in the form `decisions[2].yes_probability`."""
    path = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in location)
    return path.removeprefix(".") or None


def _message(error: OpenOutcryError) -> str:
    # Without the slug, which is an engine slug and not an error code of the Arena.
    return str(error).partition(": ")[2] or str(error)
