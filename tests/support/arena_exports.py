"""Exports of random seasons, as the files of an export folder."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from arena_seasons import HOUR_US

from openoutcry.arena.scoring import ScoreInputs

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
Export = dict[str, Any]


def text(at_us: int) -> str:
    """Format a time as the log writes it."""
    return (EPOCH + timedelta(microseconds=at_us)).isoformat().replace("+00:00", "Z")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def snapshot(inputs: ScoreInputs, at_us: int) -> bytes:
    """Return a snapshot with prices as JSON numbers, as in the protocol."""
    items = [
        f'{{"kind": "market_state", "market_id": "{q.market_id}", "close_time": "{text(q.cutoff_us + 2 * HOUR_US)}",'
        f' "theaters": {json.dumps(q.theaters)}, "yes_mid_price": {q.mid or "null"}, "yes_bid": {q.bid or "null"},'
        f' "yes_ask": {q.ask or "null"}}}'
        for q in inputs.quotes
        if q.snapshot_us == at_us
    ]
    return f'{{"items": [{", ".join([*items, json.dumps({"kind": "news"})])}]}}'.encode()


def export(inputs: ScoreInputs) -> Export:
    """Return the parts of a season's export, as arguments of `read_score_inputs`."""
    rates = json.dumps([each._asdict() for each in inputs.base_rates]).encode()
    snapshots = {text(at): snapshot(inputs, at) for at in inputs.snapshots_us}
    records: list[Any] = [{"type": "log", "created_at": text(0)}]
    records += [{"type": "agent", "agent_slug": a.slug, "at": text(a.registered_us)} for a in inputs.agents]
    records += [
        {"type": "suspension", "agent_slug": a.slug, "suspended": suspended, "at": text(a.registered_us)}
        for a in inputs.agents
        for suspended in ((True, False, True) if a.suspended else (True, False))
    ]
    records += [
        {"type": "snapshot", "as_of": as_of, "sha256": sha256(made), "at": as_of} for as_of, made in snapshots.items()
    ]
    records += [
        {
            "type": "submission",
            "submission_id": str(d.seq),
            "seq": d.seq,
            "agent_slug": d.agent_slug,
            "received_at": text(d.received_us),
            "snapshot_as_of": text(d.snapshot_us),
            "commitments": ["0" * 64],
        }
        for d in inputs.decisions
    ]
    records += [
        {
            "type": "resolution",
            "seq": r.seq,
            "market_id": r.market_id,
            "status": r.status,
            "outcome": r.outcome,
            "at": text(r.at_us),
            "actual_close_time": None if r.actual_close_us is None else text(r.actual_close_us),
        }
        for r in inputs.resolutions
    ]
    rules = {"scoring_version": inputs.scoring_version, "parameters": inputs.parameters.to_record(), "at": text(0)}
    records += [{"type": "scoring", "base_rates": json.loads(rates), "base_rates_sha256": sha256(rates), **rules}]
    names = ("market_id", "yes_probability", "confidence")
    opened = {str(d.seq): [{name: getattr(d, name) for name in names}] for d in inputs.decisions}
    return {"records": records, "opened": opened, "snapshots": snapshots, "base_rates": rates}


def write(folder: Path, made: Export, scores: Any = None) -> Path:
    """Write the parts of an export to a folder, without hash chain and signatures."""
    (folder / "snapshots").mkdir(parents=True, exist_ok=True)
    names = [each["submission_id"] for each in made["records"] if each["type"] == "submission"]
    lines = [{"submission_id": name, "opened": made["opened"][name]} for name in names]
    for file, fields in (("log.jsonl", made["records"]), ("reveals.jsonl", lines)):
        (folder / file).write_text("".join(json.dumps(each) + "\n" for each in fields), encoding="utf-8")
    for as_of, content in made["snapshots"].items():
        (folder / "snapshots" / f"{as_of.replace(':', '-')}.json").write_bytes(content)
    (folder / "base_rates.json").write_bytes(made["base_rates"])
    (folder / "scores.json").write_text(json.dumps(scores, allow_nan=False), encoding="utf-8")
    return folder
