"""Standard error of an agent: forwarded by line, last part kept for errors."""

from __future__ import annotations

from collections.abc import Callable

from openoutcry.openoutcry_py import readable_text
from openoutcry.untrusted.terminal import echo_lines

Show = Callable[[str], object]
"""Callback for the standard error of an agent; lines that arrive together are passed as one text."""

_TAIL_BYTES = 2**14


def print_to_stderr(text: str) -> None:
    """Print text to the standard error of this process."""
    echo_lines(text, err=True)


class StderrCapture:
    """Forwards the standard error of an agent as plain text and keeps its last part.

    Args:
        show: Receives the lines.
        n_bytes: Bytes to forward; later output is dropped with a notice.
    """

    def __init__(self, show: Show, n_bytes: int) -> None:
        self._show = show
        self.remaining = n_bytes
        """Bytes that may still be forwarded."""
        self._partial = b""
        self._tail = b""

    @property
    def tail(self) -> str:
        """The last part of the output."""
        return self._tail.decode("utf-8", "replace")

    def feed(self, chunk: bytes) -> None:
        """Add output of the agent."""
        self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
        if self.remaining <= 0:
            return
        kept, self.remaining = chunk[: self.remaining], self.remaining - len(chunk)
        *lines, self._partial = (self._partial + kept).split(b"\n")
        if lines:
            self._show("\n".join(map(_plain, lines)))
        if self.remaining <= 0:
            self.end()
            self._show("... further output of the agent is dropped")

    def end(self) -> None:
        """Forward the last line, which may lack a line end."""
        if self._partial:
            self._show(_plain(self._partial))
            self._partial = b""


def _plain(line: bytes) -> str:
    return readable_text(line.decode("utf-8", "replace").removesuffix("\r"), "\t")
