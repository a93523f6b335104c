"""Conversion of log records to rows of the index."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from itertools import compress
from math import isfinite
from typing import Any, NamedTuple

from openoutcry.ledger.ledger_entry import (
    KINDS,
    STATES,
    canonical_strategy,
    checked_id,
    has_shares_of_nav,
    rules_digest,
)
from openoutcry.ledger.log_segments import LogPosition
from openoutcry.ledger.run_summary import AMOUNTS, NUMBERS, SHARE_OF_NAV, RunMetricsSummary
from openoutcry.ledger.strategy_identity import alias_of
from openoutcry.openoutcry_py import OpenOutcryError, RunReader
from openoutcry.records.chained_lines import canonical

_FLOATS = {float, int, type(None)}
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError, OpenOutcryError)
"""Exceptions for an intact record with invalid content."""


class RunRow(NamedTuple):
    """A run of the log before its foreign keys are resolved.

    Attributes:
        strategy_sha: ID of the strategy.
        fingerprint: Fingerprint of the market.
        session: Session that wrote the run.
        columns: Columns of `runs` from `run_id` on.
        present: Mask of the columns that are not None, one byte each.
        values: Values of those columns.
        returns: Date of the first return, and all returns as bytes.
        strategy: Strategy as JSON, source, digest of the source, and description.
    """

    strategy_sha: str
    fingerprint: str
    session: str
    columns: tuple[Any, ...]
    present: bytes
    values: tuple[Any, ...]
    returns: tuple[str | None, bytes] | None
    strategy: tuple[str, str | None, str | None, str | None]


COLUMNS = (
    *("id", "strategy", "market", "session", "setting", "run_id", "kind", "status", "candle_interval", "first", "last"),
    *("cost_sha", "engine_version", *NUMBERS, "undefined", "n_returns", "sharpe_per_bar", "skew", "kurtosis"),
    *("isolation", "error", "trial", "n_configs", "holdout_touched", "ts", "segment", "offset"),
)
"""Columns of `runs`; the first five are keys."""
N_KEYS = 5
AT = {name: place for place, name in enumerate(COLUMNS[N_KEYS:])}
"""Index of each other column in `RunRow.columns`."""
READER = RunReader(NUMBERS, KINDS, STATES)
"""Native reader of lines in the form that a ledger writes; returns the same rows as `row_of`."""


def row_of(record: Mapping[str, Any], place: LogPosition) -> RunRow:
    """Convert a run record to a row.

    Raises:
        KeyError, TypeError, ValueError: a member is missing or invalid.
    """
    payload = record["payload"]
    get, metrics, run_id = payload.get, payload["metrics"], payload["run_id"]
    numbers, undefined = _numbers(get("undefined"), metrics)
    kind, status, trial, n_configs = get("kind", "run"), metrics["status"], payload["trial"], get("n_configs", 1)
    if kind not in KINDS or status not in STATES or type(n_configs) is not int or n_configs < 0 or len(trial) != 64:
        raise ValueError("a run must have a known kind and status, and a valid trial")
    first, last = payload["window"]
    returns, rules = get("returns"), get("rules")
    n_returns, *moments = get("track") or _NO_MOMENTS
    if type(n_returns) not in _WHOLE or len(moments) != 3 or not _FLOATS.issuperset(map(type, moments)):
        raise TypeError("a track must be four numbers")
    costs = get("rules_sha") or (None if rules is None else rules_digest(rules))
    interval, engine = metrics.get("candle_interval", get("interval")), get("engine_version")
    ends = undefined, n_returns, *moments, get("isolation"), get("error")
    strategy = get("source"), get("source_sha"), get("description")
    texts = (
        first,
        last,
        payload["market"],
        payload["strategy_id"],
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
    present = bytes([each is not None for each in columns])
    return RunRow(
        texts[3],
        texts[2],
        record["session_id"],
        columns,
        present,
        tuple(compress(columns, present)),
        None if returns is None else (texts[-1], b64decode(returns)),
        (json.dumps(payload["strategy"]), *strategy),
    )


_NO_MOMENTS = (None,) * 4
_WHOLE, _TEXTS = {int, type(None)}, {str, type(None)}


def _numbers(undefined: Any, metrics: Mapping[str, Any]) -> tuple[tuple[Any, ...], str | None]:
    """Return the numeric columns, and the reasons for NULL."""
    values = tuple(map(metrics.get, NUMBERS))
    known = [value for value in values if value is not None]
    if not _FLOATS.issuperset(map(type, known)) or not isfinite(sum(known)):
        # From another writer: numbers as texts, or not finite.
        found = RunMetricsSummary.from_json({**metrics, "undefined": undefined})
        undefined, values = found.stated(), tuple(getattr(found, name) for name in NUMBERS)
    return values, canonical("undefined", dict(undefined)) if undefined else None


# A definition of a library strategy has a name and a few parameters.
_LONGEST_DEFINITION = 2000


def aliased(row: RunRow) -> RunRow:
    """Return a row under the identity of its strategy with all parameters."""
    text = row.strategy[0]
    if '"strategy"' not in text or len(text) > _LONGEST_DEFINITION:
        return row
    try:
        sha, full = alias_of(row.strategy_sha, text)
    except UNREADABLE:
        return row
    return row if sha == row.strategy_sha else row._replace(strategy_sha=sha, strategy=(full, *row.strategy[1:]))


def in_currency(row: RunRow) -> RunRow:
    """Return a row without amounts that are shares of NAV.

    An earlier version recorded them.
    """
    names = (row.columns[AT["kind"]], row.columns[AT["engine_version"]], row.columns[AT["status"]])
    # Most rows have a net profit, so that no reason is parsed.
    if row.columns[AT["net_pnl"]] is not None or names[0] == "run":
        return row
    stated = json.loads(row.columns[AT["undefined"]] or "{}")
    if not has_shares_of_nav(names, None, stated):
        return row
    columns = list(row.columns)
    for name in AMOUNTS:
        columns[AT[name]] = None
    columns[AT["undefined"]] = canonical("undefined", stated | dict.fromkeys(AMOUNTS, SHARE_OF_NAV))
    present = bytes([each is not None for each in columns])
    return row._replace(columns=tuple(columns), present=present, values=tuple(compress(columns, present)))


def strategy_row(row: RunRow) -> tuple[Any, ...]:
    """Return the columns of a new strategy.

    Raises:
        ValueError: the strategy does not match its ID.
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
