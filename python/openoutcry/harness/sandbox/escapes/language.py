"""Attempts from within the language: no object of Python is a wall."""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Place = dict[str, Any]


def subclasses_walk(place: Place) -> str:
    """Find `os` through the subclasses of `object`, and open the data."""
    each: Any
    for each in ().__class__.__base__.__subclasses__():  # type: ignore[union-attr]
        names = getattr(getattr(each, "__init__", None), "__globals__", {})
        if "listdir" in names:
            return read_with(names, place)
    raise LookupError("no class knows `os`")


def builtins_import(place: Place) -> str:
    """Take `__import__` off a builtin function."""
    return read_with(vars(print.__self__.__import__("os")), place)  # type: ignore[attr-defined]


def built_name(place: Place) -> str:
    """Build the names of attributes from parts."""
    under = "_" * 2
    found = getattr(print, f"{under}self{under}")
    return read_with(vars(getattr(found, f"{under}import{under}")("o" + "s")), place)


def format_walk(place: Place) -> str:
    """Walk from an object to globals in a format string."""
    frame = sys._getframe(1)
    return held(f"{frame.f_locals['future']}")


def frame_walk(place: Place) -> str:
    """Walk the frames of a traceback up to the harness and its data."""
    try:
        raise ValueError
    except ValueError as error:
        frame: Any = error.__traceback__.tb_frame  # type: ignore[union-attr]
    while frame is not None:
        if frame.f_locals.get("future"):
            return held(str(frame.f_locals["future"]))
        frame = frame.f_back
    raise LookupError("no frame holds the future")


def collected_objects(place: Place) -> str:
    """Look for the data among all objects that the collector knows."""
    for each in gc.get_objects():
        if type(each) is dict and isinstance(each.get("nav"), float):
            return f"an account with {each['nav']}"
        if type(each) is list and len(each) == 3 and all(type(one) is float and one > 1e6 for one in each):
            return held(str(each))
    raise LookupError("no object looks like data")


def harness_state(place: Place) -> str:
    """Write into the account that the harness keeps."""
    frame = sys._getframe(1)
    account = frame.f_locals["account"]
    if account is None:
        raise LookupError("no account is here")
    account["nav"] = 1e9
    return "the account has 1e9"


def numpy_reader(place: Place) -> str:
    """Read the data with numpy."""
    import numpy

    return held(numpy.fromfile(place["secret"], dtype=numpy.uint8).tobytes().decode())


def numpys_os(place: Place) -> str:
    """Read the data with the `os` that numpy has imported."""
    import numpy

    return read_with(vars(next(each.os for each in vars(numpy).values() if hasattr(each, "os"))), place)


def read_with(names: Mapping[str, Any], place: Place) -> str:
    """Read the data with the functions of `os`."""
    return held(names["read"](names["open"](place["secret"], 0), 100).decode())


def held(text: str) -> str:
    """Return what was found.

    Raises:
        LookupError: nothing.
    """
    if not text or text == "None":
        raise LookupError("there is nothing there")
    return f"read {text.strip()[:40]!r}"


HELPERS = {"held", "read_with"}
# They need the memory that a library takes.
HEAVY = {"numpy_reader", "numpys_os"}
