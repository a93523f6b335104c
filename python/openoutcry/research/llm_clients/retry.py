"""Asking until there is an answer.

Each request is counted, and none is made that the cap does not afford.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from openoutcry.research.llm_clients.messages import LLMClient, ModelReply, ModelRequest
from openoutcry.research.proposal_requests import Attempt, TokenMeter

# What servers answer that know no schema for answers.
_UNKNOWN_FIELD = ("http_400", "http_422", "http_501")


@dataclass(frozen=True)
class Pacing:
    """How often and when it is tried again.

    Attributes:
        tries: Most requests for one answer.
        first_seconds: Wait before the second try; it doubles with each.
        longest_seconds: Longest wait. A provider that asks for a longer one is not asked again.
        sleep: What waits.
    """

    tries: int = 3
    first_seconds: float = 1.0
    longest_seconds: float = 60.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def wait(self, reply: ModelReply, n_made: int, unit: float) -> float | None:
        """Return the seconds to wait after some tries, None if that is too long.

        Args:
            reply: What came of the last.
            n_made: How many were made.
            unit: A number of [0, 1) that spreads those who wait.
        """
        own = min(self.first_seconds * 2.0 ** (n_made - 1) * (1.0 + unit), self.longest_seconds)
        told = reply.retry_after or 0.0
        return None if told > self.longest_seconds else max(own, told)


@dataclass(frozen=True)
class Asked:
    """What came of asking.

    Attributes:
        request: What was asked last.
        reply: What came last; None if the cap afforded no request.
        attempts: Every request that was made.
        is_over_budget: Whether the cap did not afford another one.
    """

    request: ModelRequest
    reply: ModelReply | None
    attempts: tuple[Attempt, ...]
    is_over_budget: bool = False


@dataclass(frozen=True)
class Caller:
    """Who asks a model.

    Attributes:
        client: The model.
        meter: What its tokens are counted on.
        pacing: How often and when it is tried again.
        unit: Draws a number of [0, 1).
    """

    client: LLMClient
    meter: TokenMeter
    pacing: Pacing
    unit: Callable[[], float]

    def ask(self, request: ModelRequest, purpose: str) -> Asked:
        """Return what a model answers, or the last of what went wrong."""
        attempts: list[Attempt] = []
        reply: ModelReply | None = None
        while len(attempts) < self.pacing.tries:
            if not self.meter.affords(request.reserve):
                return Asked(request, reply, tuple(attempts), is_over_budget=True)
            reply, attempt = self._try(request, purpose)
            attempts.append(attempt)
            if request.is_structured and reply.fault in _UNKNOWN_FIELD:
                request = replace(request, is_structured=False)
                continue
            if not reply.is_passing or len(attempts) == self.pacing.tries:
                break
            wait = self.pacing.wait(reply, len(attempts), self.unit())
            if wait is None:
                break
            self.pacing.sleep(wait)
        return Asked(request, reply, tuple(attempts))

    def _try(self, request: ModelRequest, purpose: str) -> tuple[ModelReply, Attempt]:
        begun = time.monotonic()
        reply = self.client.ask(request)
        self.meter.spend(reply.usage)
        attempt = Attempt(
            model=self.client.name,
            purpose=purpose,
            status=reply.status,
            usage=reply.usage,
            reply=reply.said,
            fault=reply.fault,
            reserved=request.reserve,
            detail=reply.detail,
            seconds=time.monotonic() - begun,
        )
        return reply, attempt
