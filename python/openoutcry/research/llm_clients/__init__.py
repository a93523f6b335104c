"""Clients of language models: three providers, and servers that speak as OpenAI's.

Every request is made by `Caller`, which counts it; no client tries anything again by itself.
"""

from openoutcry.research.llm_clients.cassette import CassetteClient
from openoutcry.research.llm_clients.client_factory import build_llm_client
from openoutcry.research.llm_clients.http_clients import OllamaClient, OpenAICompatibleClient
from openoutcry.research.llm_clients.http_transport import Transport
from openoutcry.research.llm_clients.messages import LLMClient, Message, ModelReply, ModelRequest
from openoutcry.research.llm_clients.retry import Caller, Pacing
from openoutcry.research.llm_clients.sdk_clients import AnthropicClient, OpenAIClient

__all__ = [
    "AnthropicClient",
    "Caller",
    "CassetteClient",
    "LLMClient",
    "Message",
    "ModelReply",
    "ModelRequest",
    "OllamaClient",
    "OpenAIClient",
    "OpenAICompatibleClient",
    "Pacing",
    "Transport",
    "build_llm_client",
]
