"""Requests and replies of language models, independent of the provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from openoutcry.research.proposal_requests import Usage, estimated_tokens

# Tokens that providers add to a request: roles, templates, tool declarations.
_MARGIN = 512


@dataclass(frozen=True)
class Message:
    """A message of a conversation; `role` is `user` or `assistant`."""

    role: str
    text: str


@dataclass(frozen=True)
class ModelRequest:
    """Request to a language model.

    Attributes:
        system: System message.
        messages: The conversation.
        schema: JSON schema of the response.
        max_tokens: Maximum output tokens.
        seed: Sampling seed, if the provider supports one.
        is_structured: Whether the provider enforces the schema.
    """

    system: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    max_tokens: int
    seed: int | None = None
    is_structured: bool = True

    @property
    def input_tokens(self) -> int:
        """Estimated input tokens, used if the provider reports none."""
        schema = [json.dumps(self.schema)] if self.is_structured else []
        return sum(map(estimated_tokens, [self.system, *(message.text for message in self.messages), *schema]))

    @property
    def reserve(self) -> int:
        """Tokens to reserve: an estimate of its maximum use."""
        return self.input_tokens + _MARGIN + self.max_tokens


@dataclass(frozen=True)
class ModelReply:
    """Reply to a model request.

    Attributes:
        status: HTTP status; None without a response.
        usage: Its tokens, reported or estimated.
        text: Text of the response.
        calls: Arguments of tool calls: objects, or JSON texts.
        fault: Slug of the failure; None on success.
        detail: Message of the failure.
        is_passing: Whether the failure may be temporary, so that a retry makes sense.
        retry_after: Seconds to wait before a retry, if the provider reports them.
    """

    status: int | None
    usage: Usage
    text: str = ""
    calls: tuple[Any, ...] = ()
    fault: str | None = None
    detail: str = ""
    is_passing: bool = False
    retry_after: float | None = None

    @property
    def transcript(self) -> str:
        """Text and tool calls as one text that a journal can hold."""
        calls = [call if isinstance(call, str) else json.dumps(call) for call in self.calls]
        whole = "\n".join(part for part in (self.text, *calls) if part)
        return whole.encode("utf-8", "replace").decode()


class LLMClient(Protocol):
    """Client of a language model.

    Any object with these members qualifies; no base class is needed.

    Each call sends one request without retries, because the caller counts every request.
    """

    @property
    def name(self) -> str:
        """Provider and model, such as `ollama:llama3.1`."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Send one request; failures are in the reply."""
