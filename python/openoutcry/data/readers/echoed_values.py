"""Lengths of what a refusal repeats: a value of a file can be of any length."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from openoutcry.errors import OpenOutcryError

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
# Characters of one value, and of all before the hint.
_LONGEST, _MOST = 60, 500
_LONG = re.compile(rf"(\S{{{_LONGEST}}})\S{{20,}}")


def shortening(read: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Return a reader with refusals that repeat only the start of a long value.

    Numbers near the limits of floats may overflow in a check, which then sees infinity: that warns of nothing.
    """

    @wraps(read)
    def reading(*args: _Given.args, **kwargs: _Given.kwargs) -> _Found:
        try:
            with np.errstate(over="ignore", divide="ignore"):
                return read(*args, **kwargs)
        except OpenOutcryError as error:
            # In place: the refusal keeps its slug and its questions.
            error.args = (short(str(error)),)
            raise

    return reading


def short(message: str) -> str:
    """Return a message with long values cut; its hint stays."""
    said, mark, hint = message.rpartition("; hint: ")
    said, hint = (said, mark + hint) if mark else (message, "")
    said = _LONG.sub(r"\1…", said)
    if len(said) > _MOST:
        said = f"{said[: _MOST - 100]} … {said[-100:]}"
    return said + hint
