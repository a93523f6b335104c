"""Requests of bounded size and time, which never raise."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import httpx

from openoutcry import __version__
from openoutcry.arena.snapshots.snapshot_times import to_utc

MAX_BYTES = 20_000_000
REQUEST_TIMEOUT_S = 10.0
# Wikimedia and GDELT refuse who does not say how to be reached.
USER_AGENT = f"openoutcry-arena/{__version__} (+https://openoutcry.dev)"
STORED_HEADERS = ("content-type", "etag", "last-modified", "retry-after")


@dataclass(frozen=True)
class Capture:
    """One answer, or that there was none: all that a snapshot may be made from.

    `part` says which of a source's answers it is: a feed's name, a page's title. `status` is 0, and `error` says why,
    where no whole answer came; 304 says that the last answer of this address still holds.
    """

    source: str
    part: str
    url: str
    fetched_at: datetime
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str | None = None


@dataclass
class Fetcher:
    """A client of bounded patience.

    Args:
        client: From `make_client`, or one with a transport of one's own.
        clock: Says the time that captures carry.
        known: The last whole answer of each address, to ask only for a newer one.
        until: The edge that is asked for. An answer that arrives after it is none: the snapshot may not show it.
        seconds: How long all requests of this fetcher may take together; those after it are not made.
    """

    client: httpx.Client
    clock: Callable[[], datetime]
    known: Mapping[str, Capture] = field(default_factory=dict)
    until: datetime | None = None
    seconds: float = 60.0
    _started: float = field(default_factory=time.monotonic, init=False)

    def get(self, source: str, part: str, url: str) -> Capture:
        """Return the answer of an address, whatever comes."""
        left = self.seconds - (time.monotonic() - self._started)
        if left <= 0:
            return self._failed_capture(source, part, url, "no time was left")
        conditions = self._conditions(url)
        try:
            with self.client.stream("GET", url, headers=conditions, timeout=min(REQUEST_TIMEOUT_S, left)) as response:
                body = self._read(response, time.monotonic() + min(REQUEST_TIMEOUT_S, left))
        # A feed's redirect may be no address at all, which `httpx` refuses with either.
        except (httpx.HTTPError, httpx.InvalidURL, ResponseLimitExceeded, UnicodeError) as error:
            return self._failed_capture(source, part, url, f"{type(error).__name__}: {error}")
        if self.until is not None and self.now() > self.until:
            return self._failed_capture(source, part, url, "it came after the edge")
        headers = {name: response.headers[name] for name in STORED_HEADERS if name in response.headers}
        return Capture(source, part, url, self.now(), response.status_code, headers, body)

    def body(self, capture: Capture) -> bytes:
        """Return the body of a capture, or the one that its answer says still holds."""
        last = self.known.get(capture.url)
        return last.body if capture.status == httpx.codes.NOT_MODIFIED and last is not None else capture.body

    def now(self) -> datetime:
        """Return the time that captures carry, in UTC."""
        return to_utc("fetched_at", self.clock())

    def _read(self, response: httpx.Response, until: float) -> bytes:
        chunks, size = [], 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > MAX_BYTES:
                raise ResponseLimitExceeded(f"the answer must be at most {MAX_BYTES} bytes")
            # The client's own limit is of one read: who sends a byte a second never reaches it.
            if time.monotonic() > until:
                raise ResponseLimitExceeded(f"the answer must be whole within {REQUEST_TIMEOUT_S:g} seconds")
            chunks.append(chunk)
        return b"".join(chunks)

    def _conditions(self, url: str) -> dict[str, str]:
        last = self.known.get(url)
        sent = {"etag": "if-none-match", "last-modified": "if-modified-since"}
        return {} if last is None else {sent[name]: last.headers[name] for name in sent if name in last.headers}

    def _failed_capture(self, source: str, part: str, url: str, error: str) -> Capture:
        return Capture(source, part, url, self.now(), 0, error=error[:300])


class ResponseLimitExceeded(Exception):  # noqa: N818 it says what went wrong
    """An answer that is too large, or too slow."""


def make_client(transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """Return the client for sources: it says who it is, and follows few redirects."""
    limits = httpx.Limits(max_connections=10)
    return httpx.Client(
        headers={"user-agent": USER_AGENT},
        follow_redirects=True,
        max_redirects=3,
        limits=limits,
        transport=transport,
    )
