"""Captions that distinguish runs: by market, window, costs, limits, and so on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openoutcry.ledger.index_schema import select_in
from openoutcry.ledger.run_settings import setting_facts
from openoutcry.ledger.strategy_text import definition_of
from openoutcry.untrusted.counted_nouns import counted

_COLUMNS = (
    "run_id, description, canonical_json, sha256, COALESCE(markets.name, 'unnamed'), symbols, fingerprint, first, last,"
    " runs.kind, engine_version, cost_sha, segment, offset"
)

_LONGEST_SYMBOLS = 20


@dataclass(frozen=True)
class RunFacts:
    """What a run is of; the texts are untrusted.

    Attributes:
        description: Description of its strategy.
        strategy: Its strategy as canonical JSON.
        facts: Its inputs as texts, in the order of their use in captions; each is empty if unknown.
    """

    description: str | None
    strategy: str
    facts: tuple[str, ...]


def facts_of(
    base: sqlite3.Connection, run_ids: Iterable[str], payload: Callable[[int, int], Mapping[str, Any]]
) -> dict[str, RunFacts]:
    """Return the facts of runs by run ID.

    Args:
        base: Connection to the index.
        run_ids: IDs of the runs.
        payload: Reads a record of the log.
    """
    query = (
        f"SELECT {_COLUMNS} FROM runs JOIN strategies ON strategies.id = strategy JOIN markets ON markets.id = market"
        " WHERE run_id IN (?)"
    )
    found = {}
    for row in list(select_in(base, query, run_ids)):
        (
            run_id,
            description,
            strategy,
            sha,
            market,
            symbols,
            fingerprint,
            first,
            last,
            kind,
            engine,
            rules_sha,
            *place,
        ) = row
        facts = (
            market,
            _symbols(symbols),
            f"{first} .. {last}",
            *setting_facts(payload(*place).get("rules")),
            _params(strategy),
        )
        ends = (
            f"strategy {sha[:8]}",
            f"market {fingerprint[:8]}",
            kind,
            engine,
            f"rules {rules_sha[:8]}" if rules_sha else "",
        )
        found[run_id] = RunFacts(description, strategy, (*facts, *(each or "" for each in ends)))
    return found


def _symbols(stated: str | None) -> str:
    names = json.loads(stated or "[]")
    text = ", ".join(map(str, names))
    return text if len(text) <= _LONGEST_SYMBOLS else f"{counted(len(names), 'symbol')}"


def _params(strategy: str) -> str:
    """Return all digits of the parameters, which a caption of the strategy rounds."""
    params = definition_of(strategy).get("params")
    return ", ".join(f"{name}={value!r}" for name, value in params.items()) if isinstance(params, Mapping) else ""


def distinct_captions(texts: Mapping[str, str], facts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return captions that distinguish runs, with as few facts as possible.

    A fact is added to the captions of the runs that share a caption, if it is not the same for all of them. Runs
    without a different fact are repeated runs, numbered in the order of `texts`.

    Args:
        texts: Caption of each run without facts, by run ID.
        facts: Facts of each run, as many for each.
    """
    captions = dict(texts)
    for at in range(max(map(len, facts.values()), default=0)):
        for group in _equal(captions):
            values = {run_id: facts[run_id][at] for run_id in group}
            if len(set(values.values())) > 1:
                for run_id, value in values.items():
                    captions[run_id] += f"{' on ' if at == 0 else ', '}{value or 'not stated'}"
    for group in _equal(captions):
        for place, run_id in enumerate(group, 1):
            captions[run_id] += f", run {place} of {len(group)}"
    return captions


def _equal(captions: Mapping[str, str]) -> list[list[str]]:
    """Return the run IDs of each caption that several runs have."""
    groups: dict[str, list[str]] = {}
    for run_id, caption in captions.items():
        groups.setdefault(caption, []).append(run_id)
    return [group for group in groups.values() if len(group) > 1]
