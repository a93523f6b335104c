"""Strict parsing of submissions: ambiguous JSON is refused."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.config import JsonDict

from openoutcry.arena.log.log_records import decimal_text
from openoutcry.arena.protocol import (
    DECISION_VERSION,
    MARKET_ID,
    MAX_DECISIONS,
    MAX_REASONING,
    ArenaError,
    is_market_id,
    slug_of,
)
from openoutcry.arena.request_schema import json_text, time_field, validation_error
from openoutcry.arena.timestamps import ZONE

Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


# JSON Schema of checks that the code below makes.
_ID: JsonDict = {"pattern": f"^({MARKET_ID})$"}
_UTC: JsonDict = {"format": "date-time", "pattern": f"{ZONE}$"}


class DecisionBody(BaseModel):
    """One market of a submission."""

    model_config = ConfigDict(strict=True)
    market_id: Annotated[str, Field(examples=["kalshi:KXIRANSTRIKE-26-MAY"], max_length=256, json_schema_extra=_ID)]
    yes_probability: Annotated[Share, Field(description="Probability of YES.", examples=[0.04])]
    confidence: Annotated[Share | None, Field(description="0.65 or more takes a paper position.", examples=[0.82])] = (
        None
    )
    reasoning: Annotated[
        str | None, Field(description=f"Truncated to {MAX_REASONING} code points; public after the market's cutoff.")
    ] = None


class SubmissionBody(BaseModel):
    """Request body of `POST /decisions`."""

    model_config = ConfigDict(strict=True)
    schema_version: Annotated[str, Field(json_schema_extra={"const": DECISION_VERSION})]
    agent_slug: Annotated[str, Field(examples=["your-agent"])]
    submitted_at: Annotated[
        str, Field(description="Informational; the server's time of receipt counts.", json_schema_extra=_UTC)
    ]
    snapshot_as_of: Annotated[
        str,
        Field(description="Published snapshot that the decisions are based on.", json_schema_extra=_UTC),
    ]
    decisions: Annotated[list[DecisionBody], Field(min_length=1, max_length=MAX_DECISIONS)]


class Decided(NamedTuple):
    """A decision in its committed form: numbers are decimal strings."""

    market_id: str
    yes_probability: str
    confidence: str | None
    reasoning: str | None


class Submission(NamedTuple):
    """A well-formed submission; its agent, snapshot and markets are not checked yet.

    Attributes:
        agent_slug: Slug in lower case; empty if it is not a slug.
        snapshot_as_of: Time of the snapshot.
        decisions: One decision for each market.
        body_sha256: SHA-256 of the received bytes.
    """

    agent_slug: str
    snapshot_as_of: int
    decisions: tuple[Decided, ...]
    body_sha256: bytes


_ADAPTER = TypeAdapter(SubmissionBody)


def parse_submission(body: bytes) -> Submission:
    """Parse the body of a submission.

    Raises:
        ArenaError: `invalid_payload`, with the path of the invalid member.
    """
    parsed = _read(body)
    if parsed.schema_version != DECISION_VERSION:
        wanted = f"a schema_version of {DECISION_VERSION} is required"
        raise ArenaError("invalid_payload", f"{wanted}; received {parsed.schema_version[:32]!r}", "schema_version")
    time_field("submitted_at", parsed.submitted_at)
    as_of = time_field("snapshot_as_of", parsed.snapshot_as_of)
    decisions = tuple(_decided(index, each) for index, each in enumerate(parsed.decisions))
    return Submission(slug_of(parsed.agent_slug) or "", as_of, decisions, sha256(body).digest())


def check_unique_markets(submission: Submission) -> None:
    """Check that each market occurs once.

    Raises:
        ArenaError: `duplicate_market`, with the path of the second decision.
    """
    seen: set[str] = set()
    for index, each in enumerate(submission.decisions):
        if each.market_id in seen:
            detail = f"at most one decision per market is required; received two for {each.market_id}"
            raise ArenaError("duplicate_market", detail, f"decisions[{index}].market_id")
        seen.add(each.market_id)


def _read(body: bytes) -> SubmissionBody:
    json_text(body)
    try:
        return _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise validation_error(error.errors(include_url=False)[0]) from error


def _decided(index: int, body: DecisionBody) -> Decided:
    if not is_market_id(body.market_id):
        wanted = "a market id such as kalshi:KXIRANSTRIKE-26-MAY is required"
        raise ArenaError(
            "invalid_payload", f"{wanted}; received {body.market_id[:80]!r}", f"decisions[{index}].market_id"
        )
    reasoning = body.reasoning
    if reasoning is not None:
        # PostgreSQL text cannot contain NUL.
        reasoning = reasoning.replace("\0", "")[:MAX_REASONING]
    confidence = None if body.confidence is None else decimal_text(body.confidence)
    return Decided(body.market_id, decimal_text(body.yes_probability), confidence, reasoning)
