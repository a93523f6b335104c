"""Wire formats of requests and responses: Anthropic, OpenAI and Ollama."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openoutcry.research.llm_clients.messages import ModelRequest
from openoutcry.research.llm_clients.token_usage import anthropic_usage, ollama_usage, openai_usage
from openoutcry.research.proposal_requests import Usage

TOOL = "propose"
_TOOL_DESCRIPTION = "Propose one trading strategy."


@dataclass(frozen=True)
class ModelOutput:
    """Output of a model; `stop` is `end`, `cut` or `refusal`."""

    text: str = ""
    calls: tuple[Any, ...] = ()
    stop: str = "end"


@dataclass(frozen=True)
class WireFormat:
    """Builds the requests of a provider and parses its responses.

    Parsing accepts any JSON object without raising.
    """

    body: Callable[[str, ModelRequest], dict[str, Any]]
    parse: Callable[[Mapping[str, Any]], ModelOutput]
    usage: Callable[[Mapping[str, Any], ModelRequest, int], Usage]


def _anthropic_body(model: str, request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "system": request.system,
        "messages": _messages(request),
    }
    if request.is_structured:
        body["tools"] = [{"name": TOOL, "description": _TOOL_DESCRIPTION, "input_schema": dict(request.schema)}]
        body["tool_choice"] = {"type": "tool", "name": TOOL}
    return body


def _parse_anthropic(body: Mapping[str, Any]) -> ModelOutput:
    blocks = [each for each in _list(body.get("content")) if isinstance(each, Mapping)]
    texts = [each["text"] for each in blocks if isinstance(each.get("text"), str)]
    calls = tuple(each.get("input") for each in blocks if each.get("type") == "tool_use")
    stop = {"max_tokens": "cut", "refusal": "refusal"}.get(str(body.get("stop_reason")), "end")
    return ModelOutput("\n".join(texts), _usable(calls), stop)


def _openai_body(model: str, request: ModelRequest) -> dict[str, Any]:
    """Return a body.

    The schema cannot be `strict`, because `params` is an open object.
    """
    system = {"role": "system", "content": request.system}
    body: dict[str, Any] = {"model": model, "messages": [system, *_messages(request)]}
    if request.is_structured:
        schema = {"name": TOOL, "strict": False, "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _hosted_body(model: str, request: ModelRequest) -> dict[str, Any]:
    # Newer models refuse `max_tokens`; this limit includes reasoning.
    return {**_openai_body(model, request), "max_completion_tokens": request.max_tokens}


def _compatible_body(model: str, request: ModelRequest) -> dict[str, Any]:
    body = {**_openai_body(model, request), "max_tokens": request.max_tokens}
    return body if request.seed is None else {**body, "seed": request.seed}


def _parse_openai(body: Mapping[str, Any]) -> ModelOutput:
    choices = _list(body.get("choices"))
    choice = choices[0] if choices and isinstance(choices[0], Mapping) else {}
    message = _object(choice.get("message"))
    text = _text(message.get("content"))
    refused = message.get("refusal")
    stop = {"length": "cut", "content_filter": "refusal"}.get(str(choice.get("finish_reason")), "end")
    if isinstance(refused, str) and refused:
        text, stop = text or refused, "refusal"
    return ModelOutput(text, _usable(_tool_calls(message)), stop)


def _ollama_body(model: str, request: ModelRequest) -> dict[str, Any]:
    options: dict[str, Any] = {"num_predict": request.max_tokens}
    if request.seed is not None:
        options["seed"] = request.seed
    system = {"role": "system", "content": request.system}
    body = {"model": model, "messages": [system, *_messages(request)], "stream": False, "options": options}
    return {**body, "format": dict(request.schema)} if request.is_structured else body


def _parse_ollama(body: Mapping[str, Any]) -> ModelOutput:
    message = _object(body.get("message"))
    stop = "cut" if body.get("done_reason") == "length" else "end"
    return ModelOutput(_text(message.get("content")), _usable(_tool_calls(message)), stop)


def _messages(request: ModelRequest) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.text} for message in request.messages]


def _tool_calls(message: Mapping[str, Any]) -> tuple[Any, ...]:
    calls = [_object(each).get("function") for each in _list(message.get("tool_calls"))]
    return tuple(_object(each).get("arguments") for each in [*calls, message.get("function_call")])


def _usable(calls: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(call for call in calls if isinstance(call, (str, dict)) and call)


def _text(content: Any) -> str:
    """Return the text of a message; some servers split it into parts."""
    if isinstance(content, str):
        return content
    parts = [_object(each).get("text") for each in _list(content)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


ANTHROPIC = WireFormat(_anthropic_body, _parse_anthropic, anthropic_usage)
OPENAI = WireFormat(_hosted_body, _parse_openai, openai_usage)
COMPATIBLE = WireFormat(_compatible_body, _parse_openai, openai_usage)
OLLAMA = WireFormat(_ollama_body, _parse_ollama, ollama_usage)
