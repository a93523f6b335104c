"""What a model is asked and what it says, in no provider's words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from openoutcry.research.proposal_requests import Usage, estimated_tokens

# What providers put around a text: roles, templates, how a tool is called.
_MARGIN = 512


@dataclass(frozen=True)
class Message:
    """A turn of a conversation; `role` is `user` or `assistant`."""

    role: str
    text: str


@dataclass(frozen=True)
class ModelRequest:
    """What a model is asked.

    Attributes:
        system: What it is told before the conversation.
        messages: The conversation.
        schema: JSON schema of the object that it is to answer with.
        max_tokens: Most tokens of its answer.
        seed: Of its sampling, where a provider takes one.
        is_structured: Whether the provider is to hold the answer to the schema.
    """

    system: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    max_tokens: int
    seed: int | None = None
    is_structured: bool = True

    @property
    def input_tokens(self) -> int:
        """What its texts are taken for, if the provider does not tell."""
        schema = [json.dumps(self.schema)] if self.is_structured else []
        return sum(map(estimated_tokens, [self.system, *(message.text for message in self.messages), *schema]))

    @property
    def reserve(self) -> int:
        """Tokens to set aside for it: what it may use at most, as far as its texts tell."""
        return self.input_tokens + _MARGIN + self.max_tokens


@dataclass(frozen=True)
class ModelReply:
    """What came of a request.

    Attributes:
        status: HTTP status; None where no response came.
        usage: Its tokens, as told or estimated.
        text: What the model said.
        calls: Arguments of the tools that it called: objects, or texts of JSON.
        fault: Slug of what was wrong; None if nothing.
        detail: The same in words.
        is_passing: Whether it may go well if it is asked again.
        retry_after: Seconds to wait before that, if the provider says so.
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
    def said(self) -> str:
        """Its text and its calls in one text, which a journal can hold."""
        calls = [call if isinstance(call, str) else json.dumps(call) for call in self.calls]
        whole = "\n".join(part for part in (self.text, *calls) if part)
        return whole.encode("utf-8", "replace").decode()


class LLMClient(Protocol):
    """What asks a language model.

    A protocol, so that one's own needs no base class. It makes one request for each call, and tries nothing again by
    itself: who asks counts every request.
    """

    @property
    def name(self) -> str:
        """Provider and model, such as `ollama:llama3.1`."""

    def ask(self, request: ModelRequest) -> ModelReply:
        """Make one request; what goes wrong is in the reply."""
