"""Create a proposer from the name of its provider."""

from __future__ import annotations

from openoutcry.arguments import is_url
from openoutcry.errors import refusal, without_password
from openoutcry.research.llm_clients.cassette import CassetteClient
from openoutcry.research.llm_clients.client_factory import LLM_PROVIDERS, build_llm_client
from openoutcry.research.proposal_requests import Proposer
from openoutcry.research.proposers.fixed_list import FixedProposer
from openoutcry.research.proposers.llm_proposer import LLMProposer
from openoutcry.research.proposers.optuna_search import OptunaProposer
from openoutcry.research.proposers.random_search import RandomProposer

_FIXED, _CASSETTE = "fixed:", "cassette:"
_SHOWN = ("fixed:PATH", "cassette:PATH", "random", "optuna", *LLM_PROVIDERS)


def build_proposer(
    provider: str, model: str | None = None, *, max_tokens: int | None = None, training_cutoff: str | None = None
) -> Proposer:
    """Return a proposer.

    Args:
        provider: `fixed:PATH`, a file of proposals; `random`; `optuna`; `anthropic`, `openai` or `ollama`; the URL of
            an OpenAI-compatible server, such as `http://127.0.0.1:8000/v1`; or `cassette:PATH`, recorded responses.
        model: Name of the model, for language models.
        max_tokens: Maximum output tokens.
        training_cutoff: Last date of the model's training data, such as `2025-03-31`.

    Raises:
        OpenOutcryError: `argument_invalid`: the provider is unknown, or a setting is missing.
        ModuleNotFoundError: the provider's library is not installed.
    """
    if not isinstance(provider, str):
        raise refusal("argument_invalid", f"a provider must be a string; received {provider!r}")
    if provider.startswith(_CASSETTE):
        _no_model(provider, model)
        return LLMProposer(CassetteClient(provider.removeprefix(_CASSETTE)), max_tokens, training_cutoff)
    if provider in LLM_PROVIDERS or is_url(provider):
        return LLMProposer(build_llm_client(provider, model), max_tokens, training_cutoff)
    if provider not in ("random", "optuna") and not provider.startswith(_FIXED):
        wanted = f"a provider must be {', '.join(f'`{name}`' for name in _SHOWN)} or a URL"
        raise refusal("argument_invalid", f"{wanted}; received {without_password(provider)!r}")
    _no_model(provider, model)
    if provider.startswith(_FIXED):
        return FixedProposer.from_file(provider.removeprefix(_FIXED))
    return RandomProposer() if provider == "random" else OptunaProposer()


def _no_model(provider: str, model: str | None) -> None:
    if model is not None:
        raise refusal("argument_invalid", f"`model` must be None for provider `{provider}`; received {model!r}")
