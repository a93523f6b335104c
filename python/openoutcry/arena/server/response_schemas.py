"""Request and response schemas of the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from openoutcry.arena.protocol import MAX_DISPLAY_NAME, MAX_EMAIL, SLUG

Timestamp = Annotated[str, Field(examples=["2026-05-08T12:00:00Z"], description="ISO 8601 in UTC.")]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# Slugs are accepted in upper case and stored in lower case.
_SLUG = SLUG.replace("a-z", "A-Za-z")
_NAME = "At least one letter or digit; no control or invisible characters."
Probability = Annotated[float, Field(ge=0.0, le=1.0)]


class ErrorBody(BaseModel):
    """An error response."""

    error: Annotated[str, Field(examples=["invalid_payload"])]
    detail: str
    field: Annotated[str | None, Field(examples=["decisions[2].yes_probability"])]


class Rejection(BaseModel):
    """A rejected market of a submission."""

    market_id: str
    reason: Literal["decision_cutoff_passed", "duplicate_market", "stale_snapshot", "unknown_market"]


class NothingAccepted(ErrorBody):
    """The error of a submission whose markets were all rejected."""

    rejected: list[Rejection] = []


class Anchor(BaseModel):
    """Location of a submission in the public registry."""

    registry_date: Annotated[str, Field(examples=["2026-05-08"])]
    submission_sha256: Digest
    anchor_url: str


class Opened(BaseModel):
    """A revealed decision with the salt of its commitment."""

    v: Literal[1]
    salt: Digest
    market_id: str
    yes_probability: Annotated[str, Field(examples=["0.04"])]
    confidence: str | None
    reasoning: str | None


class SubmissionRecord(BaseModel):
    """The public record of a submission; commitments hide its decisions."""

    v: Literal[1]
    type: Literal["submission"]
    seq: int
    submission_id: str
    agent_slug: str
    received_at: Timestamp
    snapshot_as_of: Timestamp
    snapshot_sha256: str
    prev_sha256: str
    commitments: list[str]


class Receipt(BaseModel):
    """Receipt of an accepted submission; store it."""

    submission_id: Annotated[str, Field(min_length=26, max_length=26)]
    received_at: Timestamp
    snapshot_as_of: Timestamp
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
    decision_cutoff: Timestamp
    settlement_at: Timestamp
    theaters: list[str]
    primary_theater: str | None
    status: Literal["open", "closed", "settled"]
    outcome: Literal["yes", "no", "void"] | None


class MarketsBody(BaseModel):
    """Markets, ordered by cutoff."""

    as_of: Timestamp | None
    markets: list[MarketBody]


class RegistrationBody(BaseModel):
    """Request body of `POST /register`."""

    slug: Annotated[str, Field(examples=["your-agent"], pattern=f"^{_SLUG}$")]
    display_name: Annotated[str | None, Field(max_length=MAX_DISPLAY_NAME, description=_NAME)] = None
    contact_email: Annotated[str | None, Field(max_length=MAX_EMAIL, description="Never shown.")] = None


class KeyBody(BaseModel):
    """An API key; it is shown once."""

    slug: str
    api_key: Annotated[str, Field(pattern="^tarena_[A-Za-z0-9_-]{43,}$")]
    next_steps: list[str]
