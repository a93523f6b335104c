"""Rows of the index, from records of the log."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from math import isfinite
from typing import Any, NamedTuple

from openoutcry.chain_lines import canonical
from openoutcry.ledger.entry import KINDS, STATES, canonical_strategy, checked_id
from openoutcry.ledger.segments import Place
from openoutcry.ledger.summary import NUMBERS, RunMetricsSummary

_FLOATS = {float, int, type(None)}


class RunRow(NamedTuple):
    """A run of the log, of which names are not looked up yet.

    `head` and `tail` are columns of `runs` between those of other tables.
    """

    run_id: str
    strategy_sha: str
    fingerprint: str
    kind: str
    status: str
    head: tuple[Any, ...]
    numbers: tuple[Any, ...]
    tail: tuple[Any, ...]
    trial: bytes
    n_configs: int
    is_touched: bool
    session: str
    ts: str
    place: Place
    returns: tuple[str | None, bytes] | None
    strategy: tuple[Any, ...]

    @property
    def sharpe(self) -> float | None:
        """Sharpe ratio a year."""
        found: float | None = self.numbers[_SHARPE]
        return found

    @property
    def per_bar(self) -> tuple[int, float] | None:
        """Number of returns and Sharpe ratio per bar; None where it is undefined."""
        n_returns, sharpe = self.tail[1], self.tail[2]
        return None if n_returns is None or sharpe is None else (n_returns, sharpe)


_SHARPE = NUMBERS.index("sharpe_ratio")
COLUMNS = (
    *("run_id", "strategy", "market", "kind", "status", "candle_interval", "first", "last", "cost_sha"),
    *("engine_version", *NUMBERS, "undefined", "n_returns", "sharpe_per_bar", "skew", "kurtosis", "trial", "n_configs"),
    *("isolation", "holdout_touched", "error", "session", "ts", "segment", "offset"),
)


def row_of(record: Mapping[str, Any], place: Place) -> RunRow:
    """Return the row of a record of a run.

    Raises:
        KeyError, TypeError, ValueError: something is missing or not what it should be.
    """
    told = record["payload"]
    metrics, run_id = told["metrics"], checked_id(told["run_id"])
    numbers, undefined = _numbers(told, metrics)
    kind, status, trial = told.get("kind", "run"), metrics["status"], bytes.fromhex(told["trial"])
    first, last = told["window"]
    n_configs = told.get("n_configs", 1)
    if kind not in KINDS or status not in STATES or len(trial) != 32 or type(n_configs) is not int or n_configs < 0:
        raise ValueError("a run of another kind")
    if not (isinstance(first, str) and isinstance(last, str)):
        raise TypeError("a window must be two dates")
    strategy_sha, returns = told["strategy_id"], told.get("returns")
    rules = told.get("rules")
    cost_sha = None if rules is None else sha256(canonical("rules", rules).encode()).hexdigest()
    track = told.get("track") or (None,) * 4
    n_returns, *moments = track
    if (
        len(moments) != 3
        or type(n_returns) not in {int, type(None)}
        or any(type(each) not in _FLOATS for each in moments)
    ):
        raise TypeError("a track must be four numbers")
    return RunRow(
        run_id,
        str(strategy_sha),
        str(told["market"]),
        kind,
        status,
        (
            _text(metrics.get("candle_interval", told.get("interval"))),
            first,
            last,
            cost_sha,
            _text(told.get("engine_version")),
        ),
        numbers,
        (undefined, n_returns, *moments, _text(told.get("isolation")), _text(told.get("error"))),
        trial,
        n_configs,
        bool(told.get("holdout_touched", False)),
        record["session_id"],
        record["ts"],
        place,
        None if returns is None else (_text(told.get("first")), b64decode(returns, validate=True)),
        (told["strategy"], _text(told.get("source")), _text(told.get("source_sha")), _text(told.get("description"))),
    )


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError("a text is required")
    return value


def _numbers(told: Mapping[str, Any], metrics: Mapping[str, Any]) -> tuple[tuple[Any, ...], str | None]:
    """Return the columns of numbers, and why some are NULL."""
    undefined = told.get("undefined") or {}
    values = tuple(metrics.get(name) for name in NUMBERS)
    if any(type(value) not in _FLOATS or (value is not None and not isfinite(value)) for value in values):
        # Of another writer: numbers as texts, or what is not finite.
        found = RunMetricsSummary.from_json({**metrics, "undefined": undefined})
        undefined, values = found.undefined, tuple(getattr(found, name) for name in NUMBERS)
    values = tuple(float(value) if value is not None and place else value for place, value in enumerate(values))
    return values, canonical("undefined", dict(undefined)) if undefined else None


def values_of(row: RunRow, ids: tuple[int, int, int]) -> tuple[Any, ...]:
    """Return the columns of a run, with the ids of its strategy, market and session."""
    strategy, market, session = ids
    undefined, n_returns, sharpe, skew, kurtosis, isolation, error = row.tail
    return (
        *(row.run_id, strategy, market, row.kind, row.status, *row.head, *row.numbers),
        *(undefined, n_returns, sharpe, skew, kurtosis, row.trial, row.n_configs, isolation, int(row.is_touched)),
        *(error, session, row.ts, *row.place),
    )


def strategy_row(row: RunRow) -> tuple[Any, ...]:
    """Return the columns of a strategy that is new.

    Raises:
        ValueError: it is not what its id says.
    """
    strategy, source, source_sha, description = row.strategy
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
