"""Score inputs read from the public log and the revealed decisions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from openoutcry.arena.scoring.market_quotes import parse_quote
from openoutcry.arena.scoring.score_inputs import Agent, BaseRate, Decision, Parameters, Quote, Resolution, ScoreInputs
from openoutcry.arena.timestamps import parse_timestamp
from openoutcry.errors import refusal

Record = Mapping[str, Any]


def read_score_inputs(
    records: Iterable[Record],
    opened: Mapping[str, Sequence[Record]],
    snapshots: Mapping[str, bytes],
    base_rates: bytes,
    *,
    at_us: int,
    window: tuple[int, int] | None = None,
) -> ScoreInputs:
    """Return the score inputs of a log.

    Args:
        records: Records of the log, each with its `type`.
        opened: The revealed decisions, by `submission_id`.
        snapshots: The bytes of each snapshot, by `as_of` as written in the log.
        base_rates: The table named in the last `scoring` record: a JSON list with the fields of `BaseRate`.
        at_us: Time of the board, microseconds since 1970.
        window: Start (inclusive) and end (exclusive) of a season; None for all time.

    Raises:
        OpenOutcryError: `value_invalid`: the `scoring` record is missing, or bytes do not match their digest.
    """
    by_type: dict[str, list[Record]] = {}
    for record in records:
        by_type.setdefault(record["type"], []).append(record)
    if "scoring" not in by_type:
        raise refusal("value_invalid", "a log must have a `scoring` record; received one without")
    rules = by_type["scoring"][-1]
    _check(base_rates, rules["base_rates_sha256"], "the base-rate table")
    published = by_type.get("snapshot", [])
    return ScoreInputs(
        at_us=at_us,
        agents=_agents(by_type.get("agent", []), by_type.get("suspension", [])),
        snapshots_us=[parse_timestamp("as_of", each["as_of"]) for each in published],
        quotes=[quote for each in published for quote in _quotes(each, snapshots)],
        decisions=[
            _decision(submission, body)
            for submission in by_type.get("submission", [])
            for body in opened.get(submission["submission_id"], ())
        ],
        resolutions=[_resolution(each) for each in by_type.get("resolution", [])],
        base_rates=[BaseRate(**row) for row in json.loads(base_rates)],
        window=window,
        scoring_version=rules["scoring_version"],
        parameters=Parameters.of_record(rules["parameters"]),
    )


def _check(content: bytes, digest: str, name: str) -> None:
    if hashlib.sha256(content).hexdigest() != digest:
        raise refusal("value_invalid", f"{name} must match its digest in the log; received other bytes")


def _agents(registered: Iterable[Record], suspensions: Iterable[Record]) -> list[Agent]:
    suspended = {each["agent_slug"]: each["suspended"] for each in suspensions}
    return [
        Agent(each["agent_slug"], parse_timestamp("at", each["at"]), suspended.get(each["agent_slug"], False))
        for each in registered
    ]


def _quotes(published: Record, snapshots: Mapping[str, bytes]) -> list[Quote]:
    as_of = published["as_of"]
    if as_of not in snapshots:
        raise refusal("value_invalid", f"every snapshot of the log is required; received none for {as_of}")
    _check(snapshots[as_of], published["sha256"], f"the snapshot of {as_of}")
    # Numbers stay text, because prices are exact decimals.
    items = json.loads(snapshots[as_of], parse_float=str)["items"]
    return [parse_quote(item, parse_timestamp("as_of", as_of)) for item in items if item["kind"] == "market_state"]


def _decision(submission: Record, body: Record) -> Decision:
    return Decision(
        submission["seq"],
        submission["agent_slug"],
        body["market_id"],
        parse_timestamp("received_at", submission["received_at"]),
        parse_timestamp("snapshot_as_of", submission["snapshot_as_of"]),
        body["yes_probability"],
        body["confidence"],
    )


def _resolution(record: Record) -> Resolution:
    close = record["actual_close_time"]
    return Resolution(
        record["seq"],
        record["market_id"],
        record["status"],
        record["outcome"],
        parse_timestamp("at", record["at"]),
        None if close is None else parse_timestamp("actual_close_time", close),
    )
