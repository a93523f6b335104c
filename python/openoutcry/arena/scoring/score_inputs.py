"""Inputs of the scores: agents, quotes, decisions, resolutions, base rates, rules.

Times are integer microseconds since 1970, UTC. Probabilities and prices are decimal strings of at most six places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import NamedTuple

from openoutcry.errors import refusal

FEE_MODELS = ("kalshi_taker", "none")
STATUSES = ("determined", "disputed", "amended", "finalized", "void", "scalar")


class Agent(NamedTuple):
    """A registered agent. Decisions of a suspended agent do not count in any score."""

    slug: str
    registered_us: int
    suspended: bool = False


class Decision(NamedTuple):
    """An accepted forecast. `seq` is the index of its submission in the log."""

    seq: int
    agent_slug: str
    market_id: str
    received_us: int
    snapshot_us: int
    yes_probability: str
    confidence: str | None = None


class Quote(NamedTuple):
    """A market's entry in a snapshot. The first of `theaters` is the primary one."""

    market_id: str
    snapshot_us: int
    cutoff_us: int
    theaters: tuple[str, ...] = ()
    mid: str | None = None
    bid: str | None = None
    ask: str | None = None


class Resolution(NamedTuple):
    """A resolution record of a market. The record with the largest `seq` applies."""

    seq: int
    market_id: str
    status: str
    outcome: str | None
    at_us: int
    actual_close_us: int | None = None


class BaseRate(NamedTuple):
    """A historical base rate: the share of YES among `n` past questions."""

    theater: str
    rate: str
    n: int
    source: str
    period: str


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of the scoring rules, as stored in a `scoring` record of the log.

    Attributes:
        min_rate_n: Minimum number of decisions (or questions) of a reference rate.
        min_rate: Minimum reference rate, inclusive.
        max_rate: Maximum reference rate, inclusive.
        min_confidence: Minimum confidence of a paper position, inclusive.
        edge: Minimum distance of the forecast from the mid price, exclusive.
        stake: Stake of a position, in account currency.
        fee_model: `kalshi_taker` or `none`.
        fee_rate: Fee as a fraction of `contracts * price * (1 - price)`.
        fee_step: Fees are rounded up to a multiple of this, in account currency.
        log_clip: The log score clips probabilities to `[log_clip, 1 - log_clip]`.
        close_margin_s: Decisions within this many seconds before the actual close do not count.
        grace_s: Seconds without a dispute after which a `determined` result is final.
        min_markets: Minimum number of markets for an interval and for a rank probability.
        n_draws: Number of bootstrap resamples, at least 1,999.
        seed: Seed of the resamples.
    """

    min_rate_n: int = 10
    min_rate: str = "0.05"
    max_rate: str = "0.95"
    min_confidence: str = "0.65"
    edge: str = "0.05"
    stake: str = "50"
    fee_model: str = "kalshi_taker"
    fee_rate: str = "0.07"
    fee_step: str = "0.01"
    log_clip: str = "0.001"
    close_margin_s: int = 7200
    grace_s: int = 86400
    min_markets: int = 10
    n_draws: int = 1999
    seed: int = 20260101

    def __post_init__(self) -> None:
        """Raise if the fee model is unknown."""
        if self.fee_model not in FEE_MODELS:
            raise refusal("argument_invalid", f"`fee_model` must be one of {FEE_MODELS}; received {self.fee_model!r}")

    @classmethod
    def of_record(cls, record: Mapping[str, str | int]) -> Parameters:
        """Return the parameters of a `scoring` record, which must have all of them."""
        kinds = {each.name: int if each.type == "int" else str for each in fields(cls)}
        if set(record) != set(kinds) or any(type(record[name]) is not kind for name, kind in kinds.items()):
            raise refusal("argument_invalid", f"parameters must be {kinds}; received {dict(record)}")
        return cls(**record)  # type: ignore[arg-type]

    def to_record(self) -> dict[str, str | int]:
        """Return the parameters as strings and integers, as the log stores them."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """Everything that a board is computed from.

    Attributes:
        at_us: Time of the board. Later resolutions are ignored; disputes may arrive until then.
        agents: All registered agents.
        snapshots_us: `as_of` of every published snapshot.
        quotes: All markets of all snapshots.
        decisions: All accepted decisions that are public.
        resolutions: All resolution records.
        base_rates: Historical rates, at most one row per theater.
        window: Start (inclusive) and end (exclusive) of a season, or None for all time.
        scoring_version: Version of the formulas.
        parameters: Parameters of the rules.
    """

    at_us: int
    agents: Sequence[Agent]
    snapshots_us: Sequence[int]
    quotes: Sequence[Quote]
    decisions: Sequence[Decision]
    resolutions: Sequence[Resolution]
    base_rates: Sequence[BaseRate] = ()
    window: tuple[int, int] | None = None
    scoring_version: str = "1"
    parameters: Parameters = field(default_factory=Parameters)
