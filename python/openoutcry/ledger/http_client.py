"""Summaries of runs from a server, with the standard library alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from openoutcry.errors import refusal
from openoutcry.ledger.ledger_entry import checked_id
from openoutcry.ledger.queries import MOST_COMPARED
from openoutcry.ledger.run_summary import RunMetricsSummary

PATH = "/api/v1/paper-runs/compare"
_MOST_BYTES = 4 * 2**20
_HERE = {"localhost", "127.0.0.1", "::1"}


def compare_client(url: str, ids: Sequence[str], *, timeout: float = 30.0) -> tuple[list[RunMetricsSummary], list[str]]:
    """Return the summaries of runs in the order asked for, and the missing ids.

    They are asked for 50 at a time.

    Args:
        url: Where the server is, such as `http://127.0.0.1:8321`.
        ids: Ids of the runs; those asked for twice are told once.
        timeout: Seconds for each answer.

    Raises:
        OpenOutcryError: `argument_invalid`: an id is no UUID, the URL is none, or the answer is not what is specified.
    """
    asked = list(dict.fromkeys(checked_id(each) for each in ids))
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise refusal("argument_invalid", f"`url` must begin with http:// or https://; received {url!r}")
    # A proxy of the surroundings knows nothing of this machine.
    opener = build_opener(ProxyHandler({})) if parts.hostname in _HERE else build_opener()
    found: dict[str, RunMetricsSummary] = {}
    for at in range(0, len(asked), MOST_COMPARED):
        some = asked[at : at + MOST_COMPARED]
        request = Request(f"{url.rstrip('/')}{PATH}?ids={quote(','.join(some), safe=',')}")
        try:
            with opener.open(request, timeout=timeout) as answer:
                body = answer.read(_MOST_BYTES + 1)
        except HTTPError as error:
            told = error.read(500).decode("utf-8", "replace")
            raise refusal(
                "argument_invalid", f"a server must answer with 200; received {error.code}: {told}"
            ) from error
        except (URLError, OSError) as error:
            raise refusal("argument_invalid", f"a server must answer at {url}; received {error}") from error
        found |= {each.id: each for each in _summaries(body)}
    return [found[each] for each in asked if each in found], [each for each in asked if each not in found]


def _summaries(body: bytes) -> list[RunMetricsSummary]:
    try:
        told = json.loads(body) if len(body) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, list):
        raise refusal("argument_invalid", f"a server must answer with a JSON array; received {body[:80]!r}")
    return [RunMetricsSummary.from_json(each) for each in told]


def comparing(
    url: str, *, timeout: float = 30.0
) -> Callable[[Sequence[str]], tuple[list[RunMetricsSummary], list[str]]]:
    """Return what asks a server for summaries as `Ledger.compare` does."""
    return lambda ids: compare_client(url, ids, timeout=timeout)
