"""Validation of the query parameters of pages, and paging."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from openoutcry.arena.pages.html_rendering import address
from openoutcry.arena.protocol import THEATERS, ArenaError, is_submission_id

_MOST = 10**6
_DAY = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", re.ASCII)
_T = TypeVar("_T")


def integer(query: Mapping[str, str], name: str, least: int) -> int:
    """Return an integer parameter; `least` is its minimum and default."""
    text = query.get(name) or str(least)
    if not re.fullmatch("[0-9]{1,7}", text, re.ASCII) or not least <= int(text) <= _MOST:
        detail = f"an integer from {least} to {_MOST} is required; received {text[:32]!r}"
        raise ArenaError("invalid_payload", detail, name)
    return int(text)


def choice(query: Mapping[str, str], name: str, known: Sequence[str]) -> str | None:
    """Return a parameter that must be one of `known`, or None without it."""
    text = query.get(name) or None
    if text is not None and text not in known:
        raise ArenaError("invalid_payload", f"one of {', '.join(known)} is required; received {text[:32]!r}", name)
    return text


def theater(query: Mapping[str, str]) -> str | None:
    """Return the `theater` parameter, or None for all regions."""
    return choice(query, "theater", THEATERS)


def day(query: Mapping[str, str]) -> str | None:
    """Return the `date` parameter, such as `2026-05-08`, or None without it."""
    text = query.get("date") or None
    if text is not None and not _DAY.fullmatch(text):
        raise ArenaError("invalid_payload", f"a day such as 2026-05-08 is required; received {text[:32]!r}", "date")
    return text


def submission(query: Mapping[str, str], name: str) -> str | None:
    """Return a parameter that must be the id of a submission, or None without it."""
    text = query.get(name) or None
    if text is not None and not is_submission_id(text):
        raise ArenaError("invalid_payload", f"the id of a submission is required; received {text[:32]!r}", name)
    return text


@dataclass(frozen=True)
class Paging(Generic[_T]):
    """One page of many rows.

    Attributes:
        rows: The rows of this page.
        page: Page number, from 1.
        n_pages: Number of pages; 1 without rows.
        first: Number of the first row, from 1.
        n: Number of rows on all pages.
        links: Labels and addresses of other pages.
    """

    rows: Sequence[_T]
    page: int
    n_pages: int
    first: int
    n: int
    links: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, rows: Sequence[_T], query: Mapping[str, str], size: int, path: str, **kept: object) -> Paging[_T]:
        """Return the page of the `page` parameter.

        Args:
            rows: All rows.
            query: Query parameters.
            size: Rows per page.
            path: Path of the pages.
            kept: Other parameters of the links.
        """
        n_pages = max(1, -(-len(rows) // size))
        page = integer(query, "page", 1)
        if page > n_pages:
            raise ArenaError("not_found", f"a page from 1 to {n_pages} is required; received {page}", "page")
        links = [
            (word, address(path, **kept, page=None if at == 1 else at))
            for word, at in (("First", 1), ("Previous", page - 1), ("Next", page + 1), ("Last", n_pages))
            if 1 <= at <= n_pages and at != page
        ]
        first = (page - 1) * size
        return cls(rows[first : first + size], page, n_pages, first + 1, len(rows), links)
