"""Strict JSON of untrusted text: values that a journal can hold."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn

_LARGEST = 2**53
_DEEPEST = 32
_DEEPEST_BODY = 64


class InvalidJson(ValueError):  # noqa: N818 the input is invalid, not the program
    """The text is not JSON, or holds values that a journal cannot hold."""


def read_strict_json(text: str) -> Any:
    """Return the value of a JSON text, under strict rules.

    Raises:
        NotPlain: the text is not JSON, or holds a number that is not finite, an integer beyond 2^53, a duplicate field,
            a lone surrogate, or more than 32 levels.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once)
    except InvalidJson:
        raise
    except RecursionError:
        raise InvalidJson(f"JSON must be at most {_DEEPEST} deep") from None
    except ValueError as error:
        raise InvalidJson(str(error)[:200]) from None
    check_json_value(value)
    return value


def read_json(text: str) -> Any:
    """Return the value of a JSON text, checked for depth only.

    Raises:
        NotPlain: the text is not JSON, or has more than 64 levels.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"{type(error).__name__}: {error}"[:200]) from None
    level = [value]
    for _ in range(_DEEPEST_BODY):
        level = [part for each in level for part in _inside(each)]
    if level:
        raise InvalidJson(f"JSON must be at most {_DEEPEST_BODY} deep")
    return value


def check_json_value(value: Any) -> None:
    """Check that a journal can hold a value.

    Raises:
        NotPlain: it cannot.
    """
    level = [value]
    for _ in range(_DEEPEST):
        if not level:
            return
        level = [part for each in level for part in _parts(each)]
    if level:
        raise InvalidJson(f"JSON must be at most {_DEEPEST} deep")


def _inside(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise InvalidJson("field names must be strings")
        return [*value, *value.values()]
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidJson("a string must not hold a lone surrogate") from None
    elif isinstance(value, bool) or value is None:
        pass
    elif isinstance(value, int):
        if abs(value) > _LARGEST:
            raise InvalidJson("an integer must be within 2^53")
    elif isinstance(value, float):
        if not isfinite(value):
            raise InvalidJson("a number must be finite")
    else:
        raise InvalidJson(f"a value must be a JSON value; received {type(value).__name__}")
    return []


def _no_constant(name: str) -> NoReturn:
    raise InvalidJson(f"a number must be finite; received {name}")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise InvalidJson(f"a number must be finite; received {text[:40]}")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidJson("field names must be unique")
    return found
