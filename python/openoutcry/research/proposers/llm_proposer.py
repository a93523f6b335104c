"""Proposer that calls a language model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from openoutcry.arguments import checked_integer
from openoutcry.research.llm_clients.messages import LLMClient, Message, ModelReply, ModelRequest
from openoutcry.research.llm_clients.retry import Asked, Caller, Pacing
from openoutcry.research.proposal_requests import Ask, Reply, TokenMeter
from openoutcry.research.proposers.prompts import Prompt, cutoff_of, prompt_of
from openoutcry.research.proposers.proposal_parser import reading_of
from openoutcry.research.proposers.round_random import Draws, seed_for

_TUNE_TOKENS, _CODE_TOKENS = 4_096, 12_288
_SHOWN = 8_000
_MOST_TOKENS = 10**6
_MENDABLE = ("reply_empty", "reply_cut", "reply_too_long")


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
        pacing: Retry policy.

    Raises:
        OpenOutcryError: `argument_invalid`: `training_cutoff` or `max_tokens` is invalid.
    """

    client: LLMClient
    max_tokens: int | None = None
    training_cutoff: str | None = None
    pacing: Pacing = field(default_factory=Pacing)
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

    def reserve(self, ask: Ask) -> int:
        """Return the tokens to reserve for the first model request of a round.

        It depends on the proposal request alone, so a resumed session reserves the same number.
        """
        return replace(self._request(ask, self.prompt(ask)), is_structured=True).reserve

    def prompt(self, ask: Ask) -> Prompt:
        """Return the prompt of a round."""
        return prompt_of(ask, self.training_cutoff)

    def propose(self, ask: Ask, meter: TokenMeter) -> Reply:
        """Return the proposal of the model, or why there is none."""
        prompt = self.prompt(ask)
        request = self._request(ask, prompt)
        caller = Caller(self.client, meter, self.pacing, Draws("jitter", ask.seed, ask.round).unit)
        first = caller.ask(request, "propose")
        if first.reply is not None and first.reply.fault is None:
            # A server without schema support is not sent a schema again in later rounds.
            self._takes_schema = first.request.is_structured
        reply = _outcome(first, str(prompt))
        if reply.fault != "parse" or first.reply is None:
            return reply
        mended = caller.ask(_repair(first.request, first.reply, reply.detail), "repair")
        return _outcome(mended, str(prompt), first)

    def _request(self, ask: Ask, prompt: Prompt) -> ModelRequest:
        most = self.max_tokens or (_CODE_TOKENS if ask.allow_code else _TUNE_TOKENS)
        # A 31-bit integer, which all servers accept.
        seed = seed_for("sampling", ask.seed, ask.round) % 2**31
        turns = (Message("user", prompt.text),)
        return ModelRequest(prompt.system, turns, prompt.schema, most, seed, self._takes_schema)


def _repair(request: ModelRequest, reply: ModelReply, problem: str) -> ModelRequest:
    """Return the request to repair an unreadable response."""
    said = reply.said[:_SHOWN].strip() or "(nothing)"
    asked = f"This is not a valid proposal: {problem}. Answer again with one complete JSON object in the format above."
    return replace(request, messages=(*request.messages, Message("assistant", said), Message("user", asked)))


def _outcome(asked: Asked, prompt: str, before: Asked | None = None) -> Reply:
    """Return the reply of a call; `before` is the call that it repairs."""
    attempts = (*(before.attempts if before else ()), *asked.attempts)
    reply = asked.reply
    if asked.is_over_budget:
        return Reply(None, "budget", "the next request could exceed the token limit", False, attempts, prompt)
    if reply is None:
        return Reply(None, "provider", "no request was made", False, attempts, prompt)
    if reply.fault == "refusal":
        return Reply(None, "refusal", reply.detail, False, attempts, prompt)
    if reply.fault not in (None, *_MENDABLE):
        return Reply(None, "provider", f"{reply.fault}: {reply.detail}", False, attempts, prompt)
    reading = reading_of(reply)
    if reading.proposal is not None:
        return Reply(reading.proposal, attempts=attempts, prompt=prompt)
    return Reply(None, "parse", reply.detail or reading.problem, False, attempts, prompt)
