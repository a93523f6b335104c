"""Rate limit: a sliding window of one minute for each client."""

from __future__ import annotations

from collections import deque

from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.timestamps import MINUTE, SECOND

MAX_NAMES = 100_000
"""Clients tracked at most; the least recently seen one is evicted."""


class SlidingWindow:
    """Limits the requests of each client in any window of 60 seconds.

    Refused requests do not count, so a client that waits for `retry_after` is admitted.

    Args:
        most: Requests per window; 0 for no limit.
        span: Length of the window in microseconds.
    """

    def __init__(self, most: int, span: int = MINUTE) -> None:
        self._most, self._span = most, span
        self._hits: dict[object, deque[int]] = {}

    def hit(self, name: object, timestamp: int) -> None:
        """Count a request of a client.

        Raises:
            ArenaError: `rate_limited`, with the seconds after which a request is admitted.
        """
        if not self._most:
            return
        # Reinserted, so that the dictionary is ordered by last request.
        hits = self._hits.pop(name, None) or deque()
        if len(self._hits) >= MAX_NAMES:
            del self._hits[next(iter(self._hits))]
        self._hits[name] = hits
        while hits and hits[0] <= timestamp - self._span:
            hits.popleft()
        if len(hits) >= self._most:
            wait = max(1, -(-(hits[0] + self._span - timestamp) // SECOND))
            wanted = f"at most {self._most} requests in any {self._span // SECOND} s are required"
            raise ArenaError("rate_limited", f"{wanted}; received one more", retry_after=wait)
        hits.append(timestamp)
