"""Errors raised in Python, in the same form as those raised by the native module."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from openoutcry.openoutcry_py import OpenOutcryError as OpenOutcryError
from openoutcry.openoutcry_py import readable_message

# With a slash missing, a URL still shows a password.
_START = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/+")
_CREDENTIALS = re.compile(r"(:/+)[^\s/?#]*@")


def refusal(slug: str, message: str) -> OpenOutcryError:
    """Return an `OpenOutcryError` with a slug of `contract/errors.json`.

    The caller raises it. Control characters of the message are escaped, and a long one is cut in the middle.
    """
    error = OpenOutcryError(readable_message(f"{slug}: {message}"))
    error.slug = slug
    return error


def add_note(error: BaseException, text: str) -> None:
    """Add a line to the traceback of an exception in place."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        chain_note(error, text)


def chain_note(error: BaseException, text: str) -> None:
    """Attach a line to an exception; Python 3.10 has no `add_note`."""
    root, seen = error, {id(error)}
    while (cause := root.__cause__ or root.__context__) is not None and id(cause) not in seen:
        root = cause
        seen.add(id(root))
    root.__cause__ = RuntimeError(text)
    error.__notes__ = [*getattr(error, "__notes__", []), text]  # type: ignore[attr-defined]


def without_password(url: str) -> str:
    """Return a URL without user name and password, for messages and records.

    A password may contain characters that a URL does not allow. If what precedes the path is no valid host and port,
    everything up to the last `@` counts as password. A text without a URL is returned as it is.
    """
    start = _START.search(url)
    if start is None:
        return url
    rest = url[start.end() :]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    end = authority.rfind("@")
    if not _is_host_and_port(authority[end + 1 :]):
        end = rest.rfind("@")
    return url[: start.end()] + rest[end + 1 :]


def without_passwords(text: str) -> str:
    """Return a message without the user names and passwords of URLs in it."""
    return _CREDENTIALS.sub(r"\1", text)


def _is_host_and_port(authority: str) -> bool:
    try:
        parts = urlsplit(f"//{authority}")
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
