"""Warnings and log messages with control characters escaped."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from openoutcry.untrusted.terminal import readable_lines


@contextmanager
def readable_reports() -> Iterator[None]:
    """Escape the warnings and log messages of other packages while a command runs."""
    shown, last = warnings.formatwarning, logging.lastResort
    formatter = None if last is None else last.formatter

    def formatted(*args: Any, **kwargs: Any) -> str:
        return readable_lines(shown(*args, **kwargs))

    warnings.formatwarning = formatted
    if last is not None:
        last.setFormatter(ReadableFormatter())
    try:
        yield
    finally:
        warnings.formatwarning = shown
        if last is not None:
            last.setFormatter(formatter)


class ReadableFormatter(logging.Formatter):
    """Formatter of log messages that escapes control characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message of a record, with its traceback."""
        return readable_lines(super().format(record))
