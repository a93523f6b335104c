"""Parser of a model's message: a tool call, or a decision in its text."""

from __future__ import annotations

import json
import re
from typing import Any

from openoutcry.verifiers_env.prompts import TOOLS, unsaid
from openoutcry.verifiers_env.rollout_state import Desk, text_of

_NAMES = tuple(tool["function"]["name"] for tool in TOOLS)
_THOUGHT = re.compile(r"^.*</think>", re.DOTALL)
# All rollouts of a worker wait while a text is parsed. An object without an end is scanned to the end of the text, and
# again from the next brace. A JSON error costs more the later it is, since the decoder counts the lines before it.
_BEGINNING = re.compile(r"\{\s*[\"}]")
_MOST_SCANNED, _PER_OBJECT, _PER_FAULT, _COUNTED_PER_SCANNED = 1_000_000, 40, 400, 32
_OVER = text_of({"error": "the episode is over; nothing was done"})
_NO_TOOLS = text_of({"error": "there are no tools; nothing was done"})


def replies(desk: Desk, style: str, message: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute a message of the model, and return the messages that follow it.

    Args:
        desk: State of the rollout.
        style: One of `task_rows.STYLES`.
        message: A chat completions message.
    """
    said, calls = message.get("content") or "", message.get("tool_calls") or []
    if style == "text":
        # A renderer may find tool calls in the text of a model without tools, and each call needs a result.
        told = [_result(call, _NO_TOOLS) for call in calls]
        return [*told, {"role": "user", "content": answer_text(desk, said)}]
    if not calls:
        return [{"role": "user", "content": desk.malformed(unsaid("tools"), said[-1_000:])}]
    return [_result(call, answer_call(desk, *_called(call))) for call in calls]


def is_readable(message: dict[str, Any]) -> bool:
    """Return whether the arguments of all tool calls are JSON objects."""
    for call in message.get("tool_calls") or []:
        try:
            given = json.loads(_called(call)[1] or "{}")
        except (ValueError, RecursionError):
            return False
        if not isinstance(given, dict):
            return False
    return True


def answer_text(desk: Desk, text: str) -> str:
    """Execute the decision in a message, and return the result.

    The last JSON object of the message counts, so reasoning may precede it.
    """
    found = last_answer(text)
    return desk.malformed(unsaid("text"), text[-1_000:]) if found is None else desk.decide(found)[1]


def answer_call(desk: Desk, name: str, arguments: str) -> str:
    """Execute a tool call, and return the result.

    Args:
        desk: State of the rollout.
        name: Name of the tool.
        arguments: Its arguments as JSON text.
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
    """Return the last JSON object after the model's reasoning, if any."""
    return last_object(_THOUGHT.sub("", text))


def last_object(text: str) -> str | None:
    """Return the text of the last JSON object in a text; None without one.

    Nested objects do not count. A text that takes too long to parse has none.
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
    """Return the fault in the arguments of a read call; None without one."""
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
    # Providers may return calls that are not functions.
    function = call.get("function") or {"name": call["type"], "arguments": ""}
    return function["name"], function["arguments"]


def _result(call: dict[str, Any], content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call["id"], "content": content}
