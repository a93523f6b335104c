"""Bodies of answers, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from openoutcry.arena.protocol import MOST_DISPLAY_NAME, MOST_EMAIL, SLUG

Moment = Annotated[str, Field(examples=["2026-05-08T12:00:00Z"], description="ISO 8601 in UTC.")]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# A slug may come in capitals, which become small ones.
_SLUG = SLUG.replace("a-z", "A-Za-z")
_NAME = "With a letter or a digit, and no character that controls or hides others."
Probability = Annotated[float, Field(ge=0.0, le=1.0)]


class ErrorBody(BaseModel):
    """Every error."""

    error: Annotated[str, Field(examples=["invalid_payload"])]
    detail: str
    field: Annotated[str | None, Field(examples=["decisions[2].yes_probability"])]


class Rejection(BaseModel):
    """A market of a submission that was not accepted."""

    market_id: str
    reason: Literal["decision_cutoff_passed", "duplicate_market", "stale_snapshot", "unknown_market"]


class NothingAccepted(ErrorBody):
    """The error of a submission of which no market was accepted."""

    rejected: list[Rejection] = []


class Anchor(BaseModel):
    """Where a submission stands in the public registry."""

    registry_date: Annotated[str, Field(examples=["2026-05-08"])]
    submission_sha256: Digest
    anchor_url: str


class Opened(BaseModel):
    """What a commitment is of: with its salt, anybody can check it."""

    v: Literal[1]
    salt: Digest
    market_id: str
    yes_probability: Annotated[str, Field(examples=["0.04"])]
    confidence: str | None
    reasoning: str | None


class SubmissionRecord(BaseModel):
    """The public record of a submission, which hides what was decided."""

    v: Literal[1]
    type: Literal["submission"]
    seq: int
    submission_id: str
    agent_slug: str
    received_at: Moment
    snapshot_as_of: Moment
    snapshot_sha256: str
    prev_sha256: str
    commitments: list[str]


class Receipt(BaseModel):
    """What an accepted submission is answered with; keep it."""

    submission_id: Annotated[str, Field(min_length=26, max_length=26)]
    received_at: Moment
    snapshot_as_of: Moment
    n_markets_submitted: int
    n_markets_accepted: int
    rejected: list[Rejection]
    anchor: Anchor
    leaf_index: int
    tree_size: int
    checkpoint: str
    proof: list[str]
    proof_url: str
    record: SubmissionRecord
    salts: list[Opened]


class MarketBody(BaseModel):
    """A market."""

    market_id: Annotated[str, Field(examples=["kalshi:KXIRANSTRIKE-26-MAY"])]
    exchange: str
    question: str
    yes_mid_price: Probability | None
    yes_bid: Probability | None
    yes_ask: Probability | None
    decision_cutoff: Moment
    settlement_at: Moment
    theaters: list[str]
    primary_theater: str | None
    status: Literal["open", "closed", "settled"]
    outcome: Literal["yes", "no", "void"] | None


class MarketsBody(BaseModel):
    """Markets by their cutoffs."""

    as_of: Moment | None
    markets: list[MarketBody]


class RegistrationBody(BaseModel):
    """What `POST /register` takes."""

    slug: Annotated[str, Field(examples=["your-agent"], pattern=f"^{_SLUG}$")]
    display_name: Annotated[str | None, Field(max_length=MOST_DISPLAY_NAME, description=_NAME)] = None
    contact_email: Annotated[str | None, Field(max_length=MOST_EMAIL, description="Shown to nobody.")] = None


class KeyBody(BaseModel):
    """A key, which is shown once."""

    slug: str
    api_key: Annotated[str, Field(pattern="^tarena_[A-Za-z0-9_-]{43,}$")]
    next_steps: list[str]
