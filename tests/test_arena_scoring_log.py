"""A board from the public log alone is the board of the facts behind it (R-42, R-44, R-54)."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from arena_seasons import HOUR_US, season
from support import count

from openoutcry import OpenOutcryError
from openoutcry.arena import scoring
from openoutcry.arena.scoring import Facts

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
Export = dict[str, Any]


def text(at_us: int | None) -> str | None:
    """Return a moment as the log writes it."""
    if at_us is None:
        return None
    return (EPOCH + timedelta(microseconds=at_us)).isoformat().replace("+00:00", "Z")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def snapshot(facts: Facts, at_us: int) -> bytes:
    """Return a snapshot whose prices are JSON numbers, as the protocol has them."""
    items = [
        f'{{"kind": "market_state", "market_id": "{q.market_id}", "close_time": "{text(q.cutoff_us + 2 * HOUR_US)}",'
        f' "theaters": {json.dumps(q.theaters)}, "yes_mid_price": {q.mid or "null"}, "yes_bid": {q.bid or "null"},'
        f' "yes_ask": {q.ask or "null"}}}'
        for q in facts.quotes
        if q.snapshot_us == at_us
    ]
    return f'{{"items": [{", ".join([*items, json.dumps({"kind": "news"})])}]}}'.encode()


def export(facts: Facts) -> Export:
    """Return what an export of a season holds, for `facts_of`."""
    rates = json.dumps([each._asdict() for each in facts.base_rates]).encode()
    snapshots = {text(at): snapshot(facts, at) for at in facts.snapshots_us}
    records: list[Any] = [{"type": "log"}]
    records += [{"type": "agent", "agent_slug": a.slug, "at": text(a.registered_us)} for a in facts.agents]
    records += [
        {"type": "suspension", "agent_slug": a.slug, "suspended": suspended}
        for a in facts.agents
        for suspended in ((True, False, True) if a.suspended else (True, False))
    ]
    records += [{"type": "snapshot", "as_of": as_of, "sha256": sha256(made)} for as_of, made in snapshots.items()]
    records += [
        {
            "type": "submission",
            "submission_id": str(d.seq),
            "seq": d.seq,
            "agent_slug": d.agent_slug,
            "received_at": text(d.received_us),
            "snapshot_as_of": text(d.snapshot_us),
        }
        for d in facts.decisions
    ]
    records += [
        {
            "type": "resolution",
            "seq": r.seq,
            "market_id": r.market_id,
            "status": r.status,
            "outcome": r.outcome,
            "at": text(r.at_us),
            "actual_close_time": text(r.actual_close_us),
        }
        for r in facts.resolutions
    ]
    rules = {"scoring_version": facts.scoring_version, "parameters": facts.parameters.to_record()}
    records += [{"type": "scoring", "base_rates_sha256": sha256(rates), **rules}]
    names = ("market_id", "yes_probability", "confidence")
    opened = {str(d.seq): [{name: getattr(d, name) for name in names}] for d in facts.decisions}
    return {"records": records, "opened": opened, "snapshots": snapshots, "base_rates": rates}


@pytest.mark.parametrize("seed", range(count(200, 15)))
def test_the_log_and_what_is_opened_give_the_same_board(seed: int) -> None:
    facts = season(seed)
    made = scoring.facts_of(**export(facts), at_us=facts.at_us, window=facts.window)
    assert scoring.score(made) == scoring.score(facts)


def test_what_is_not_opened_does_not_count() -> None:
    facts = season(3, window=None)
    made = export(facts)
    made["opened"] = {}
    found = scoring.score(scoring.facts_of(**made, at_us=facts.at_us))
    assert {row.n_scored for row in found.rows} == {0}
    assert {row.coverage for row in found.rows} <= {0.0, None}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda made: made.update(base_rates=b"[ ]"), "base-rate table"),
        (lambda made: made["snapshots"].update({min(made["snapshots"]): b"{}"}), "the snapshot of"),
        (lambda made: made["snapshots"].clear(), "every snapshot"),
        (lambda made: made["records"].pop(), "`scoring` record"),
    ],
)
def test_bytes_that_are_not_those_of_the_log_are_refused(spoil: Any, message: str) -> None:
    made = export(season(5))
    spoil(made)
    with pytest.raises(OpenOutcryError, match=message):
        scoring.facts_of(**made, at_us=0)
