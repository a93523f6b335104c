"""Retries of model requests.

Each request is counted, and none is sent that the token limit does not allow.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from openoutcry.research.llm_clients.messages import LLMClient, ModelReply, ModelRequest
from openoutcry.research.proposal_requests import Attempt, TokenMeter

# Statuses of servers without schema support.
_UNKNOWN_FIELD = ("http_400", "http_422", "http_501")


@dataclass(frozen=True)
class RetryPolicy:
    """Retry policy.

    Attributes:
        max_attempts: Maximum number of requests per call.
        first_seconds: Wait before the second request; it doubles with each retry.
        longest_seconds: Maximum wait. If a provider requires a longer one, there is no retry.
        sleep: Function that waits.
    """

    max_attempts: int = 3
    first_seconds: float = 1.0
    longest_seconds: float = 60.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def wait(self, reply: ModelReply, n_attempts: int, unit: float) -> float | None:
        """Return the seconds to wait before the next attempt, None if that is too long.

        Args:
            reply: Reply to the last attempt.
            n_attempts: Number of attempts so far.
            unit: A number in [0, 1), the jitter.
        """
        own = min(self.first_seconds * 2.0 ** (n_attempts - 1) * (1.0 + unit), self.longest_seconds)
        requested = reply.retry_after or 0.0
        return None if requested > self.longest_seconds else max(own, requested)


@dataclass(frozen=True)
class CallResult:
    """Result of a call with retries.

    Attributes:
        request: The last request.
        reply: The last reply; None if the token limit allowed no request.
        attempts: All requests.
        is_over_budget: Whether the token limit stopped the attempts.
    """

    request: ModelRequest
    reply: ModelReply | None
    attempts: tuple[Attempt, ...]
    is_over_budget: bool = False


@dataclass(frozen=True)
class Caller:
    """Calls a model, with retries and a token budget.

    Attributes:
        client: The model.
        meter: Token budget.
        retry_policy: Retry policy.
        unit: Returns a number in [0, 1), the jitter.
    """

    client: LLMClient
    meter: TokenMeter
    retry_policy: RetryPolicy
    unit: Callable[[], float]

    def call(self, request: ModelRequest, purpose: str) -> CallResult:
        """Return the response of the model, or the last failure."""
        attempts: list[Attempt] = []
        reply: ModelReply | None = None
        while len(attempts) < self.retry_policy.max_attempts:
            if not self.meter.affords(request.reserve):
                return CallResult(request, reply, tuple(attempts), is_over_budget=True)
            reply, attempt = self._attempt(request, purpose)
            attempts.append(attempt)
            if request.is_structured and reply.fault in _UNKNOWN_FIELD:
                request = replace(request, is_structured=False)
                continue
            if not reply.is_passing or len(attempts) == self.retry_policy.max_attempts:
                break
            wait = self.retry_policy.wait(reply, len(attempts), self.unit())
            if wait is None:
                break
            self.retry_policy.sleep(wait)
        return CallResult(request, reply, tuple(attempts))

    def _attempt(self, request: ModelRequest, purpose: str) -> tuple[ModelReply, Attempt]:
        started = time.monotonic()
        reply = self.client.complete(request)
        self.meter.spend(reply.usage)
        attempt = Attempt(
            model=self.client.name,
            purpose=purpose,
            status=reply.status,
            usage=reply.usage,
            reply=reply.transcript,
            fault=reply.fault,
            reserved=request.reserve,
            detail=reply.detail,
            seconds=time.monotonic() - started,
        )
        return reply, attempt
