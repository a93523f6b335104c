"""Read queries: only what is public at a given time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from openoutcry.arena.scoring import Parameters, ScoreInputs, read_score_inputs
from openoutcry.arena.store.tables import markets, meta, records, snapshots, submissions
from openoutcry.arena.timestamps import format_timestamp

BLOCK = 1000


@dataclass(frozen=True)
class VisibleSubmission:
    """A submission with its revealed decisions.

    Attributes:
        seq: Index of its record in the log.
        submission_id: ULID.
        received_at: Time of receipt.
        as_of: Time of its snapshot.
        sha256: SHA-256 of its record.
        opened: Revealed decisions with their salts.
        n_hidden: Number of hidden decisions.
    """

    seq: int
    submission_id: str
    received_at: int
    as_of: int
    sha256: str
    opened: tuple[dict[str, Any], ...]
    n_hidden: int


def public_markets(connection: Connection, timestamp: int) -> frozenset[str]:
    """Return the markets with public decisions.

    Reads the tables, because another process may have published a market since the state was cached. A result does not
    reveal decisions before the cutoff: later submissions must not know more than earlier ones.
    """
    query = select(markets.c.market_id).where(markets.c.decision_cutoff < timestamp)
    return frozenset(connection.execute(query).scalars())


def visible_submissions(
    connection: Connection, timestamp: int, *, agent: int | None = None, most: int | None = None
) -> Iterator[VisibleSubmission]:
    """Yield submissions, newest first, with the decisions that are public at a time.

    Args:
        connection: A read connection.
        timestamp: Time, in microseconds since 1970.
        agent: Only submissions of this agent.
        most: Maximum number of submissions.
    """
    public = public_markets(connection, timestamp)
    query = select(submissions).order_by(submissions.c.seq.desc())
    if agent is not None:
        query = query.where(submissions.c.agent == agent)
    for row in connection.execute(query if most is None else query.limit(most)):
        bodies = json.loads(row.opened)
        shown = tuple(each for each in bodies if each["market_id"] in public)
        n_hidden = len(bodies) - len(shown)
        yield VisibleSubmission(row.seq, row.submission_id, row.received_at, row.as_of, row.sha256, shown, n_hidden)


def count_submissions(connection: Connection, agent: int) -> int:
    """Return the number of submissions of an agent."""
    query = select(func.count()).select_from(submissions).where(submissions.c.agent == agent)
    return int(connection.execute(query).scalar_one())


def record_texts(connection: Connection, first: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the hashed bytes of records, in log order.

    Args:
        connection: A read connection.
        first: Index of the first record.
        end: Index after the last record; None for all.
    """
    while end is None or first < end:
        until = first + BLOCK if end is None else min(first + BLOCK, end)
        query = select(records.c.record).where(records.c.seq >= first, records.c.seq < until).order_by(records.c.seq)
        texts = [bytes(row) for row in connection.execute(query).scalars()]
        yield from texts
        if len(texts) < until - first:
            return
        first = until


def scoring_rules(connection: Connection) -> tuple[str, Parameters, bytes]:
    """Return the scoring rules in force: version, parameters and base rates as JSON."""
    rates = connection.execute(select(meta.c.value).where(meta.c.key == "base_rates")).scalar_one()
    query = select(records.c.record).where(records.c.type == "scoring").order_by(records.c.seq.desc()).limit(1)
    newest = json.loads(bytes(connection.execute(query).scalar_one()))
    return newest["scoring_version"], Parameters.of_record(newest["parameters"]), rates.encode()


def facts_at(connection: Connection, timestamp: int) -> ScoreInputs:
    """Return the inputs of a leaderboard at a time: public information only."""
    opened = {each.submission_id: each.opened for each in visible_submissions(connection, timestamp)}
    rows = connection.execute(select(snapshots.c.as_of, snapshots.c.body))
    bodies = {format_timestamp(row.as_of): bytes(row.body) for row in rows}
    rates = connection.execute(select(meta.c.value).where(meta.c.key == "base_rates")).scalar_one()
    log = [json.loads(text) for text in record_texts(connection)]
    return read_score_inputs(log, opened, bodies, rates.encode(), at_us=timestamp)
