"""Requests to proposers, and their replies.

All values are plain, so that a journal can hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Protocol

from openoutcry.arguments import checked_integer
from openoutcry.errors import refusal


@dataclass(frozen=True)
class MarketCard:
    """Market facts that a proposer sees, limited to the research window.

    Attributes:
        name: Name of the market.
        symbols: Names of its symbols.
        first: Date of its first bar.
        last: Date of the last bar of the research window.
        n_bars: Bars of the research window.
        periods_per_year: Bars per year.
        folds: First and last date of each fold's test, in order.
    """

    name: str
    symbols: tuple[str, ...]
    first: str
    last: str
    n_bars: int
    periods_per_year: float
    folds: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class TrialCard:
    """Summary of a round that a proposer sees.

    Attributes:
        round: The round, from 0.
        proposal: The proposal; None if it could not be read.
        outcome: `advanced`, `kept`, `discarded`, `rejected` or `crashed`.
        reasons: Reasons of the outcome.
        scores: Out-of-sample metrics by name; None where undefined; empty without an evaluation.
    """

    round: int
    proposal: Mapping[str, Any] | None
    outcome: str
    reasons: tuple[str, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ProposalRequest:
    """Request for a proposal.

    Attributes:
        round: The round, from 0.
        goal: Goal of the user, as free text.
        market: Market facts.
        catalogue: Strategies by name: `{"description": ..., "ranges": PARAM_RANGES}`.
        history: Summaries of the earlier rounds.
        prior: Results of earlier sessions, fenced; None in the first session.
        allow_code: Whether a proposal may be code.
        max_tunable: Maximum number of params that a proposal may move from their defaults.
        seed: Seed of the session.
        has_earlier_words: Whether the prompt is that of a journal before gates version 6.
    """

    round: int
    goal: str
    market: MarketCard
    catalogue: Mapping[str, Mapping[str, Any]]
    history: tuple[TrialCard, ...] = ()
    prior: str | None = None
    allow_code: bool = False
    max_tunable: int = 5
    seed: int = 0
    has_earlier_words: bool = False


@dataclass(frozen=True)
class Usage:
    """Tokens of one model request.

    `reasoning` counts tokens that are not part of `output`.

    `is_estimated`: the provider reported no counts, and they are estimated as a third of the bytes.
    """

    input: int = 0
    output: int = 0
    cache_creation: int = 0
    cache_read: int = 0
    reasoning: int = 0
    is_estimated: bool = False

    @property
    def total(self) -> int:
        """All tokens that count towards the budget."""
        return self.input + self.output + self.cache_creation + self.cache_read + self.reasoning


@dataclass(frozen=True)
class Attempt:
    """One request to a model, successful or not.

    Attributes:
        model: Name of the model.
        purpose: `propose` or `repair`.
        status: HTTP status; None without a response.
        usage: Its tokens.
        reply: Output of the model; empty without one.
        fault: Slug such as `http_429` or `reply_unparsable`; None on success.
        reserved: Tokens reserved before the request.
        detail: Message of the fault.
        seconds: Duration; ignored in comparisons.
    """

    model: str
    purpose: str
    status: int | None
    usage: Usage
    reply: str = ""
    fault: str | None = None
    reserved: int = 0
    detail: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def is_over_reserve(self) -> bool:
        """Whether the provider counted more tokens than were reserved."""
        return self.usage.total > self.reserved


@dataclass(frozen=True)
class ProposalReply:
    """Reply of a proposer.

    Attributes:
        proposal: The proposal, parsed but not checked. None with a `fault` or when `is_exhausted`.
        fault: Slug of why there is none, such as `parse`, `provider` or `budget`.
        detail: Message of the fault.
        is_exhausted: Whether the proposer has no further proposals.
        attempts: All model requests.
        prompt: Prompt that the model saw; empty without a model.
    """

    proposal: Mapping[str, Any] | None = None
    fault: str | None = None
    detail: str = ""
    is_exhausted: bool = False
    attempts: tuple[Attempt, ...] = ()
    prompt: str = ""


class TokenMeter:
    """Counts tokens against a limit that is never exceeded.

    Tokens are reserved before each request.

    Args:
        cap: Maximum tokens; None for no limit.
        used: Tokens already used.
    """

    def __init__(self, cap: int | None = None, used: int = 0) -> None:
        self.cap = None if cap is None else checked_integer("max_tokens", cap, 0, 2**53)
        self.used = checked_integer("used", used, 0, 2**53)

    def affords(self, reserve: int) -> bool:
        """Return whether a number of tokens is still available."""
        return self.cap is None or (self.used < self.cap and self.used + reserve <= self.cap)

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a request."""
        self.used += usage.total

    @property
    def is_spent(self) -> bool:
        """Whether no tokens are left."""
        return self.cap is not None and self.used >= self.cap


