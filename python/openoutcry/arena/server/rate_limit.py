"""How often somebody may ask: so many times in any minute."""

from __future__ import annotations

from collections import deque

from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.timestamps import MINUTE, SECOND

MOST_KNOWN = 100_000
"""Names that are remembered; for one more, the one that has been quiet for longest is forgotten."""


class SlidingWindow:
    """Lets each name through so many times in any 60 seconds (R-06).

    What is turned away does not count, so that whoever waits as long as he is told gets through.

    Args:
        most: Times a minute; 0 for no bound.
        span: Microseconds.
    """

    def __init__(self, most: int, span: int = MINUTE) -> None:
        self._most, self._span = most, span
        self._hits: dict[object, deque[int]] = {}

    def hit(self, name: object, moment: int) -> None:
        """Let a name through, once.

        Raises:
            ArenaError: `rate_limited`, with the whole seconds after which it gets through.
        """
        if not self._most:
            return
        # Out and in again: the names stand by when they last came.
        hits = self._hits.pop(name, None) or deque()
        if len(self._hits) >= MOST_KNOWN:
            del self._hits[next(iter(self._hits))]
        self._hits[name] = hits
        while hits and hits[0] <= moment - self._span:
            hits.popleft()
        if len(hits) >= self._most:
            wait = max(1, -(-(hits[0] + self._span - moment) // SECOND))
            told = f"at most {self._most} requests in any {self._span // SECOND} s are required; received one more"
            raise ArenaError("rate_limited", told, retry_after=wait)
        hits.append(moment)
