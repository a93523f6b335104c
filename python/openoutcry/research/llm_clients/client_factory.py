"""Create a client from the name or URL of a provider."""

from __future__ import annotations

from openoutcry.arguments import is_url
from openoutcry.errors import refusal, without_password
from openoutcry.research.llm_clients.credentials import credentials_of, key_required
from openoutcry.research.llm_clients.http_clients import OllamaClient, OpenAICompatibleClient
from openoutcry.research.llm_clients.http_transport import Transport, check_url
from openoutcry.research.llm_clients.messages import LLMClient
from openoutcry.research.llm_clients.sdk_clients import AnthropicClient, OpenAIClient

_MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5-mini", "ollama": "llama3.1"}
LLM_PROVIDERS = tuple(_MODELS)


def build_llm_client(
    provider: str, model: str | None, *, base_url: str | None = None, transport: Transport | None = None
) -> LLMClient:
    """Return the client of a model.

    Args:
        provider: `anthropic`, `openai`, `ollama`, or the URL of an OpenAI-compatible server, such as
            `http://127.0.0.1:8000/v1`.
        model: Name of the model.
        base_url: URL that overrides settings file and environment.
        transport: HTTP transport.

    Raises:
        OpenOutcryError: `argument_invalid`: the provider is unknown, or its key or the name of the model is missing.
        ModuleNotFoundError: the provider's library is not installed.
    """
    is_server = is_url(provider)
    if not is_server and provider not in _MODELS:
        shown = without_password(provider) if isinstance(provider, str) else provider
        wanted = f"a provider of a model must be {', '.join(f'`{name}`' for name in _MODELS)} or a URL"
        raise refusal("argument_invalid", f"{wanted}; received {shown!r}")
    if not isinstance(model, str) or not model.strip() or not model.isprintable():
        shown = without_password(provider) if is_server else f"{provider}, such as `{_MODELS[provider]}`"
        raise refusal("argument_invalid", f"`model` must be the name of a model of {shown}; received {model!r}")
    known = credentials_of(provider.rstrip("/") if is_server else provider)
    if base_url is not None:
        check_url(base_url)
    base_url = base_url or known.base_url
    if provider == "anthropic":
        return AnthropicClient(model, key_required(provider, known), base_url, transport)
    if provider == "openai":
        return OpenAIClient(model, key_required(provider, known), base_url, transport)
    if provider == "ollama":
        return OllamaClient(model, base_url, known.key, transport)
    return OpenAICompatibleClient(model, base_url or provider, known.key, transport)
