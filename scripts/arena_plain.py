"""Baseline of `arena_load.py`: a plain FastAPI server with one transaction per request.

It validates the body, hashes key and body, and stores them with the decisions, with the same durability. It has no log,
commitments, proofs, rate limits or competition rules: `python arena_plain.py FILE PORT`.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from typing import Annotated

import uvicorn
from fastapi import FastAPI, Header, HTTPException
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy import create_engine, event, text

BASE = "/v2/competition"
SNAPSHOT = b"{" + b" " * 40_000 + b"}"
TABLES = (
    "CREATE TABLE agents (key_sha256 BLOB PRIMARY KEY, slug TEXT)",
    "CREATE TABLE submissions (id INTEGER PRIMARY KEY, slug TEXT, sha256 TEXT, body TEXT)",
    "CREATE TABLE decisions (submission INTEGER, market_id TEXT, yes REAL, confidence REAL, reasoning TEXT)",
    "CREATE TABLE snapshots (as_of TEXT PRIMARY KEY, body BLOB)",
)


class Decision(BaseModel):
    """Decision on one market."""

    market_id: str
    yes_probability: Annotated[float, Field(ge=0, le=1)]
    confidence: Annotated[float | None, Field(ge=0, le=1)] = None
    reasoning: str | None = None


class Submission(BaseModel):
    """Request body."""

    schema_version: str
    agent_slug: str
    submitted_at: str
    snapshot_as_of: str
    decisions: list[Decision]


def create_app(path: str) -> FastAPI:
    """Create the application on a new SQLite file."""
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def prepare(connection, _) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {pragma}")

    with engine.begin() as connection:
        for table in TABLES:
            connection.execute(text(table))
        connection.execute(text("INSERT INTO snapshots VALUES ('newest', :body)"), {"body": SNAPSHOT})
    app = FastAPI()

    @app.get(f"{BASE}/markets")
    def markets() -> list[str]:
        return []

    @app.get(f"{BASE}/intel")
    def intel() -> Response:
        with engine.connect() as connection:
            body = connection.execute(text("SELECT body FROM snapshots WHERE as_of = 'newest'")).scalar_one()
        return Response(body, media_type="application/json")

    @app.post(f"{BASE}/decisions")
    def decisions(submission: Submission, authorization: Annotated[str, Header()]) -> dict[str, object]:
        if not authorization.startswith("Bearer "):
            raise HTTPException(401)
        key = sha256(authorization.removeprefix("Bearer ").encode()).digest()
        body = submission.model_dump_json()
        digest = sha256(body.encode()).hexdigest()
        with engine.begin() as connection:
            # The first submission of a key registers it: authentication is not part of the comparison.
            add = text("INSERT INTO agents VALUES (:key, :slug) ON CONFLICT DO NOTHING")
            connection.execute(add, {"key": key, "slug": submission.agent_slug})
            row = {"slug": submission.agent_slug, "sha256": digest, "body": body}
            inserted = connection.execute(
                text("INSERT INTO submissions (slug, sha256, body) VALUES (:slug, :sha256, :body)"), row
            )
            rows = [each.model_dump() | {"submission": inserted.lastrowid} for each in submission.decisions]
            connection.execute(
                text(
                    "INSERT INTO decisions VALUES (:submission, :market_id, :yes_probability, :confidence, :reasoning)"
                ),
                rows,
            )
        return {"submission_id": inserted.lastrowid, "sha256": digest, "n_markets_accepted": len(rows)}

    return app


if __name__ == "__main__":
    uvicorn.run(create_app(sys.argv[1]), port=int(sys.argv[2]), log_level="warning", access_log=False)
