"""Parser of the proposal in a model response."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.llm_clients.messages import ModelReply
from openoutcry.research.proposal_requests import Proposal
from openoutcry.research.strict_json import InvalidJson, check_json_value, read_strict_json

# Each opening brace without an end is scanned to the end of the text.
_MOST_BEGINNINGS = 32
_TOKEN = re.compile(r'[{}"]')
_IN_TEXT = re.compile(r'["\\]')


@dataclass(frozen=True)
class ParsedProposal:
    """A proposal, or why there is none."""

    proposal: Mapping[str, Any] | None
    problem: str = ""


def parse_reply(reply: ModelReply) -> ParsedProposal:
    """Return the proposal of a model response.

    It is the first tool call with a valid proposal, else the last valid JSON object in the text.
    """
    problems: list[str] = []
    for call in reply.calls:
        value, problem = _value(call)
        problem = problem or _problem(value)
        if not problem:
            return ParsedProposal(value)
        problems.append(problem)
    found: Mapping[str, Any] | None = None
    for value in _objects(reply.text):
        if not (problem := _problem(value)):
            found = value
        problems.append(problem)
    if found is not None:
        return ParsedProposal(found)
    return ParsedProposal(None, next(filter(None, problems), "a JSON object is required; received none"))


def _value(call: Any) -> tuple[Any, str]:
    """Return the arguments of a tool call; providers send an object or a JSON text."""
    try:
        if isinstance(call, str):
            return read_strict_json(call), ""
        check_json_value(call)
    except InvalidJson as error:
        return None, str(error)
    return call, ""


def _problem(value: Any) -> str:
    """Return why a value is not a proposal, empty if it is one."""
    try:
        Proposal.of(value)
    except OpenOutcryError as error:
        return str(error).removeprefix("argument_invalid: ")
    return ""


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text, in order, without those inside a proposal."""
    at = text.find("{")
    for _ in range(_MOST_BEGINNINGS):
        if at < 0:
            return
        end = _end(text, at)
        value = None if end is None else _object(text[at:end])
        if value is not None:
            yield value
        # Continue after a proposal, or inside any other object.
        is_whole = value is not None and not _problem(value)
        at = text.find("{", end if is_whole and end is not None else at + 1)


def _end(text: str, start: int) -> int | None:
    """Return the end of the object that opens at `start`, ignoring quoted braces."""
    depth, at = 0, start
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token[0] == '"':
            closed = _text_end(text, at)
            if closed is None:
                return None
            at = closed
            continue
        depth += 1 if token[0] == "{" else -1
        if depth == 0:
            return at
    return None


def _text_end(text: str, at: int) -> int | None:
    while (token := _IN_TEXT.search(text, at)) is not None:
        if token[0] == '"':
            return token.end()
        at = token.end() + 1
    return None


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = read_strict_json(text)
    except InvalidJson:
        return None
    return value if isinstance(value, dict) else None
