"""Checks of Python arguments.

An invalid argument raises; it is never converted to a valid one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from operator import index
from pathlib import Path
from types import GetSetDescriptorType
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits

_SURROGATE = re.compile("[\ud800-\udfff]")


def checked_integer(name: str, value: Any, least: int, most: int, slug: str = "argument_invalid") -> int:
    """Return an integer within `[least, most]`.

    Raise `slug` for any other value, including a bool.
    """
    if not is_integer(value) or not least <= index(value) <= most:
        received = type_of(value) if is_frame(value) else repr(value)
        raise refusal(slug, f"`{name}` must be an integer from {least} to {most}; received {received}")
    return index(value)


def is_integer(value: Any) -> bool:
    """Return whether a value is a Python or numpy integer, and not a bool."""
    try:
        index(value)
    except TypeError:
        return False
    return not is_bool(value)


def is_bool(value: Any) -> bool:
    """Return whether a value is a Python or numpy bool.

    Python counts bools as integers.
    """
    return isinstance(value, (bool, np.bool_))


def checked_bool(name: str, value: Any) -> bool:
    """Return a bool.

    Raise for any other type: Python counts a text as true.
    """
    if not is_bool(value):
        raise refusal("argument_invalid", f"`{name}` must be True or False; received {value!r}")
    return bool(value)


def one_of(name: str, value: Any, known: Sequence[str]) -> str:
    """Return a value that is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise refusal("argument_invalid", f"`{name}` must be one of {', '.join(known)}; received {value!r}")
    return value


def checked_text(name: str, value: Any) -> str:
    """Return a string; raise for any other type, and for a lone surrogate."""
    if not isinstance(value, str):
        raise refusal("argument_invalid", f"`{name}` must be a text; received {value!r}")
    if _SURROGATE.search(value):
        # UTF-8 cannot encode it, so that no file or record can contain it.
        raise refusal("argument_invalid", f"`{name}` must be a text without lone surrogates; received {value!r}")
    return value


def checked_texts(name: str, values: Any) -> tuple[str, ...]:
    """Return a list of strings as a tuple.

    A single string raises: iterating it would yield characters.
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise refusal("argument_invalid", f"`{name}` must be a list of texts; received {values!r}")
    return tuple(checked_text(f"{name}[{place}]", value) for place, value in enumerate(values))


def seed_of(value: Any) -> int:
    """Return a seed, an unsigned 64-bit integer."""
    return checked_integer("seed", value, 0, 2**64 - 1)


def lookback_of(value: Any) -> int:
    """Return a lookback, the number of closes in an observation."""
    return checked_integer("lookback", value, 1, 2**31 - 1, "window_invalid")


def costs_and_limits(costs: CostModel | None, limits: Limits | None) -> tuple[CostModel, Limits]:
    """Return costs and limits, with the defaults in place of None."""
    if costs is not None and not isinstance(costs, CostModel):
        raise refusal("cost_invalid", f"`costs` must be a CostModel or None; received {costs!r}")
    if limits is not None and not isinstance(limits, Limits):
        raise refusal("limit_invalid", f"`limits` must be Limits or None; received {limits!r}")
    return CostModel() if costs is None else costs, Limits() if limits is None else limits


def unmasked_array(name: str, values: Any) -> npt.NDArray[Any]:
    """Return values as an array.

    A masked array raises, because conversion would drop its mask.
    """
    if isinstance(values, np.ma.MaskedArray):
        hint = "hint: `.filled(np.nan)` marks masked values as missing"
        raise refusal("shape_mismatch", f"`{name}` must be an array without a mask; received a masked array; {hint}")
    if hasattr(values, "dims") and hasattr(values, "coords"):
        hint = "hint: `.to_pandas()` keeps them"
        raise refusal("shape_mismatch", f"`{name}` must be an array without coordinates; received xarray; {hint}")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise refusal("shape_mismatch", f"`{name}` must be an array; received rows of unequal length") from error


def row_labels(values: Any) -> Any:
    """Return the index of a pandas object; None for row numbers in order.

    Arrays and lists have no labels.
    """
    index: Any = getattr(values, "index", None)
    return index if hasattr(index, "inferred_type") and list(index) != list(range(len(index))) else None


def check_same_rows(**given: Any) -> Any:
    """Return the common index of arguments with labels; None if none has any.

    Raises:
        OpenOutcryError: `shape_mismatch`: two of them have different labels, or the same in another order.
    """
    labelled = {name: labels for name, values in given.items() if (labels := row_labels(values)) is not None}
    if not labelled:
        return None
    (first, known), *others = labelled.items()
    for name, labels in others:
        if list(labels) != list(known):
            required = f"the index of `{name}` must be that of `{first}`"
            received = f"{len(labels)} rows from {labels[:1].tolist()} and {len(known)} rows from {known[:1].tolist()}"
            hint = f"hint: reindex one of them, such as `{name}.reindex({first}.index)`"
            raise refusal("shape_mismatch", f"{required}; received {received}; {hint}")
    return known


def check_row_names(name: str, values: Any, names: Iterable[str] = ()) -> None:
    """Check that the labels of a pandas object are these names, in order.

    Without names, it must have none: nothing says in which order the values are.
    """
    labels = row_labels(values)
    if labels is not None and list(labels) != list(names):
        wanted = f"have the index {', '.join(names)}" if names else "be an array without labels"
        received = ", ".join(map(str, labels))
        raise refusal("shape_mismatch", f"`{name}` must {wanted}; received the index {received}")


def is_frame(value: Any) -> bool:
    """Return whether a value is a frame or a series of a library of data frames."""
    return any(hasattr(type(value), name) for name in ("columns", "to_frame", "__arrow_c_stream__"))


def type_of(value: Any) -> str:
    """Return the type of a value for a message; a frame has a hint to read it."""
    hint = "; hint: read a frame with `oo.Dataset.from_frame(frame)`"
    return type(value).__name__ + (hint if is_frame(value) else "")


def path_of(name: str, value: Any) -> Path:
    """Return a path from a string or a path object."""
    if not isinstance(value, (str, os.PathLike)):
        raise refusal("argument_invalid", f"`{name}` must be a text or a path; received {type_of(value)}")
    try:
        os.fsencode(value)
    except UnicodeEncodeError as error:
        message = f"`{name}` must be a path without lone surrogates; received {os.fspath(value)!r}"
        raise refusal("argument_invalid", message) from error
    if "\0" in os.fsdecode(value):
        raise refusal("argument_invalid", f"`{name}` must be a path without NUL; received {os.fsdecode(value)[:60]!r}")
    return Path(value)


def is_file_object(value: Any) -> bool:
    """Return whether something can be read from its position on."""
    return callable(getattr(value, "read", None))


def call_with_keywords(build: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `build` with keyword arguments, which `__reduce__` cannot do.

    The native module pickles by this name.
    """
    return build(*args, **kwargs)


def is_url(name: object) -> bool:
    """Return whether a name is the URL of an HTTP server; schemes ignore case."""
    return isinstance(name, str) and name[:8].lower().startswith(("http://", "https://"))


def rule_fields(make: Callable[[], Any]) -> dict[str, Any]:
    """Return every field of `CostModel` or `Limits` with its default.

    Fields of contract 1.1 are last; `to_dict` leaves them out where they have no effect.
    """
    default = make()
    fields: dict[str, Any] = default.to_dict()
    names = [name for name, value in vars(type(default)).items() if isinstance(value, GetSetDescriptorType)]
    return fields | {name: getattr(default, name) for name in names if name not in fields}
