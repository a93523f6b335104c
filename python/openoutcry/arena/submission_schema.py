"""A submission, read strictly: what two parsers could read in two ways is refused."""

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


# What is read below, as a document can say it.
_ID: JsonDict = {"pattern": f"^({MARKET_ID})$"}
_UTC: JsonDict = {"format": "date-time", "pattern": f"{ZONE}$"}


class DecisionBody(BaseModel):
    """One market of a submission."""

    model_config = ConfigDict(strict=True)
    market_id: Annotated[str, Field(examples=["kalshi:KXIRANSTRIKE-26-MAY"], max_length=256, json_schema_extra=_ID)]
    yes_probability: Annotated[Share, Field(description="Probability of YES.", examples=[0.04])]
    confidence: Annotated[Share | None, Field(description="From 0.65 on a position is taken.", examples=[0.82])] = None
    reasoning: Annotated[
        str | None, Field(description=f"Cut after {MAX_REASONING} code points; public after the market's cutoff.")
    ] = None


class SubmissionBody(BaseModel):
    """What `POST /decisions` takes."""

    model_config = ConfigDict(strict=True)
    schema_version: Annotated[str, Field(json_schema_extra={"const": DECISION_VERSION})]
    agent_slug: Annotated[str, Field(examples=["your-agent"])]
    submitted_at: Annotated[
        str, Field(description="Informational; the server's receive time counts.", json_schema_extra=_UTC)
    ]
    snapshot_as_of: Annotated[
        str, Field(description="The published snapshot that was decided on.", json_schema_extra=_UTC)
    ]
    decisions: Annotated[list[DecisionBody], Field(min_length=1, max_length=MAX_DECISIONS)]


class Decided(NamedTuple):
    """One market's decision, as it is committed to: numbers as decimal texts."""

    market_id: str
    yes_probability: str
    confidence: str | None
    reasoning: str | None


class Submission(NamedTuple):
    """A submission whose form is right; what it names need not be there.

    Attributes:
        agent_slug: Who says to submit, in lower case; empty where it is no slug.
        snapshot_as_of: The moment of the snapshot.
        decisions: One for each market.
        body_sha256: SHA-256 of the bytes that came.
    """

    agent_slug: str
    snapshot_as_of: int
    decisions: tuple[Decided, ...]
    body_sha256: bytes


_ADAPTER = TypeAdapter(SubmissionBody)


def parse_submission(body: bytes) -> Submission:
    """Read the body of a submission.

    Raises:
        ArenaError: `invalid_payload`, with the path of what is wrong; `duplicate_market`: one market came twice.
    """
    told = _read(body)
    if told.schema_version != DECISION_VERSION:
        wanted = f"a schema_version of {DECISION_VERSION} is required"
        raise ArenaError("invalid_payload", f"{wanted}; received {told.schema_version[:32]!r}", "schema_version")
    time_field("submitted_at", told.submitted_at)
    as_of = time_field("snapshot_as_of", told.snapshot_as_of)
    decisions = tuple(_decided(place, each) for place, each in enumerate(told.decisions))
    return Submission(slug_of(told.agent_slug) or "", as_of, decisions, sha256(body).digest())


def check_unique_markets(submission: Submission) -> None:
    """See that no market came twice.

    Raises:
        ArenaError: `duplicate_market`, naming the second.
    """
    seen: set[str] = set()
    for place, each in enumerate(submission.decisions):
        if each.market_id in seen:
            told = f"each market once is required; received {each.market_id} twice"
            raise ArenaError("duplicate_market", told, f"decisions[{place}].market_id")
        seen.add(each.market_id)


def _read(body: bytes) -> SubmissionBody:
    json_text(body)
    try:
        return _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise validation_error(error.errors(include_url=False)[0]) from error


def _decided(place: int, told: DecisionBody) -> Decided:
    if not is_market_id(told.market_id):
        wanted = "a market id such as kalshi:KXIRANSTRIKE-26-MAY is required"
        raise ArenaError(
            "invalid_payload", f"{wanted}; received {told.market_id[:80]!r}", f"decisions[{place}].market_id"
        )
    reasoning = told.reasoning
    if reasoning is not None:
        # PostgreSQL has no text with it.
        reasoning = reasoning.replace("\0", "")[:MAX_REASONING]
    confidence = None if told.confidence is None else decimal_text(told.confidence)
    return Decided(told.market_id, decimal_text(told.yes_probability), confidence, reasoning)
