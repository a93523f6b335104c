"""What a model's message means: a call of a tool, or a decision in its text."""

from __future__ import annotations

import json
import re
from typing import Any

from openoutcry.verifiers_env.prompts import TOOLS, unsaid
from openoutcry.verifiers_env.rollout_state import Desk, text_of

_NAMES = tuple(tool["function"]["name"] for tool in TOOLS)
_THOUGHT = re.compile(r"^.*</think>", re.DOTALL)
# Every rollout of a worker waits while a text is read: what a brace begins is read to its end, and read again from the
# next brace where it is no object. A fault costs more the later it is, for the lines before it are counted.
_BEGINNING = re.compile(r"\{\s*[\"}]")
_MOST_SCANNED, _PER_OBJECT, _PER_FAULT, _COUNTED_PER_SCANNED = 1_000_000, 40, 400, 32
_OVER = text_of({"error": "the episode is over; nothing was done"})
_NO_TOOLS = text_of({"error": "there are no tools; nothing was done"})


def replies(desk: Desk, style: str, message: dict[str, Any]) -> list[dict[str, Any]]:
    """Carry out a message of the model, and return the messages that it is told.

    Args:
        desk: The episode.
        style: One of `rows.STYLES`.
        message: In the form of chat completions.
    """
    said, calls = message.get("content") or "", message.get("tool_calls") or []
    if style == "text":
        # A renderer finds calls in the text of a model that was offered no tools, and each must have an answer.
        told = [_result(call, _NO_TOOLS) for call in calls]
        return [*told, {"role": "user", "content": answer_text(desk, said)}]
    if not calls:
        return [{"role": "user", "content": desk.malformed(unsaid("tools"), said[-1_000:])}]
    return [_result(call, answer_call(desk, *_called(call))) for call in calls]


def is_readable(message: dict[str, Any]) -> bool:
    """Return whether the arguments of all calls in a message are JSON objects."""
    for call in message.get("tool_calls") or []:
        try:
            given = json.loads(_called(call)[1] or "{}")
        except (ValueError, RecursionError):
            return False
        if not isinstance(given, dict):
            return False
    return True


def answer_text(desk: Desk, text: str) -> str:
    """Carry out the decision in a message, and return what came of it.

    The last JSON object of the message counts, so that reasoning may stand before it.
    """
    found = last_answer(text)
    return desk.malformed(unsaid("text"), text[-1_000:]) if found is None else desk.decide(found)[1]


def answer_call(desk: Desk, name: str, arguments: str) -> str:
    """Carry out a call of a tool, and return what came of it.

    Args:
        desk: The episode.
        name: What the model called.
        arguments: The JSON text that it gave.
    """
    if desk.done:
        return _OVER
    if name == "trade":
        return desk.decide(arguments)[1]
    if name not in _NAMES:
        return desk.malformed(f"tools are {', '.join(_NAMES)}; received `{name[:100]}`")
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        return desk.malformed(f"arguments must be a JSON object; received text that is not JSON: {error}")
    if not isinstance(given, dict):
        return desk.malformed(f"arguments must be a JSON object; received {type(given).__name__}")
    if name == "finish":
        return desk.finish()
    return _read(desk, name, given)


def last_answer(text: str) -> str | None:
    """Return the last JSON object of what was said after thoughts, if any."""
    return last_object(_THOUGHT.sub("", text))


def last_object(text: str) -> str | None:
    """Return the last JSON object in a text, as it is written; None if there is none.

    One within another is a part of that. Of a text that takes too long to read there is none.
    """
    decoder, found, n_left, begun = json.JSONDecoder(), None, _MOST_SCANNED, _BEGINNING.search(text)
    while begun and n_left > 0:
        start = begun.start()
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            end, scanned_to = start + 1, getattr(error, "pos", len(text))
            n_left -= scanned_to - start + _PER_FAULT + scanned_to // _COUNTED_PER_SCANNED
        else:
            found = text[start:end]
            n_left -= end - start + _PER_OBJECT
        begun = _BEGINNING.search(text, end)
    return None if begun else found


def _read(desk: Desk, name: str, given: dict[str, Any]) -> str:
    fault = _fault(desk, name, given)
    if fault is not None:
        return desk.malformed(fault)
    too_many = desk.read()
    if too_many is not None:
        return too_many
    shown = desk.state() if name == "observe" else desk.history(given.get("symbol"), given.get("n_bars"))
    return text_of(shown)


def _fault(desk: Desk, name: str, given: dict[str, Any]) -> str | None:
    """Return what is wrong with the arguments of a question; None if nothing."""
    known = ("symbol", "n_bars") if name == "history" else ()
    for field in given:
        if field not in known:
            return f"arguments of `{name}` must be among {', '.join(known) or 'none'}; received `{field[:100]}`"
    symbol, n_bars = given.get("symbol"), given.get("n_bars")
    if symbol is not None and (not isinstance(symbol, str) or symbol not in desk.state()["closes"]):
        return f"`symbol` must be one of the market; received {str(symbol)[:100]!r}"
    if n_bars is not None and (isinstance(n_bars, bool) or not isinstance(n_bars, int) or n_bars < 1):
        return f"`n_bars` must be an integer of at least 1; received {str(n_bars)[:100]}"
    return None


def _called(call: dict[str, Any]) -> tuple[str, str]:
    # A provider may have calls of other kinds than the functions that were offered.
    function = call.get("function") or {"name": call["type"], "arguments": ""}
    return function["name"], function["arguments"]


def _result(call: dict[str, Any], content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call["id"], "content": content}
