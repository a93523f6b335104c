"""What is asked of a proposer, and what comes back.

All of it is plain values that a journal can hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Protocol

from openoutcry.arguments import whole
from openoutcry.errors import refusal


@dataclass(frozen=True)
class MarketCard:
    """What a proposer may know of the market.

    Nothing of it lies behind the end of the research window.

    Attributes:
        name: What the market is called.
        symbols: Names of its symbols.
        first: Date of its first bar.
        last: Date of the last bar of the research window.
        n_bars: Bars of the research window.
        periods_per_year: Bars a year.
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
    """What a proposer is told of a round of this session.

    Attributes:
        round: The round, from 0.
        proposal: What was proposed; None if nothing could be read.
        outcome: `advanced`, `kept`, `discarded` or `rejected`.
        reasons: Why, in words.
        scores: Out-of-sample numbers by name; None where undefined; empty where nothing was evaluated.
    """

    round: int
    proposal: Mapping[str, Any] | None
    outcome: str
    reasons: tuple[str, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask:
    """What a proposer is asked in a round.

    Attributes:
        round: The round, from 0.
        goal: What the person wants, in their words.
        market: The market.
        catalogue: Strategies by name: `{"description": ..., "ranges": PARAM_RANGES}`.
        history: What became of the rounds before.
        prior: What earlier sessions learned, fenced; None in the first one.
        allow_code: Whether a proposal may be code.
        max_tunable: Parameters that a proposal may set away from their defaults.
        seed: Seed of the session.
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


@dataclass(frozen=True)
class Usage:
    """Tokens of one attempt; `reasoning` is what is not inside `output`.

    `is_estimated` says that the provider did not tell, and they are a third of the bytes.
    """

    input: int = 0
    output: int = 0
    cache_creation: int = 0
    cache_read: int = 0
    reasoning: int = 0
    is_estimated: bool = False

    @property
    def total(self) -> int:
        """All tokens that count."""
        return self.input + self.output + self.cache_creation + self.cache_read + self.reasoning


@dataclass(frozen=True)
class Attempt:
    """One request to a model, whatever became of it.

    Attributes:
        model: Which model was asked.
        purpose: `propose` or `repair`.
        status: HTTP status; None where no response came.
        usage: Its tokens.
        reply: What the model said; empty where nothing came.
        fault: Slug of what was wrong, such as `http_429` or `reply_unparsable`; None if nothing.
        reserved: Tokens set aside before it.
        detail: The fault in words.
        seconds: How long it took; two attempts are equal without it.
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
        """Whether it used more than was set aside: a provider counted what was not sent."""
        return self.usage.total > self.reserved


@dataclass(frozen=True)
class Reply:
    """What came of asking.

    Attributes:
        proposal: What was proposed, as read; not checked yet. None with a `fault` or when `is_exhausted`.
        fault: Slug of why there is none, such as `parse`, `provider` or `budget`.
        detail: The same in words.
        is_exhausted: There is nothing more to propose.
        attempts: Every request that was made.
        prompt: What a model was shown; empty where none was.
    """

    proposal: Mapping[str, Any] | None = None
    fault: str | None = None
    detail: str = ""
    is_exhausted: bool = False
    attempts: tuple[Attempt, ...] = ()
    prompt: str = ""


class TokenMeter:
    """Counts tokens against a cap that is never exceeded.

    What may be used is set aside before a request.

    Args:
        cap: Most tokens; None for no cap.
        used: Tokens used before.
    """

    def __init__(self, cap: int | None = None, used: int = 0) -> None:
        self.cap = None if cap is None else whole("max_tokens", cap, 0, 2**53)
        self.used = whole("used", used, 0, 2**53)

    def affords(self, reserve: int) -> bool:
        """Return whether so many tokens may still be used."""
        return self.cap is None or (self.used < self.cap and self.used + reserve <= self.cap)

    def spend(self, usage: Usage) -> None:
        """Count what a request used."""
        self.used += usage.total

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.cap is not None and self.used >= self.cap


def estimated_tokens(text: str) -> int:
    """Return how many tokens a text is taken for.

    A third of its bytes, rounded up.
    """
    return ceil(len(text.encode("utf-8", "surrogatepass")) / 3)


class Proposer(Protocol):
    """What proposes.

    A protocol, so that one's own needs no base class.
    """

    @property
    def name(self) -> str:
        """Name of it, such as `fixed` or the provider and model."""

    def reserve(self, ask: Ask) -> int:
        """Return the tokens to set aside for the first request of a round.

        0 where no model is asked.
        """

    def propose(self, ask: Ask, meter: TokenMeter) -> Reply:
        """Return a proposal, or why there is none.

        It raises nothing that a model or a network can cause.
        """


PROPOSAL_FIELDS = ("kind", "strategy", "params", "source", "rationale")


@dataclass(frozen=True)
class Proposal:
    """A hypothesis: a known strategy with params, or the source of a new one.

    Attributes:
        kind: `tune` or `code`.
        rationale: Why it should work.
        strategy: Name in the catalogue, for `tune`.
        params: Params that differ from the defaults, for `tune`; those fixed by the proposer, for `code`.
        source: Python source of one strategy, for `code`.
    """

    kind: str
    rationale: str
    strategy: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None

    @classmethod
    def of(cls, raw: Any) -> Proposal:
        """Read a proposal.

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
                raise refusal("argument_invalid", f"`{name}` must be a text; received {type(value).__name__}")
        # A model often fills what it has no use for with null.
        params = raw.get("params")
        params = {} if params is None else params
        if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
            raise refusal("argument_invalid", f"`params` must be an object; received {type(params).__name__}")
        return cls(kind, str(texts["rationale"]), params=dict(params), **{needed: str(texts[needed])})

    def to_json(self) -> dict[str, Any]:
        """Return the proposal as plain values."""
        body = {"strategy": self.strategy} if self.kind == "tune" else {"source": self.source}
        return {"kind": self.kind, **body, "params": dict(self.params), "rationale": self.rationale}
