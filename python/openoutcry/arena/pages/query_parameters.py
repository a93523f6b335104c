"""What the address of a page asks for, checked."""

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
    """Return a whole number of a query, the least where it has none."""
    text = query.get(name) or str(least)
    if not re.fullmatch("[0-9]{1,7}", text, re.ASCII) or not least <= int(text) <= _MOST:
        told = f"a whole number from {least} to {_MOST} is required; received {text[:32]!r}"
        raise ArenaError("invalid_payload", told, name)
    return int(text)


def choice(query: Mapping[str, str], name: str, known: Sequence[str]) -> str | None:
    """Return one of some words; None where none is asked for."""
    text = query.get(name) or None
    if text is not None and text not in known:
        raise ArenaError("invalid_payload", f"{', '.join(known)} or none is required; received {text[:32]!r}", name)
    return text


def theater(query: Mapping[str, str]) -> str | None:
    """Return the region that is asked for; None for all."""
    return choice(query, "theater", THEATERS)


def day(query: Mapping[str, str]) -> str | None:
    """Return the day that is asked for, such as `2026-05-08`."""
    text = query.get("date") or None
    if text is not None and not _DAY.fullmatch(text):
        raise ArenaError("invalid_payload", f"a day such as 2026-05-08 is required; received {text[:32]!r}", "date")
    return text


def submission(query: Mapping[str, str], name: str) -> str | None:
    """Return the submission that is asked for by its id; None where none is."""
    text = query.get(name) or None
    if text is not None and not is_submission_id(text):
        raise ArenaError("invalid_payload", f"the id of a submission is required; received {text[:32]!r}", name)
    return text


@dataclass(frozen=True)
class Paging(Generic[_T]):
    """One page of many rows.

    Attributes:
        rows: Those of this page.
        page: Its number, from 1.
        n_pages: How many there are; 1 where there is no row.
        first: Number of its first row, from 1.
        n: How many rows there are.
        links: Words and addresses of other pages.
    """

    rows: Sequence[_T]
    page: int
    n_pages: int
    first: int
    n: int
    links: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, rows: Sequence[_T], query: Mapping[str, str], size: int, path: str, **kept: object) -> Paging[_T]:
        """Return the page that a query asks for.

        Args:
            rows: All of them.
            query: Whose `page` is looked at.
            size: Rows of a page.
            path: Where the pages are.
            kept: What else the links say.
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
