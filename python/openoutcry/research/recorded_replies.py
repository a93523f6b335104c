"""Conversion of proposer replies to and from journal events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.proposal_checks import canonical
from openoutcry.research.proposal_requests import Attempt, ProposalReply, Usage


def plain(reply: ProposalReply) -> ProposalReply:
    """Return a reply in the form that it will have when read from the journal."""
    reply = replace(reply, detail=_text(reply.detail), prompt=_text(reply.prompt))
    if reply.proposal is None:
        return reply
    try:
        read = json.loads(canonical(reply.proposal))
        if isinstance(read, dict):
            return replace(reply, proposal=read)
        return replace(
            reply, proposal=None, fault="parse", detail="a proposal must be an object; received another value"
        )
    except (OpenOutcryError, TypeError, ValueError, RecursionError) as error:
        return replace(reply, proposal=None, fault="parse", detail=f"a proposal must be JSON; received {error}")


def _text(text: str) -> str:
    # A lone surrogate has no UTF-8 encoding.
    return text.encode("utf-8", "replace").decode("utf-8")


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    text = {name: _text(value) if isinstance(value, str) else value for name, value in vars(attempt).items()}
    return {**text, "usage": vars(attempt.usage)}


def reply_of(recorded: Mapping[str, Any]) -> ProposalReply:
    attempts = tuple(Attempt(**{**each, "usage": Usage(**each["usage"])}) for each in recorded["attempts"])
    return ProposalReply(
        recorded["proposal"], recorded["fault"], recorded["detail"], recorded["is_exhausted"], attempts
    )
