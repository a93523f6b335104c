"""Proposer that calls a language model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from openoutcry.arguments import checked_integer
from openoutcry.research.llm_clients.messages import LLMClient, Message, ModelReply, ModelRequest
from openoutcry.research.llm_clients.retry import Caller, CallResult, RetryPolicy
from openoutcry.research.proposal_requests import ProposalReply, ProposalRequest, TokenMeter
from openoutcry.research.proposers.prompts import Prompt, cutoff_of, prompt_of
from openoutcry.research.proposers.proposal_parser import parse_reply
from openoutcry.research.proposers.round_random import Draws, seed_for

_TUNE_TOKENS, _CODE_TOKENS = 4_096, 12_288
_SHOWN = 8_000
_MOST_TOKENS = 10**6
_REPAIRABLE = ("reply_empty", "reply_cut", "reply_too_long")


@dataclass
class LLMProposer:
    """Call a model, and once more if its response cannot be parsed.

    Every failure of model or network becomes a reply with a `fault`:

    - `budget`: the token limit does not allow a request;
    - `provider`: no attempt got a response, or the provider refused the request;
    - `refusal`: the model refused;
    - `parse`: the response holds no proposal, also after the repair request.

    Args:
        client: The model.
        max_tokens: Maximum output tokens, including reasoning; 4,096 by default, 12,288 for code.
        training_cutoff: Last date of the model's training data, such as `2025-03-31`.
        retry_policy: Retry policy.

    Raises:
        OpenOutcryError: `argument_invalid`: `training_cutoff` or `max_tokens` is invalid.
    """

    client: LLMClient
    max_tokens: int | None = None
    training_cutoff: str | None = None
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    _takes_schema: bool = field(default=True, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.max_tokens is not None:
            checked_integer("max_tokens", self.max_tokens, 1, _MOST_TOKENS)
        if self.training_cutoff is not None:
            cutoff_of(self.training_cutoff)

    @property
    def name(self) -> str:
        """Provider and model."""
        return self.client.name

    def reserve(self, request: ProposalRequest) -> int:
        """Return the tokens to reserve for the first model request of a round.

        It depends on the proposal request alone, so a resumed session reserves the same number.
        """
        return replace(self._model_request(request, self.prompt(request)), is_structured=True).reserve

    def prompt(self, request: ProposalRequest) -> Prompt:
        """Return the prompt of a round."""
        return prompt_of(request, self.training_cutoff)

    def propose(self, request: ProposalRequest, meter: TokenMeter) -> ProposalReply:
        """Return the proposal of the model, or why there is none."""
        prompt = self.prompt(request)
        model_request = self._model_request(request, prompt)
        caller = Caller(self.client, meter, self.retry_policy, Draws("jitter", request.seed, request.round).unit)
        first = caller.call(model_request, "propose")
        if first.reply is not None and first.reply.fault is None:
            # A server without schema support is not sent a schema again in later rounds.
            self._takes_schema = first.request.is_structured
        reply = _outcome(first, str(prompt))
        if reply.fault != "parse" or first.reply is None:
            return reply
        repaired = caller.call(_repair(first.request, first.reply, reply.detail), "repair")
        return _outcome(repaired, str(prompt), first)

    def _model_request(self, request: ProposalRequest, prompt: Prompt) -> ModelRequest:
        most = self.max_tokens or (_CODE_TOKENS if request.allow_code else _TUNE_TOKENS)
        # A 31-bit integer, which all servers accept.
        seed = seed_for("sampling", request.seed, request.round) % 2**31
        turns = (Message("user", prompt.text),)
        return ModelRequest(prompt.system, turns, prompt.schema, most, seed, self._takes_schema)


def _repair(model_request: ModelRequest, reply: ModelReply, problem: str) -> ModelRequest:
    """Return the request to repair an unreadable response."""
    response = reply.transcript[:_SHOWN].strip() or "(nothing)"
    instruction = (
        f"This is not a valid proposal: {problem}. Answer again with one complete JSON object in the format above."
    )
    return replace(
        model_request, messages=(*model_request.messages, Message("assistant", response), Message("user", instruction))
    )


def _outcome(call_result: CallResult, prompt: str, before: CallResult | None = None) -> ProposalReply:
    """Return the reply of a call; `before` is the call that it repairs."""
    attempts = (*(before.attempts if before else ()), *call_result.attempts)
    reply = call_result.reply
    if call_result.is_over_budget:
        return ProposalReply(None, "budget", "the next request could exceed the token limit", False, attempts, prompt)
    if reply is None:
        return ProposalReply(None, "provider", "no request was made", False, attempts, prompt)
    if reply.fault == "refusal":
        return ProposalReply(None, "refusal", reply.detail, False, attempts, prompt)
    if reply.fault not in (None, *_REPAIRABLE):
        return ProposalReply(None, "provider", f"{reply.fault}: {reply.detail}", False, attempts, prompt)
    parsed = parse_reply(reply)
    if parsed.proposal is not None:
        return ProposalReply(parsed.proposal, attempts=attempts, prompt=prompt)
    return ProposalReply(None, "parse", reply.detail or parsed.problem, False, attempts, prompt)
