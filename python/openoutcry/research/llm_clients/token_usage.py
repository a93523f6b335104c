"""Token usage of a response, in the format of each provider."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from openoutcry.research.llm_clients.messages import ModelRequest
from openoutcry.research.proposal_requests import Usage

_ABSURD = 10**9


def anthropic_usage(body: Mapping[str, Any], request: ModelRequest, n_bytes: int) -> Usage:
    """Return the usage that Anthropic reports.

    Its input excludes tokens written to or read from a cache.
    """
    reported = _object(body.get("usage"))
    read, written = (_count(reported.get(f"cache_{name}_input_tokens")) for name in ("read", "creation"))
    return _usage(
        request, n_bytes, _count(reported.get("input_tokens")), _count(reported.get("output_tokens")), written, read
    )


def openai_usage(body: Mapping[str, Any], request: ModelRequest, n_bytes: int) -> Usage:
    """Return the usage that OpenAI reports.

    Its prompt includes tokens read from a cache. Its completion includes reasoning, which some compatible servers
    report in the total only.
    """
    reported = _object(body.get("usage"))
    prompt, completion, total = (_count(reported.get(f"{name}_tokens")) for name in ("prompt", "completion", "total"))
    details = _object(reported.get("prompt_tokens_details"))
    read = min(_count(details.get("cached_tokens")) or 0, prompt or 0)
    fresh = None if prompt is None else prompt - read
    usage = _usage(request, n_bytes, fresh, completion, 0, read)
    if prompt is None or completion is None or total is None or total <= prompt + completion:
        return usage
    return Usage(usage.input, usage.output, usage.cache_creation, usage.cache_read, total - prompt - completion)


def ollama_usage(body: Mapping[str, Any], request: ModelRequest, n_bytes: int) -> Usage:
    """Return the usage that Ollama reports."""
    return _usage(request, n_bytes, _count(body.get("prompt_eval_count")), _count(body.get("eval_count")), 0, 0)


def estimated_usage(request: ModelRequest, n_bytes: int) -> Usage:
    """Return the estimated usage of a response that reports none.

    Output is a third of the bytes, limited by the maximum output tokens.
    """
    return _usage(request, n_bytes, None, None, 0, 0)


def lost_usage(request: ModelRequest) -> Usage:
    """Return the usage assumed for an incomplete response: all output tokens."""
    return Usage(request.reserve - request.max_tokens, request.max_tokens, is_estimated=True)


def _usage(
    request: ModelRequest, n_bytes: int, fresh: int | None, output: int | None, written: int | None, read: int | None
) -> Usage:
    is_estimated = fresh is None or output is None
    if fresh is None:
        fresh = max(0, request.input_tokens - (written or 0) - (read or 0))
    if output is None:
        output = min(ceil(n_bytes / 3), request.max_tokens)
    return Usage(fresh, output, written or 0, read or 0, is_estimated=is_estimated)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int | None:
    """Return a token count, None if the value is not one."""
    is_one = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _ABSURD
    return value if is_one else None
