"""Parser of a model's message: a tool call, or a decision in its text."""

from __future__ import annotations

import json
import re
from typing import Any

from openoutcry.verifiers_env.prompts import TOOLS, missing_decision
from openoutcry.verifiers_env.rollout_state import RolloutState, text_of

_NAMES = tuple(tool["function"]["name"] for tool in TOOLS)
_THOUGHT = re.compile(r"^.*</think>", re.DOTALL)
# All rollouts of a worker wait while a text is parsed. An object without an end is scanned to the end of the text, and
# again from the next brace. A JSON error costs more the later it is, since the decoder counts the lines before it.
_OBJECT_START = re.compile(r"\{\s*[\"}]")
_MOST_SCANNED, _PER_OBJECT, _PER_FAULT, _COUNTED_PER_SCANNED = 1_000_000, 40, 400, 32
_OVER = text_of({"error": "the episode is over; nothing was done"})
_NO_TOOLS = text_of({"error": "there are no tools; nothing was done"})


def respond(rollout: RolloutState, style: str, message: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute a message of the model, and return the messages that follow it.

    Args:
        rollout: State of the rollout.
        style: One of `task_rows.STYLES`.
        message: A chat completions message.
    """
    text, calls = message.get("content") or "", message.get("tool_calls") or []
    if style == "text":
        # A renderer may find tool calls in the text of a model without tools, and each call needs a result.
        results = [_result(call, _NO_TOOLS) for call in calls]
        return [*results, {"role": "user", "content": execute_text(rollout, text)}]
    if not calls:
        return [{"role": "user", "content": rollout.malformed(missing_decision("tools"), text[-1_000:])}]
    return [_result(call, execute_call(rollout, *_function_of(call))) for call in calls]


def is_readable(message: dict[str, Any]) -> bool:
    """Return whether the arguments of all tool calls are JSON objects."""
    for call in message.get("tool_calls") or []:
        try:
            parsed = json.loads(_function_of(call)[1] or "{}")
        except (ValueError, RecursionError):
            return False
        if not isinstance(parsed, dict):
            return False
    return True


def execute_text(rollout: RolloutState, text: str) -> str:
    """Execute the decision in a message, and return the result.

    The last JSON object of the message counts, so reasoning may precede it.
    """
    last = final_object(text)
    return rollout.malformed(missing_decision("text"), text[-1_000:]) if last is None else rollout.decide(last)[1]


def execute_call(rollout: RolloutState, name: str, arguments: str) -> str:
    """Execute a tool call, and return the result.

    Args:
        rollout: State of the rollout.
        name: Name of the tool.
        arguments: Its arguments as JSON text.
    """
    if rollout.done:
        return _OVER
    if name == "trade":
        return rollout.decide(arguments)[1]
    if name not in _NAMES:
        return rollout.malformed(f"tools are {', '.join(_NAMES)}; received `{name[:100]}`")
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        return rollout.malformed(f"arguments must be a JSON object; received text that is not JSON: {error}")
    if not isinstance(parsed, dict):
        return rollout.malformed(f"arguments must be a JSON object; received {type(parsed).__name__}")
    if name == "finish":
        return rollout.finish()
    return _read_market(rollout, name, parsed)


def final_object(text: str) -> str | None:
    """Return the last JSON object after the model's reasoning, if any."""
    return last_object(_THOUGHT.sub("", text))


def last_object(text: str) -> str | None:
    """Return the text of the last JSON object in a text; None without one.

    Nested objects do not count. A text that takes too long to parse has none.
    """
    decoder, last, n_left, match = json.JSONDecoder(), None, _MOST_SCANNED, _OBJECT_START.search(text)
    while match and n_left > 0:
        start = match.start()
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            end, scanned_to = start + 1, getattr(error, "pos", len(text))
            n_left -= scanned_to - start + _PER_FAULT + scanned_to // _COUNTED_PER_SCANNED
        else:
            last = text[start:end]
            n_left -= end - start + _PER_OBJECT
        match = _OBJECT_START.search(text, end)
    return None if match else last


def _read_market(rollout: RolloutState, name: str, parsed: dict[str, Any]) -> str:
    fault = _fault(rollout, name, parsed)
    if fault is not None:
        return rollout.malformed(fault)
    too_many = rollout.read()
    if too_many is not None:
        return too_many
    shown = rollout.state() if name == "observe" else rollout.history(parsed.get("symbol"), parsed.get("n_bars"))
    return text_of(shown)


def _fault(rollout: RolloutState, name: str, parsed: dict[str, Any]) -> str | None:
    """Return the fault in the arguments of a read call; None without one."""
    known = ("symbol", "n_bars") if name == "history" else ()
    for field in parsed:
        if field not in known:
            return f"arguments of `{name}` must be among {', '.join(known) or 'none'}; received `{field[:100]}`"
    symbol, n_bars = parsed.get("symbol"), parsed.get("n_bars")
    if symbol is not None and (not isinstance(symbol, str) or symbol not in rollout.state()["closes"]):
        return f"`symbol` must be one of the market; received {str(symbol)[:100]!r}"
    if n_bars is not None and (isinstance(n_bars, bool) or not isinstance(n_bars, int) or n_bars < 1):
        return f"`n_bars` must be an integer of at least 1; received {str(n_bars)[:100]}"
    return None


def _function_of(call: dict[str, Any]) -> tuple[str, str]:
    # Providers may return calls that are not functions.
    function = call.get("function") or {"name": call["type"], "arguments": ""}
    return function["name"], function["arguments"]


def _result(call: dict[str, Any], content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call["id"], "content": content}
