"""What an agent writes to its standard error, for whoever runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable

Show = Callable[[str], object]
"""What is given the lines that an agent writes to its standard error; those written at once come as one text."""

_TAIL_BYTES = 2**14


def show_on_stderr(text: str) -> None:
    """Write lines to the standard error of this process."""
    print(text, file=sys.stderr)


class Errors:
    """The standard error of an agent: its lines, passed on as plain text, and its end.

    Args:
        show: What is given its lines.
        n_bytes: Bytes that are passed on; what follows is dropped, and said to be.
    """

    def __init__(self, show: Show, n_bytes: int) -> None:
        self._show = show
        self.left = n_bytes
        """Bytes that are still passed on."""
        self._begun = b""
        self._tail = b""

    @property
    def tail(self) -> str:
        """The last of what was written."""
        return self._tail.decode("utf-8", "replace")

    def feed(self, chunk: bytes) -> None:
        """Take what was written."""
        self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
        if self.left <= 0:
            return
        kept, self.left = chunk[: self.left], self.left - len(chunk)
        *lines, self._begun = (self._begun + kept).split(b"\n")
        if lines:
            self._show("\n".join(map(_plain, lines)))
        if self.left <= 0:
            self.end()
            self._show("... what the agent writes from here on is left out")

    def end(self) -> None:
        """Pass on the last line, which may lack its end."""
        if self._begun:
            self._show(_plain(self._begun))
            self._begun = b""


def _plain(line: bytes) -> str:
    return written_out(line.decode("utf-8", "replace").removesuffix("\r"), "\t")


def written_out(text: str, kept: str = "") -> str:
    """Return a text without what would move the cursor or begin a line.

    Such characters are written out, but for those that are `kept`.
    """
    return "".join(each if each.isprintable() or each in kept else ascii(each)[1:-1] for each in text)
