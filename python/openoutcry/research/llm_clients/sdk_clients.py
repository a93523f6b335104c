"""Clients that use the provider's Python library.

The library builds requests. Transport, retries and parsing are this package's: the libraries retry without counting.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from openoutcry.research.llm_clients.credentials import Secret
from openoutcry.research.llm_clients.http_transport import Received, Transport, TransportFault
from openoutcry.research.llm_clients.messages import ModelReply, ModelRequest
from openoutcry.research.llm_clients.response_parser import lost_reply, reply_of
from openoutcry.research.llm_clients.wire_formats import ANTHROPIC, OPENAI, WireFormat


class _CapturingTransport:
    """HTTP transport of a library that keeps the last response."""

    def __init__(self, library: ModuleType, transport: Transport) -> None:
        self._library = library
        self._transport = transport
        self.outcome: Received | TransportFault | None = None

    def reset(self) -> None:
        """Discard the previous outcome."""
        self.outcome = None

    def handle_request(self, request: Any) -> Any:
        """Send a request of the library."""
        headers: Mapping[str, str] = dict(request.headers.items())
        try:
            self.outcome = self._transport.post(str(request.url), headers, request.read())
        except TransportFault as fault:
            self.outcome = fault
            raise self._library.ConnectError(fault.slug, request=request) from None
        return self._library.Response(self.outcome.status, content=self.outcome.body, request=request)

    def close(self) -> None:
        """Do nothing: no connection is kept open."""


class SdkClient:
    """Client of a model behind a provider's library."""

    def __init__(self, name: str, sdk: ModuleType, line: _CapturingTransport, format_: WireFormat, key: Secret) -> None:
        self.name = name
        self._sdk = sdk
        self._line = line
        self._format = format_
        self._key = key

    def _create(self, body: dict[str, Any]) -> None:
        raise NotImplementedError

    def complete(self, request: ModelRequest) -> ModelReply:
        """Send one request; failures are in the reply."""
        self._line.reset()
        detail = "the library sent nothing"
        try:
            self._create(self._format.body(self.name.partition(":")[2], request))
        except (self._error, TypeError, ValueError) as error:
            # Includes error statuses; the outcome is parsed below.
            detail = f"{type(error).__name__}: {error}"
        outcome = self._line.outcome
        if isinstance(outcome, Received):
            return reply_of(outcome, request, self._format, self._key)
        fault = outcome or TransportFault("not_sent", detail, is_sent=False)
        return lost_reply(fault, request, self._key)

    @property
    def _error(self) -> type[Exception]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class AnthropicClient(SdkClient):
    """Client of an Anthropic model, with the library `anthropic`.

    Args:
        model: Name of the model.
        key: API key.
        base_url: URL that replaces Anthropic's.
        transport: HTTP transport.

    Raises:
        ModuleNotFoundError: the library is not installed.
    """

    def __init__(
        self, model: str, key: Secret, base_url: str | None = None, transport: Transport | None = None
    ) -> None:
        try:
            import anthropic
        except ModuleNotFoundError as error:
            raise _missing("anthropic", error) from error
        line = _CapturingTransport(_http_of(anthropic), transport or Transport())
        super().__init__(f"anthropic:{model}", anthropic, line, ANTHROPIC, key)
        self._client = anthropic.Anthropic(
            api_key=key.reveal(), base_url=base_url, max_retries=0, http_client=_http_client(anthropic, line)
        )

    def _create(self, body: dict[str, Any]) -> None:
        # Without a timeout the library refuses long responses; the transport has its own limit.
        self._client.messages.with_raw_response.create(**body, timeout=self._line._transport.seconds)

    @property
    def _error(self) -> type[Exception]:
        found: type[Exception] = self._sdk.AnthropicError
        return found


class OpenAIClient(SdkClient):
    """Client of an OpenAI model, with the library `openai`.

    Args:
        model: Name of the model.
        key: API key.
        base_url: URL that replaces OpenAI's.
        transport: HTTP transport.

    Raises:
        ModuleNotFoundError: the library is not installed.
    """

    def __init__(
        self, model: str, key: Secret, base_url: str | None = None, transport: Transport | None = None
    ) -> None:
        try:
            import openai
        except ModuleNotFoundError as error:
            raise _missing("openai", error) from error
        line = _CapturingTransport(_http_of(openai), transport or Transport())
        super().__init__(f"openai:{model}", openai, line, OPENAI, key)
        self._client = openai.OpenAI(
            api_key=key.reveal(), base_url=base_url, max_retries=0, http_client=_http_client(openai, line)
        )

    def _create(self, body: dict[str, Any]) -> None:
        self._client.chat.completions.with_raw_response.create(**body)

    @property
    def _error(self) -> type[Exception]:
        found: type[Exception] = self._sdk.OpenAIError
        return found


def _http_client(sdk: ModuleType, line: _CapturingTransport) -> Any:
    return sdk.DefaultHttpxClient(transport=line, trust_env=False, follow_redirects=False)


def _http_of(sdk: ModuleType) -> ModuleType:
    """Return the HTTP library of a provider's library: httpx, or its successor."""
    base = next(each for each in sdk.DefaultHttpxClient.__mro__ if each.__name__ == "Client")
    return sys.modules[base.__module__.partition(".")[0]]


def _missing(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"{__name__} needs `pip install openoutcry[{extra}]`", name=error.name)
