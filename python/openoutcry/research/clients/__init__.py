"""Clients of language models: three providers, and servers that speak as OpenAI's.

Every request is made by `Caller`, which counts it; no client tries anything again by itself.
"""

from openoutcry.research.clients.building import build_llm_client
from openoutcry.research.clients.cassette import CassetteClient
from openoutcry.research.clients.exchange import LLMClient, Message, ModelReply, ModelRequest
from openoutcry.research.clients.http_clients import OllamaClient, OpenAICompatibleClient
from openoutcry.research.clients.retry import Caller, Pacing
from openoutcry.research.clients.sdk_clients import AnthropicClient, OpenAIClient
from openoutcry.research.clients.transport import Transport

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