def estimated_tokens(text: str) -> int:
    """Return the estimated tokens of a text: a third of its bytes, rounded up."""
    return ceil(len(text.encode("utf-8", "surrogatepass")) / 3)


class Proposer(Protocol):
    """Source of proposals.

    Any object with these members qualifies; no base class is needed.
    """

    @property
    def name(self) -> str:
        """Its name, such as `fixed`, or provider and model."""

    def reserve(self, request: ProposalRequest) -> int:
        """Return the tokens to reserve for a round's first model request, 0 without model."""

    def propose(self, request: ProposalRequest, meter: TokenMeter) -> ProposalReply:
        """Return a proposal, or why there is none.

        Failures of model or network are returned, not raised.
        """


PROPOSAL_FIELDS = ("kind", "strategy", "params", "source", "rationale")


@dataclass(frozen=True)
class Proposal:
    """A hypothesis: a library strategy with params, or the source of a new strategy.

    Attributes:
        kind: `tune` or `code`.
        rationale: Why it should work.
        strategy: Name in the catalogue, for `tune`.
        params: Params that differ from the defaults, for `tune`; fixed params, for `code`.
        source: Python source of one strategy, for `code`.
    """

    kind: str
    rationale: str
    strategy: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None

    @classmethod
    def of(cls, raw: Any) -> Proposal:
        """Return the proposal of plain values.

        Raises:
            OpenOutcryError: `argument_invalid`: a field is missing, unknown or of the wrong type.
        """
        if not isinstance(raw, Mapping):
            raise refusal("argument_invalid", f"a proposal must be an object; received {type(raw).__name__}")
        if unknown := [name for name in raw if name not in PROPOSAL_FIELDS]:
            wanted = f"fields of a proposal must be among {', '.join(PROPOSAL_FIELDS)}"
            raise refusal("argument_invalid", f"{wanted}; received {str(unknown[0])[:80]!r}")
        kind = raw.get("kind", "code" if raw.get("source") is not None else "tune")
        needed = {"tune": "strategy", "code": "source"}.get(kind) if isinstance(kind, str) else None
        if needed is None:
            raise refusal("argument_invalid", f"`kind` must be `tune` or `code`; received {str(kind)[:80]!r}")
        texts = {name: raw.get(name) for name in ("rationale", needed)}
        for name, value in texts.items():
            if not isinstance(value, str):
                raise refusal("argument_invalid", f"`{name}` must be a string; received {type(value).__name__}")
        # Models often fill unused fields with null.
        params = raw.get("params")
        params = {} if params is None else params
        if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
            raise refusal("argument_invalid", f"`params` must be an object; received {type(params).__name__}")
        return cls(kind, str(texts["rationale"]), params=dict(params), **{needed: str(texts[needed])})

    def to_json(self) -> dict[str, Any]:
        """Return the proposal as plain values."""
        body = {"strategy": self.strategy} if self.kind == "tune" else {"source": self.source}
        return {"kind": self.kind, **body, "params": dict(self.params), "rationale": self.rationale}
