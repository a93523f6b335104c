"""Parse HTTP responses of language models."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from openoutcry.research.llm_clients.credentials import Secret
from openoutcry.research.llm_clients.http_transport import Received, TransportFault
from openoutcry.research.llm_clients.messages import ModelReply, ModelRequest
from openoutcry.research.llm_clients.token_usage import estimated_usage, lost_usage
from openoutcry.research.llm_clients.wire_formats import WireFormat
from openoutcry.research.proposal_requests import Usage
from openoutcry.research.strict_json import InvalidJson, read_json

_OK = range(200, 300)
_PASSING = (408, 409, 425, 429, *range(500, 600))
_MOST_TEXT, _MOST_DETAIL = 131_072, 300


def reply_of(received: Received, request: ModelRequest, format_: WireFormat, key: Secret | None) -> ModelReply:
    """Return the reply of a response, with the key masked."""
    text = received.body.decode("utf-8", "replace")
    n_bytes = len(received.body)
    try:
        body = read_json(text)
        problem = "" if isinstance(body, dict) else f"a body must be an object; received {type(body).__name__}"
    except InvalidJson as error:
        body, problem = None, str(error)
    body = key.hide(body) if key else body
    usage = estimated_usage(request, n_bytes) if problem else format_.usage(body, request, n_bytes)
    shown = _line(key.hide(text) if key else text)
    if received.status not in _OK:
        detail = f"status {received.status}: {shown}"[:_MOST_DETAIL]
        is_passing = received.status in _PASSING
        fault = f"http_{received.status}"
        waits = _retry_after(received)
        return ModelReply(received.status, usage, fault=fault, detail=detail, is_passing=is_passing, retry_after=waits)
    if problem:
        detail = f"{_line(problem)} in {shown}"[:_MOST_DETAIL]
        return ModelReply(received.status, usage, fault="reply_not_json", detail=detail, is_passing=True)
    return _read(received.status, body, usage, format_, shown)


def _read(status: int, body: dict[str, Any], usage: Usage, format_: WireFormat, shown: str) -> ModelReply:
    output = format_.parse(body)
    reply = ModelReply(status, usage, output.text[:_MOST_TEXT], output.calls)
    fault, detail = None, ""
    if output.stop == "refusal":
        fault, detail = "refusal", f"the model refused: {_line(output.text)}"
    elif output.stop == "cut":
        fault, detail = "reply_cut", "the response reached the limit of output tokens"
    elif len(reply.transcript) > _MOST_TEXT + 1:
        fault, detail = "reply_too_long", f"a response must have at most {_MOST_TEXT:,} characters"
        reply = ModelReply(status, usage, output.text[:_MOST_TEXT])
    elif not output.text.strip() and not output.calls:
        fault, detail = "reply_empty", f"the response is empty: {shown}"
    return ModelReply(status, usage, reply.text, reply.calls, fault, detail[:_MOST_DETAIL])


def lost_reply(fault: TransportFault, request: ModelRequest, key: Secret | None) -> ModelReply:
    """Return the reply for a missing or incomplete response.

    A request that was not sent used no tokens; a sent one may have used all that were reserved.
    """
    usage = lost_usage(request) if fault.is_sent else Usage()
    detail = str(fault)
    shown = _line(key.hide(detail) if key else detail)
    return ModelReply(None, usage, fault=fault.slug, detail=shown, is_passing=fault.slug != "body_too_long")


def _line(text: str) -> str:
    """Return the beginning of a text as one printable line."""
    head = " ".join(text[: 4 * _MOST_DETAIL].split())[:_MOST_DETAIL]
    return "".join(letter for letter in head if letter.isprintable())


def _retry_after(received: Received) -> float | None:
    """Return the seconds to wait before a retry, if the provider reports them."""
    header = received.headers.get("retry-after", "").strip()
    try:
        seconds = float(header)
    except ValueError:
        seconds = _seconds_until(header)
    return seconds if isfinite(seconds) and seconds >= 0 else None


def _seconds_until(date: str) -> float:
    try:
        then = parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return float("nan")
    now = datetime.now(timezone.utc) if then.tzinfo else datetime.now(timezone.utc).replace(tzinfo=None)
    return max(0.0, (then - now).total_seconds())
