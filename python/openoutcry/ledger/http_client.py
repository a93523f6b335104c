"""HTTP client for run summaries, based on the standard library."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from openoutcry.errors import refusal, without_password
from openoutcry.ledger.ledger_entry import checked_id
from openoutcry.ledger.queries import MAX_COMPARED
from openoutcry.ledger.run_summary import RunMetricsSummary

PATH = "/api/v1/paper-runs/compare"
_MAX_BYTES = 4 * 2**20
_LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}


def compare_client(url: str, ids: Sequence[str], *, timeout: float = 30.0) -> tuple[list[RunMetricsSummary], list[str]]:
    """Fetch the summaries of runs in the requested order, and the missing IDs.

    Sends requests of 50 IDs each.

    Args:
        url: Address of the server, such as `http://127.0.0.1:8321`.
        ids: IDs of the runs; duplicates are returned once.
        timeout: Seconds for each response.

    Raises:
        OpenOutcryError: `argument_invalid`: an ID is not a UUID, the URL is invalid, or the response is not as
            specified.
    """
    requested = list(dict.fromkeys(checked_id(each) for each in ids))
    parts, shown = urlsplit(url), without_password(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise refusal("argument_invalid", f"`url` must start with http:// or https://; received {shown!r}")
    if "@" in parts.netloc:
        raise refusal("argument_invalid", f"`url` must have no user name and password; received {shown!r} with them")
    # A proxy from the environment cannot reach this machine.
    opener = build_opener(ProxyHandler({})) if parts.hostname in _LOCAL_HOSTS else build_opener()
    found: dict[str, RunMetricsSummary] = {}
    for at in range(0, len(requested), MAX_COMPARED):
        some = requested[at : at + MAX_COMPARED]
        request = Request(f"{url.rstrip('/')}{PATH}?ids={quote(','.join(some), safe=',')}")
        try:
            with opener.open(request, timeout=timeout) as response:
                body = response.read(_MAX_BYTES + 1)
        except HTTPError as error:
            detail = error.read(500).decode("utf-8", "replace")
            raise refusal(
                "argument_invalid", f"the server must respond with status 200; received {error.code}: {detail}"
            ) from error
        except (URLError, OSError) as error:
            raise refusal("argument_invalid", f"the server must respond at {shown}; received {error}") from error
        found |= {each.id: each for each in _summaries(body)}
    return [found[each] for each in requested if each in found], [each for each in requested if each not in found]


def _summaries(body: bytes) -> list[RunMetricsSummary]:
    try:
        content = json.loads(body) if len(body) <= _MAX_BYTES else None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, list):
        raise refusal("argument_invalid", f"the server must respond with a JSON array; received {body[:80]!r}")
    return [RunMetricsSummary.from_json(each) for each in content]


def remote_compare(
    url: str, *, timeout: float = 30.0
) -> Callable[[Sequence[str]], tuple[list[RunMetricsSummary], list[str]]]:
    """Return a function like `Ledger.compare` that requests summaries from a server."""
    return lambda ids: compare_client(url, ids, timeout=timeout)
