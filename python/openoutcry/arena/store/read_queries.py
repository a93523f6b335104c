"""What may be read of an arena at a moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from openoutcry.arena.scoring import Facts, Parameters, facts_of
from openoutcry.arena.store.tables import markets, meta, records, snapshots, submissions
from openoutcry.arena.timestamps import text_of

BLOCK = 1000


@dataclass(frozen=True)
class Submitted:
    """A submission with what may be shown of it.

    Attributes:
        seq: Its place in the log.
        submission_id: Its ULID.
        received_at: When it came.
        as_of: Its snapshot.
        sha256: Of its record.
        opened: The bodies of its commitments that may be shown.
        n_hidden: How many may not.
    """

    seq: int
    submission_id: str
    received_at: int
    as_of: int
    sha256: str
    opened: tuple[dict[str, Any], ...]
    n_hidden: int


def public_markets(connection: Connection, moment: int) -> frozenset[str]:
    """Return the markets whose decisions anybody may see (R-32).

    As the tables have them: another process may have published a market of which this one has not heard. A result does
    not open one: who submits later must know no more than who did before.
    """
    asked = select(markets.c.market_id).where(markets.c.decision_cutoff < moment)
    return frozenset(connection.execute(asked).scalars())


def submitted(
    connection: Connection, moment: int, *, agent: int | None = None, most: int | None = None
) -> Iterator[Submitted]:
    """Yield submissions, newest first, with what a moment allows to show of them.

    Args:
        connection: To read on.
        moment: Now.
        agent: Of this agent alone.
        most: At most so many.
    """
    public = public_markets(connection, moment)
    asked = select(submissions).order_by(submissions.c.seq.desc())
    if agent is not None:
        asked = asked.where(submissions.c.agent == agent)
    for row in connection.execute(asked if most is None else asked.limit(most)):
        bodies = json.loads(row.opened)
        shown = tuple(each for each in bodies if each["market_id"] in public)
        n_hidden = len(bodies) - len(shown)
        yield Submitted(row.seq, row.submission_id, row.received_at, row.as_of, row.sha256, shown, n_hidden)


def n_submitted(connection: Connection, agent: int) -> int:
    """Return how often an agent has submitted."""
    asked = select(func.count()).select_from(submissions).where(submissions.c.agent == agent)
    return int(connection.execute(asked).scalar_one())


def record_texts(connection: Connection, first: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield records in their order, as they are hashed.

    Args:
        connection: To read on.
        first: The first one.
        end: The one after the last; None for all.
    """
    while end is None or first < end:
        until = first + BLOCK if end is None else min(first + BLOCK, end)
        asked = select(records.c.record).where(records.c.seq >= first, records.c.seq < until).order_by(records.c.seq)
        found = [bytes(row) for row in connection.execute(asked).scalars()]
        yield from found
        if len(found) < until - first:
            return
        first = until


def rules_of(connection: Connection) -> tuple[str, Parameters, bytes]:
    """Return the rules in force: version, parameters, table of past rates."""
    rates = connection.execute(select(meta.c.value).where(meta.c.key == "base_rates")).scalar_one()
    asked = select(records.c.record).where(records.c.type == "scoring").order_by(records.c.seq.desc()).limit(1)
    newest = json.loads(bytes(connection.execute(asked).scalar_one()))
    return newest["scoring_version"], Parameters.of_record(newest["parameters"]), rates.encode()


def facts_at(connection: Connection, moment: int) -> Facts:
    """Return what a board of a moment depends on: only what anybody may know."""
    opened = {each.submission_id: each.opened for each in submitted(connection, moment)}
    rows = connection.execute(select(snapshots.c.as_of, snapshots.c.body))
    bodies = {text_of(row.as_of): bytes(row.body) for row in rows}
    rates = connection.execute(select(meta.c.value).where(meta.c.key == "base_rates")).scalar_one()
    told = [json.loads(text) for text in record_texts(connection)]
    return facts_of(told, opened, bodies, rates.encode(), at_us=moment)
