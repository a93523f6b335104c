"""Render page templates to HTML; all values are escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from openoutcry.arena.pages.static_assets import Assets
from openoutcry.arena.timestamps import format_timestamp
from openoutcry.report.text_format import clean, number, percent

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_REASONS = {
    "no_open_market": "no market was open to it",
    "no_peer": "no other agent decided on its markets",
    "no_position": "no decision was confident enough to take a position",
    "no_scored_decision": "no decision is scored yet",
    "not_connected": "no common agents link its markets to other markets",
    "reference_zero": "the reference is never wrong",
    "suspended": "it is suspended",
    "too_few_markets": "too few markets",
}
_SOURCES = {
    "always_50": "always 50%",
    "historical_blend": "past rates of all regions",
    "historical_theater": "past rate of the region",
    "mixed": "several reference rates",
    "platform_global": "share of YES in the whole Arena",
    "platform_theater": "share of YES in the region, in the Arena",
}


def address(path: str, **query: object) -> str:
    """Return a path with a query string; parameters that are None are left out."""
    parameters = urlencode({name: value for name, value in query.items() if value is not None})
    return quote(path, safe="/:") + (f"?{parameters}" if parameters else "")


def display_time(timestamp: int) -> str:
    """Format a timestamp for display: `8 May 2026, 12:00 UTC`."""
    day, clock = format_timestamp(timestamp)[:-1].split("T")
    whole, _, part = clock.partition(".")
    exact = whole if part or not whole.endswith(":00") else whole[:5]
    return f"{display_day(day)}, {exact}{part and f'.{part[:3]}'} UTC"


def display_day(day: str) -> str:
    """Format a day for display: `8 May 2026`."""
    year, month, date = day.split("-")
    return f"{int(date)} {_MONTHS[int(month) - 1]} {year}"


def web_link(text: object) -> str | None:
    """Return an http(s) address, or None: an untrusted feed may contain `javascript:`."""
    return text if isinstance(text, str) and re.match(r"https?://[^\s]+\Z", text) else None


def _finished(value: Any) -> Any:
    # Markup comes from this package. Other text is untrusted and may contain bidirectional control characters.
    return clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


class Renderer:
    """Renders page templates.

    Args:
        assets: The static files that pages link to.
    """

    def __init__(self, assets: Assets) -> None:
        self._templates = Environment(
            loader=FileSystemLoader(Path(__file__).with_name("templates")),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_finished,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {"asset": assets.path, "address": address, "reasons": _REASONS, "sources": _SOURCES}
        self._templates.filters |= {
            "day": display_day,
            "iso": format_timestamp,
            "number": number,
            "percent": percent,
            "time": display_time,
            "web_link": web_link,
        }

    def html(self, template: str, context: Mapping[str, Any]) -> str:
        """Render a template."""
        return self._templates.get_template(template).render(context)
