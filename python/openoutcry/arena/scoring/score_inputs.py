"""What a score depends on, as log, snapshots and base-rate table say it.

Moments are whole microseconds since 1970 in UTC. Probabilities and prices are decimal texts of at most six places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import NamedTuple

from openoutcry.errors import refusal

FEE_MODELS = ("kalshi_taker", "none")
STATUSES = ("determined", "disputed", "amended", "finalized", "void", "scalar")


class Agent(NamedTuple):
    """A registered agent.

    Decisions of a suspended one do not count, for it or for others.
    """

    slug: str
    registered_us: int
    suspended: bool = False


class Decision(NamedTuple):
    """A forecast that was accepted. `seq` is the place of its submission in the log."""

    seq: int
    agent_slug: str
    market_id: str
    received_us: int
    snapshot_us: int
    yes_probability: str
    confidence: str | None = None


class Quote(NamedTuple):
    """What a snapshot says of a market. The first of `theaters` is its primary one."""

    market_id: str
    snapshot_us: int
    cutoff_us: int
    theaters: tuple[str, ...] = ()
    mid: str | None = None
    bid: str | None = None
    ask: str | None = None


class Resolution(NamedTuple):
    """A record of what became of a market. The last one by `seq` stands."""

    seq: int
    market_id: str
    status: str
    outcome: str | None
    at_us: int
    actual_close_us: int | None = None


class BaseRate(NamedTuple):
    """A historical rate: the share of YES among `n` past questions."""

    theater: str
    rate: str
    n: int
    source: str
    period: str


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the rules leave open, as the log's record of a scoring version holds it.

    Attributes:
        min_rate_n: Decisions below which a rate is no reference.
        min_rate: Least rate that is a reference, inclusive.
        max_rate: Largest rate that is a reference, inclusive.
        min_confidence: Least confidence that takes a position, inclusive.
        edge: Distance from the mid that a position needs more than.
        stake: Account currency of a position.
        fee_model: `kalshi_taker` or `none`.
        fee_rate: Of contracts times price times the other side's price.
        fee_step: What a fee is rounded up to a multiple of.
        log_clip: Least probability that a log score takes; the largest is 1 less it.
        close_margin_s: Seconds before the actual close after which no decision counts.
        grace_s: Seconds without dispute after which `determined` is final.
        min_markets: Markets below which an agent has no interval and is no candidate for the best.
        n_draws: Resamples of an interval, at least 1,999.
        seed: What resamples are a function of.
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
        """Refuse a fee model that does not exist."""
        if self.fee_model not in FEE_MODELS:
            raise refusal("argument_invalid", f"`fee_model` must be of {FEE_MODELS}; received {self.fee_model!r}")

    @classmethod
    def of_record(cls, record: Mapping[str, str | int]) -> Parameters:
        """Return the parameters of a `scoring` record, which names each of them."""
        kinds = {each.name: int if each.type == "int" else str for each in fields(cls)}
        if set(record) != set(kinds) or any(type(record[name]) is not kind for name, kind in kinds.items()):
            raise refusal("argument_invalid", f"parameters must be {kinds}; received {dict(record)}")
        return cls(**record)  # type: ignore[arg-type]

    def to_record(self) -> dict[str, str | int]:
        """Return the parameters as the log holds them: texts and whole numbers."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a board depends on.

    Attributes:
        at_us: Moment of the board: later resolutions are not known, and `determined` waits until it for a dispute.
        agents: All that are registered.
        snapshots_us: `as_of` of every published snapshot.
        quotes: Every market of every snapshot.
        decisions: Every accepted decision that may be known.
        resolutions: Records of resolutions.
        base_rates: Table of historical rates, one row a theater at most.
        window: First moment of a season, and the one after its last; all time if None.
        scoring_version: Name of these rules.
        parameters: What the rules leave open.
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
