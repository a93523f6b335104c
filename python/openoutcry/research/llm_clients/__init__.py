"""Clients of language models: Anthropic, OpenAI, Ollama and compatible servers.

`Caller` makes and counts every request; no client retries on its own. Imports `proposal_requests`, `strict_json`,
`untrusted`, `errors` and `arguments`.
"""

from openoutcry.research.llm_clients.cassette import CassetteClient
from openoutcry.research.llm_clients.client_factory import build_llm_client
from openoutcry.research.llm_clients.http_clients import OllamaClient, OpenAICompatibleClient
from openoutcry.research.llm_clients.http_transport import Transport
from openoutcry.research.llm_clients.messages import LLMClient, Message, ModelReply, ModelRequest
from openoutcry.research.llm_clients.retry import Caller, RetryPolicy
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
    "RetryPolicy",
    "Transport",
    "build_llm_client",
]
