"""Arguments of the Python side.

They are refused where they are not what is required, never taken for something else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits


def whole(name: str, value: Any, least: int, most: int, slug: str = "argument_invalid") -> int:
    """Return an integer of Python or numpy within a range; a bool is none."""
    if not is_whole(value) or not least <= index(value) <= most:
        raise refusal(slug, f"`{name}` must be an integer from {least} to {most}; received {value!r}")
    return index(value)


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer, of any library, and no truth value."""
    try:
        index(value)
    except TypeError:
        return False
    return not is_truth(value)


def is_truth(value: Any) -> bool:
    """Return whether a value is a truth value, which Python also takes for 0 or 1."""
    return isinstance(value, (bool, np.bool_))


def text(name: str, value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise refusal("argument_invalid", f"`{name}` must be a text; received {value!r}")
    return value


def texts(name: str, values: Any) -> tuple[str, ...]:
    """Return a list of texts; one text is none, though Python would walk its letters."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise refusal("argument_invalid", f"`{name}` must be a list of texts; received {values!r}")
    return tuple(text(f"{name}[{place}]", value) for place, value in enumerate(values))


def seed_of(value: Any) -> int:
    """Return a seed: an unsigned integer of 64 bits."""
    return whole("seed", value, 0, 2**64 - 1)


def lookback_of(value: Any) -> int:
    """Return a number of closes to show."""
    return whole("lookback", value, 1, 2**31 - 1, "window_invalid")


def rules_of(costs: CostModel | None, limits: Limits | None) -> tuple[CostModel, Limits]:
    """Return the costs and limits that are given, or the defaults for None."""
    if costs is not None and not isinstance(costs, CostModel):
        raise refusal("cost_invalid", f"`costs` must be a CostModel or None; received {costs!r}")
    if limits is not None and not isinstance(limits, Limits):
        raise refusal("limit_invalid", f"`limits` must be Limits or None; received {limits!r}")
    return CostModel() if costs is None else costs, Limits() if limits is None else limits


def plain(name: str, values: Any) -> npt.NDArray[Any]:
    """Return an array of values that hides none: a mask would be lost on the way."""
    if isinstance(values, np.ma.MaskedArray):
        hint = "hint: `.filled(np.nan)` says that masked values are missing"
        raise refusal("shape_mismatch", f"`{name}` must be an array without a mask; received a masked array; {hint}")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise refusal("shape_mismatch", f"`{name}` must be an array; received rows of unequal length") from error


def path_of(name: str, value: Any) -> Path:
    """Return a path, given as one or as a text."""
    if not isinstance(value, (str, os.PathLike)):
        raise refusal("argument_invalid", f"`{name}` must be a text or a path; received {type(value).__name__}")
    return Path(value)


def text_in(path: Path) -> str:
    """Return the text of a file, for the engine to strip of a byte order mark."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        received = f"byte 0x{content[error.start]:02x} at offset {error.start}"
        raise refusal("field_unparsable", f"line {line} must be UTF-8 text; received {received}") from error
