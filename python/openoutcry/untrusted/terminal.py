"""Print text of unknown origin: control and invisible characters are escaped.

A name, an error or a line of a file may contain sequences that move the cursor, hide text or change the title of the
window. `readable` escapes them, and every other function of this module prints through it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from openoutcry import openoutcry_py as native

# Of what `readable` may change: most texts have none of it.
_UNUSUAL = re.compile(r"[^ -~]")


def readable(text: str, most: int | None = None) -> str:
    """Return text on one line, in a form that is safe to print.

    Controls, line and paragraph separators, bidirectional and zero-width characters, and lone surrogates become escapes
    such as `\\x1b`. A text of more than `most` characters ends in an ellipsis.
    """
    if most is not None and len(text) > most:
        # Escapes only lengthen a text.
        text = text[: most + 1]
    shown = native.readable_text(text) if _UNUSUAL.search(text) else text
    return shown if most is None or len(shown) <= most else f"{shown[: most - 1]}…"


def readable_lines(text: str) -> str:
    """Return text as `readable` does, with its line breaks and tabs."""
    return native.readable_text(text, "\n\t")


def readable_json(text: str) -> str:
    """Return a JSON text with the same value and escaped control characters."""
    return _UNUSUAL.sub(_json_escape, text)


def echo(text: object = "", *, err: bool = False) -> None:
    """Print one line; line breaks are escaped too.

    A name with a line break would otherwise print a line of its own.
    """
    _write(readable(str(text)) + "\n", sys.stderr if err else sys.stdout)


def echo_lines(text: str | Iterable[object], *, err: bool = False) -> None:
    """Print lines: those of a text, or one line per value."""
    shown = readable_lines(text) if isinstance(text, str) else "\n".join(readable(str(each)) for each in text)
    _write(shown + "\n", sys.stderr if err else sys.stdout)


def echo_json(value: Any) -> None:
    """Print a value as JSON, or a text that is JSON already."""
    text = value if isinstance(value, str) else json.dumps(value)
    # A stream of ASCII gets escapes of JSON: those of Python are invalid in it.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    _write(_json_for(readable_json(text), encoding) + "\n", sys.stdout)


def echo_error(message: object) -> None:
    """Print an error on one line of standard error, cut to 2,000 bytes."""
    _write(native.readable_text(native.readable_message(f"error: {message}")) + "\n", sys.stderr)


def echo_exception(error: BaseException) -> None:
    """Print the traceback of an exception, each of its lines cut as an error."""
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    # In one write, so that tracebacks of several processes do not interleave.
    _write("".join(f"{native.readable_message(line)}\n" for line in text.split("\n")[:-1]), sys.stderr)


def _json_for(text: str, encoding: str) -> str:
    """Return a JSON text with escapes for the characters that an encoding lacks."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], text)
    return text


def _json_escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in "\n\r\t" or native.readable_text(character) == character:
        return character
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def _write(text: str, stream: TextIO) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # A stream of ASCII shows escapes instead of raising.
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
