"""HTTP requests with bounded size and time that never raise."""

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
# Wikimedia and GDELT reject clients without contact information.
USER_AGENT = f"openoutcry-arena/{__version__} (+https://openoutcry.dev)"
STORED_HEADERS = ("content-type", "etag", "last-modified", "retry-after")


@dataclass(frozen=True)
class Capture:
    """A response of a source, or a failure; the only input of a snapshot.

    `part` identifies the request within its source, such as a feed's name or a page's title. `status` is the HTTP
    status; 0 means no complete response, with the reason in `error`. 304 means the previous response is still valid.
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
    """A client with limits on time and size.

    Args:
        client: HTTP client, from `make_client`.
        clock: Returns the time stored in captures.
        known: Last complete response by URL, for conditional requests.
        until: Snapshot time. Later responses are discarded, because the snapshot must not contain them.
        seconds: Time limit of all requests together; requests after it are not sent.
    """

    client: httpx.Client
    clock: Callable[[], datetime]
    known: Mapping[str, Capture] = field(default_factory=dict)
    until: datetime | None = None
    seconds: float = 60.0
    _started: float = field(default_factory=time.monotonic, init=False)

    def get(self, source: str, part: str, url: str) -> Capture:
        """Fetch a URL. A failure is a capture with status 0."""
        left = self.seconds - (time.monotonic() - self._started)
        if left <= 0:
            return self._failed_capture(source, part, url, "the time limit of all requests has passed")
        conditions = self._conditions(url)
        try:
            with self.client.stream("GET", url, headers=conditions, timeout=min(REQUEST_TIMEOUT_S, left)) as response:
                body = self._read(response, time.monotonic() + min(REQUEST_TIMEOUT_S, left))
        # An invalid redirect raises `InvalidURL` or `UnicodeError`.
        except (httpx.HTTPError, httpx.InvalidURL, ResponseLimitExceeded, UnicodeError) as error:
            return self._failed_capture(source, part, url, f"{type(error).__name__}: {error}")
        if self.until is not None and self.now() > self.until:
            return self._failed_capture(source, part, url, "the response arrived after the snapshot time")
        headers = {name: response.headers[name] for name in STORED_HEADERS if name in response.headers}
        return Capture(source, part, url, self.now(), response.status_code, headers, body)

    def body(self, capture: Capture) -> bytes:
        """Return the body of a capture; for status 304, that of the last response."""
        last = self.known.get(capture.url)
        return last.body if capture.status == httpx.codes.NOT_MODIFIED and last is not None else capture.body

    def now(self) -> datetime:
        """Return the current time in UTC, from the clock."""
        return to_utc("fetched_at", self.clock())

    def _read(self, response: httpx.Response, until: float) -> bytes:
        chunks, size = [], 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > MAX_BYTES:
                raise ResponseLimitExceeded(f"the response must be at most {MAX_BYTES} bytes")
            # The client's timeout applies to one read; a slow server could send a byte at a time.
            if time.monotonic() > until:
                raise ResponseLimitExceeded(f"the response must be complete within {REQUEST_TIMEOUT_S:g} seconds")
            chunks.append(chunk)
        return b"".join(chunks)

    def _conditions(self, url: str) -> dict[str, str]:
        last = self.known.get(url)
        sent = {"etag": "if-none-match", "last-modified": "if-modified-since"}
        return {} if last is None else {sent[name]: last.headers[name] for name in sent if name in last.headers}

    def _failed_capture(self, source: str, part: str, url: str, error: str) -> Capture:
        return Capture(source, part, url, self.now(), 0, error=error[:300])


class ResponseLimitExceeded(Exception):  # noqa: N818 the name states the condition
    """A response is too large or too slow."""


def make_client(transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """Return an HTTP client with a contact in its user agent and at most 3 redirects."""
    limits = httpx.Limits(max_connections=10)
    return httpx.Client(
        headers={"user-agent": USER_AGENT},
        follow_redirects=True,
        max_redirects=3,
        limits=limits,
        transport=transport,
    )
