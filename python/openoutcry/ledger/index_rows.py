"""Rows of the index, from records of the log."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from itertools import compress
from math import isfinite
from typing import Any, NamedTuple

from openoutcry.ledger.ledger_entry import KINDS, STATES, canonical_strategy, checked_id, rules_digest
from openoutcry.ledger.log_segments import Place
from openoutcry.ledger.run_summary import NUMBERS, RunMetricsSummary
from openoutcry.openoutcry_py import OpenOutcryError, RunReader
from openoutcry.records.chained_lines import canonical

_FLOATS = {float, int, type(None)}
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError, OpenOutcryError)
"""What reading a record raises that is whole and not what it should be."""


class RunRow(NamedTuple):
    """A run of the log, of which names are not looked up yet.

    Attributes:
        strategy_sha: Id of its strategy.
        fingerprint: That of its market.
        session: Who wrote it.
        columns: Those of `runs` from `run_id` on.
        there: Which of them are no None, a byte each.
        told: Those.
        returns: Date of the first, and all as bytes.
        strategy: What the strategy is: as JSON, its source, that one's digest, and words.
    """

    strategy_sha: str
    fingerprint: str
    session: str
    columns: tuple[Any, ...]
    there: bytes
    told: tuple[Any, ...]
    returns: tuple[str | None, bytes] | None
    strategy: tuple[str, str | None, str | None, str | None]


COLUMNS = (
    *("id", "strategy", "market", "session", "run_id", "kind", "status", "candle_interval", "first", "last"),
    *("cost_sha", "engine_version", *NUMBERS, "undefined", "n_returns", "sharpe_per_bar", "skew", "kurtosis"),
    *("isolation", "error", "trial", "n_configs", "holdout_touched", "ts", "segment", "offset"),
)
"""Columns of `runs`, of which the first four are looked up."""
AT = {name: place for place, name in enumerate(COLUMNS[4:])}
"""Where each of the others stands in `RunRow.columns`."""
READER = RunReader(NUMBERS, KINDS, STATES)
"""Reads lines that are as a ledger writes them, to the rows that `row_of` makes of their records."""


def row_of(record: Mapping[str, Any], place: Place) -> RunRow:
    """Return the row of a record of a run.

    Raises:
        KeyError, TypeError, ValueError: something is missing or not what it should be.
    """
    told = record["payload"]
    get, metrics, run_id = told.get, told["metrics"], told["run_id"]
    numbers, undefined = _numbers(get("undefined"), metrics)
    kind, status, trial, n_configs = get("kind", "run"), metrics["status"], told["trial"], get("n_configs", 1)
    if kind not in KINDS or status not in STATES or type(n_configs) is not int or n_configs < 0 or len(trial) != 64:
        raise ValueError("a run of another kind")
    first, last = told["window"]
    returns, rules = get("returns"), get("rules")
    n_returns, *moments = get("track") or _NO_TRACK
    if type(n_returns) not in _WHOLE or len(moments) != 3 or not _FLOATS.issuperset(map(type, moments)):
        raise TypeError("a track must be four numbers")
    costs = get("rules_sha") or (None if rules is None else rules_digest(rules))
    interval, engine = metrics.get("candle_interval", get("interval")), get("engine_version")
    ends = undefined, n_returns, *moments, get("isolation"), get("error")
    strategy = get("source"), get("source_sha"), get("description")
    texts = (
        first,
        last,
        told["market"],
        told["strategy_id"],
        interval,
        engine,
        costs,
        *ends[-2:],
        *strategy,
        get("first"),
    )
    if not _TEXTS.issuperset(map(type, texts)) or None in texts[:4]:
        raise TypeError("a text is required")
    run_id = run_id if run_id == checked_id(run_id) else run_id.lower()
    is_touched = bool(get("holdout_touched", False))
    columns = (
        *(run_id, kind, status, interval, first, last, costs, engine, *numbers, *ends),
        *(bytes.fromhex(trial), n_configs, int(is_touched), record["ts"], *place),
    )
    there = bytes([each is not None for each in columns])
    return RunRow(
        texts[3],
        texts[2],
        record["session_id"],
        columns,
        there,
        tuple(compress(columns, there)),
        None if returns is None else (texts[-1], b64decode(returns)),
        (json.dumps(told["strategy"]), *strategy),
    )


_NO_TRACK = (None,) * 4
_WHOLE, _TEXTS = {int, type(None)}, {str, type(None)}


def _numbers(undefined: Any, metrics: Mapping[str, Any]) -> tuple[tuple[Any, ...], str | None]:
    """Return the columns of numbers, and why some are NULL."""
    values = tuple(map(metrics.get, NUMBERS))
    known = [value for value in values if value is not None]
    if not _FLOATS.issuperset(map(type, known)) or not isfinite(sum(known)):
        # Of another writer: numbers as texts, or what is not finite.
        found = RunMetricsSummary.from_json({**metrics, "undefined": undefined})
        undefined, values = found.undefined, tuple(getattr(found, name) for name in NUMBERS)
    return values, canonical("undefined", dict(undefined)) if undefined else None


def strategy_row(row: RunRow) -> tuple[Any, ...]:
    """Return the columns of a strategy that is new.

    Raises:
        ValueError: it is not what its id says.
    """
    text, source, source_sha, description = row.strategy
    strategy = json.loads(text)
    if sha256(text.encode()).hexdigest() != row.strategy_sha:
        text = canonical_strategy(strategy)
    if not isinstance(strategy, Mapping) or sha256(text.encode()).hexdigest() != row.strategy_sha:
        raise ValueError("the strategy's id is not its digest")
    params = strategy.get("params")
    kind = "code" if "code" in strategy else "config"
    return (
        row.strategy_sha,
        text,
        source,
        source_sha,
        kind,
        len(params) if isinstance(params, Mapping) else 0,
        description,
    )
