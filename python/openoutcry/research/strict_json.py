"""JSON that a journal can hold, read from texts of strangers."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn

_LARGEST = 2**53
_DEEPEST = 32
_DEEPEST_BODY = 64


class NotPlain(ValueError):  # noqa: N818 it is no fault of ours
    """A text is no JSON, or JSON that a journal cannot hold."""


def read_plain(text: str) -> Any:
    """Return the value of a text of JSON.

    Raises:
        NotPlain: it is no JSON; or it has a number that is not finite, an integer beyond 2^53, a field twice, half of a
            surrogate pair, or is more than 32 deep.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once)
    except NotPlain:
        raise
    except RecursionError:
        raise NotPlain(f"JSON must be at most {_DEEPEST} deep") from None
    except ValueError as error:
        raise NotPlain(str(error)[:200]) from None
    check_plain(value)
    return value


def read_body(text: str) -> Any:
    """Return the value of a text of JSON that nothing but a depth is asked of.

    Raises:
        NotPlain: it is no JSON, or more than 64 deep.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotPlain(f"{type(error).__name__}: {error}"[:200]) from None
    level = [value]
    for _ in range(_DEEPEST_BODY):
        level = [part for each in level for part in _inside(each)]
    if level:
        raise NotPlain(f"JSON must be at most {_DEEPEST_BODY} deep")
    return value


def check_plain(value: Any) -> None:
    """Look through plain values for what a journal cannot hold.

    Raises:
        NotPlain: there is some.
    """
    level = [value]
    for _ in range(_DEEPEST):
        if not level:
            return
        level = [part for each in level for part in _parts(each)]
    if level:
        raise NotPlain(f"JSON must be at most {_DEEPEST} deep")


def _inside(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise NotPlain("names of fields must be texts")
        return [*value, *value.values()]
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotPlain("a text must have no half of a surrogate pair") from None
    elif isinstance(value, bool) or value is None:
        pass
    elif isinstance(value, int):
        if abs(value) > _LARGEST:
            raise NotPlain("an integer must be within 2^53")
    elif isinstance(value, float):
        if not isfinite(value):
            raise NotPlain("a number must be finite")
    else:
        raise NotPlain(f"a value must be one of JSON; received {type(value).__name__}")
    return []


def _no_constant(name: str) -> NoReturn:
    raise NotPlain(f"a number must be finite; received {name}")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise NotPlain(f"a number must be finite; received {text[:40]}")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotPlain("a field must be given once")
    return found
