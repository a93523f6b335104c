"""Consoles and progress bars of rich that show text of unknown origin as it is.

Markup such as `[red]` is text, and control characters are escaped before a table computes its widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console as _Console
from rich.console import ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as _Progress
from rich.segment import Segment
from rich.text import Text

from openoutcry.untrusted.terminal import readable, readable_lines

_UNUSUAL = re.compile(r"[^ -~\n]")


class Console(_Console):
    """A console without markup, on which no text controls the terminal."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """Return a string as text: a line break in it is escaped too."""
        return super().render_str(readable(text), **{**settings, "markup": False, "emoji": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments of a renderable, such as a `Text` of other code."""
        for segment in super().render(renderable, options):
            if segment.control or not _UNUSUAL.search(segment.text):
                yield segment
            else:
                yield Segment(readable_lines(segment.text), segment.style)


class Progress(_Progress):
    """A progress bar on standard error that disappears at its end."""

    def __init__(self, *columns: str | ProgressColumn, console: Console | None = None, **settings: Any) -> None:
        shown = console or Console(stderr=True)
        super().__init__(*(columns or (BarColumn(), MofNCompleteColumn())), console=shown, transient=True, **settings)


def description_column(form: str = "{task.description}") -> TextColumn:
    """Return the column of the description of a task, or of another text."""
    return TextColumn(form, markup=False)


__all__ = [
    "BarColumn",
    "Console",
    "MofNCompleteColumn",
    "Progress",
    "TimeRemainingColumn",
    "description_column",
]
