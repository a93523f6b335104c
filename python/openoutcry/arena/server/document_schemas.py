"""Bodies that mirror other parts: boards, profiles, proofs and snapshots."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from openoutcry.arena.scoring import Row
from openoutcry.arena.server.response_schemas import Digest, Moment, Opened
from openoutcry.arena.snapshots.item_kinds import KINDS, Item
from openoutcry.arena.snapshots.snapshot_builder import SCHEMA_VERSION

_ROW = get_type_hints(Row)
# A row of the board has none: they are long, and an agent's own page has them.
_LONG = ("calibration", "per_theater")
# Snapshots from before protocol 0.2.2 lack them.
_LATER = ("question", "close_time", "theaters")


def _model(name: str, told: str, **members: Any) -> Any:
    """Return a model of members, each required."""
    kinds: dict[str, Any] = {each: (hint, ...) for each, hint in members.items()}
    return create_model(name, __doc__=told, **kinds)


def _json(hint: Any) -> Any:
    """Return how a member of an item is written in JSON."""
    if get_origin(hint) is not None and type(None) in get_args(hint):
        return Union[tuple(map(_json, get_args(hint)))]  # noqa: UP007 of members that are known only here
    return {datetime: Moment, Decimal: float}.get(hint, hint)


def _item(kind: type[Item]) -> Any:
    hints = get_type_hints(kind)
    members: dict[str, Any] = {"id": (str, ...), "kind": (Literal[kind.kind], ...)}
    for name in kind.members:
        members[name] = (_json(hints[name]), Field(default_factory=str) if name in _LATER else ...)
    return create_model(f"{kind.__name__}Item", __doc__=kind.__doc__, **members)


LeaderboardRow: Any = _model(
    "LeaderboardRow",
    "An agent on the board; what has no value is null, and `reasons` says why.",
    display_name=str | None,
    **{each.name: _ROW[each.name] for each in fields(Row) if each.name not in _LONG},
)
Items: Any = Annotated[Union[tuple(map(_item, KINDS))], Field(discriminator="kind")]  # noqa: UP007
IntelSnapshot = _model(
    "IntelSnapshot",
    "A snapshot, the same bytes for everybody and for ever.",
    schema_version=Literal[SCHEMA_VERSION],
    as_of=Moment,
    items=Annotated[list[Items], Field(max_length=200)],
)


class LeaderboardBody(BaseModel):
    """Agents by skill."""

    as_of: Moment
    scoring_version: str
    theater: str | None
    season: Annotated[str, Field(examples=["2026Q2"])]
    fee_model: str
    n_agents: int
    next_cursor: str | None
    rows: list[LeaderboardRow]


class ShownDecision(BaseModel):
    """A decision whose market's cutoff is past; the owner sees all of its own."""

    market_id: str
    yes_probability: Annotated[str, Field(examples=["0.04"])]
    confidence: str | None
    reasoning: str | None
    salt: Digest


class ShownSubmission(BaseModel):
    """A submission, with what of it may be shown."""

    submission_id: str
    received_at: Moment
    snapshot_as_of: Moment
    submission_sha256: Digest
    leaf_index: int
    proof_url: str
    n_hidden: int
    decisions: list[ShownDecision]


_SHOWN = ("n_scored", "rank", "brier", "brier_skill_score", "brier_skill_score_vs_50", "roi", "coverage")
AgentBody = _model(
    "AgentBody",
    "An agent, its scores and its newest submissions.",
    slug=str,
    display_name=str | None,
    created_at=Moment,
    suspended=bool,
    n_submissions=int,
    **{name: _ROW[name] for name in (*_SHOWN, "skill_reference", "reasons", *_LONG)},
    recent_decisions=list[ShownSubmission],
)


class ProofBody(BaseModel):
    """The way from a record to the root of a checkpoint."""

    record: Annotated[str, Field(description="The record as it is hashed, RFC 8785 canonical JSON.")]
    salts: list[Opened]
    leaf_index: int
    tree_size: int
    checkpoint: str
    proof: list[Digest]


class ConsistencyBody(BaseModel):
    """The proof that one size of the log begins another."""

    old: Annotated[int, Field(alias="from")]
    to: int
    proof: list[Digest]


class CosignedBody(BaseModel):
    """How much of the log a witness has cosigned."""

    tree_size: int
