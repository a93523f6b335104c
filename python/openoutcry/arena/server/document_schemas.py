"""Response schemas of other modules: boards, profiles, proofs and snapshots."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from openoutcry.arena.scoring import Row
from openoutcry.arena.server.response_schemas import Digest, Opened, Timestamp
from openoutcry.arena.snapshots.item_kinds import KINDS, Item
from openoutcry.arena.snapshots.snapshot_builder import SCHEMA_VERSION

_ROW = get_type_hints(Row)
# Long members that only the agent's own path returns.
_LONG = ("calibration", "per_theater")
# Snapshots before protocol 0.2.2 lack these members.
_LATER = ("question", "close_time", "theaters")


def _model(name: str, description: str, **members: Any) -> Any:
    """Return a model whose members are all required."""
    kinds: dict[str, Any] = {each: (hint, ...) for each, hint in members.items()}
    return create_model(name, __doc__=description, **kinds)


def _json(hint: Any) -> Any:
    """Return the JSON type of a member of an item."""
    if get_origin(hint) is not None and type(None) in get_args(hint):
        return Union[tuple(map(_json, get_args(hint)))]  # noqa: UP007 the members are known only at run time
    return {datetime: Timestamp, Decimal: float}.get(hint, hint)


def _item(kind: type[Item]) -> Any:
    hints = get_type_hints(kind)
    members: dict[str, Any] = {"id": (str, ...), "kind": (Literal[kind.kind], ...)}
    for name in kind.members:
        members[name] = (_json(hints[name]), Field(default_factory=str) if name in _LATER else ...)
    return create_model(f"{kind.__name__}Item", __doc__=kind.__doc__, **members)


LeaderboardRow: Any = _model(
    "LeaderboardRow",
    "An agent on the leaderboard. Undefined values are null; `reasons` says why.",
    display_name=str | None,
    **{each.name: _ROW[each.name] for each in fields(Row) if each.name not in _LONG},
)
Items: Any = Annotated[Union[tuple(map(_item, KINDS))], Field(discriminator="kind")]  # noqa: UP007
IntelSnapshot = _model(
    "IntelSnapshot",
    "A snapshot. Its bytes are the same for every client and never change.",
    schema_version=Literal[SCHEMA_VERSION],
    as_of=Timestamp,
    items=Annotated[list[Items], Field(max_length=200)],
)


class LeaderboardBody(BaseModel):
    """Agents ranked by skill."""

    as_of: Timestamp
    scoring_version: str
    theater: str | None
    season: Annotated[str, Field(examples=["2026Q2"])]
    fee_model: str
    n_agents: int
    next_cursor: str | None
    rows: list[LeaderboardRow]


class ShownDecision(BaseModel):
    """A revealed decision: after its cutoff, or for the agent's own key."""

    market_id: str
    yes_probability: Annotated[str, Field(examples=["0.04"])]
    confidence: str | None
    reasoning: str | None
    salt: Digest


class ShownSubmission(BaseModel):
    """A submission with its revealed decisions."""

    submission_id: str
    received_at: Timestamp
    snapshot_as_of: Timestamp
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
    created_at=Timestamp,
    suspended=bool,
    n_submissions=int,
    **{name: _ROW[name] for name in (*_SHOWN, "skill_reference", "reasons", *_LONG)},
    recent_decisions=list[ShownSubmission],
)


class ProofBody(BaseModel):
    """Inclusion proof of a record in a checkpoint."""

    record: Annotated[str, Field(description="The hashed record, RFC 8785 canonical JSON.")]
    salts: list[Opened]
    leaf_index: int
    tree_size: int
    checkpoint: str
    proof: list[Digest]


class ConsistencyBody(BaseModel):
    """Consistency proof between two sizes of the log."""

    old: Annotated[int, Field(alias="from")]
    to: int
    proof: list[Digest]


class CosignedBody(BaseModel):
    """Size of the checkpoint that was stored."""

    tree_size: int
