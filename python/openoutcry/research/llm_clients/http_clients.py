"""Clients over plain HTTP: Ollama and OpenAI-compatible servers."""

from __future__ import annotations

import json
from dataclasses import dataclass

from openoutcry.research.llm_clients.credentials import Secret
from openoutcry.research.llm_clients.http_transport import Transport, TransportFault, check_url
from openoutcry.research.llm_clients.messages import ModelReply, ModelRequest
from openoutcry.research.llm_clients.response_parser import lost_reply, reply_of
from openoutcry.research.llm_clients.wire_formats import COMPATIBLE, OLLAMA, WireFormat

_OLLAMA_URL = "http://127.0.0.1:11434"


@dataclass(frozen=True)
class Endpoint:
    """URL and wire format of a model; `name` identifies it in journals."""

    name: str
    model: str
    url: str
    format: WireFormat


class HttpClient:
    """Client of a model behind a URL.

    Args:
        endpoint: URL and wire format.
        key: Bearer token, if any.
        transport: HTTP transport.
    """

    def __init__(self, endpoint: Endpoint, key: Secret | None = None, transport: Transport | None = None) -> None:
        check_url(endpoint.url)
        self.name = endpoint.name
        self._endpoint = endpoint
        self._key = key
        self._transport = transport or Transport()

    def complete(self, request: ModelRequest) -> ModelReply:
        """Send one request; failures are in the reply."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key.reveal()}"
        body = json.dumps(self._endpoint.format.body(self._endpoint.model, request)).encode()
        try:
            received = self._transport.post(self._endpoint.url, headers, body)
        except TransportFault as fault:
            return lost_reply(fault, request, self._key)
        return reply_of(received, request, self._endpoint.format, self._key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class OllamaClient(HttpClient):
    """Client of an Ollama model, over `/api/chat`.

    Args:
        model: Name of the model, such as `llama3.1`.
        base_url: URL of Ollama; this machine by default.
        key: Key, if a proxy requires one.
        transport: HTTP transport.
    """

    def __init__(
        self, model: str, base_url: str | None = None, key: Secret | None = None, transport: Transport | None = None
    ) -> None:
        url = f"{(base_url or _OLLAMA_URL).rstrip('/')}/api/chat"
        super().__init__(Endpoint(f"ollama:{model}", model, url, OLLAMA), key, transport)


class OpenAICompatibleClient(HttpClient):
    """Client of an OpenAI-compatible server: vLLM, llama.cpp, LM Studio and others.

    Args:
        model: Name of the model.
        base_url: URL without `/chat/completions`, such as `http://127.0.0.1:8000/v1`.
        key: Key, if the server requires one.
        transport: HTTP transport.
    """

    def __init__(
        self, model: str, base_url: str, key: Secret | None = None, transport: Transport | None = None
    ) -> None:
        base = base_url.rstrip("/").removesuffix("/chat/completions")
        endpoint = Endpoint(f"{base}:{model}", model, f"{base}/chat/completions", COMPATIBLE)
        super().__init__(endpoint, key, transport)
