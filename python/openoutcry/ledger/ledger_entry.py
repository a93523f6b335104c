"""A run of the ledger, and its JSON form."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import checked_integer
from openoutcry.errors import refusal
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.ledger.strategy_identity import digest_of, strategy_id
from openoutcry.records.chained_lines import canonical

KINDS = ("run", "trial", "holdout")
STATES = ("done", "failed")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KEY = re.compile(r"[0-9a-f]{64}")
_MAX_CONFIGS = 2**53


class ReturnMoments(NamedTuple):
    """Moments of excess returns per bar, the input of the deflated Sharpe ratio."""

    n_returns: int
    sharpe: float
    skew: float
    kurtosis: float


@dataclass(frozen=True)
class LedgerRun:
    """One backtest, or one trial of a search.

    Attributes:
        run_id: A UUID in lower case.
        trial: Trial key (`openoutcry.ledger.trial_key`); runs with the same key count as one trial.
        strategy: Complete definition of the strategy, as JSON.
        market: Market of the run.
        window: First and last date.
        metrics: Results; their `id` and `status` are those of the run.
        kind: `run`, `trial`, or `holdout` for a run on holdout returns.
        interval: Bar length, such as `1d`.
        rules: Costs, limits and other inputs of the results.
        engine_version: Version of the engine.
        description: Description of the strategy.
        source: Source code of the strategy, if any.
        source_sha: SHA-256 of the source.
        track: Moments of the excess returns; None where undefined.
        returns: Simple returns per bar from `first` on, shape `(n_returns,)`, float64; or None.
        first: Date of the first return.
        n_configs: Number of configurations evaluated for this run, including itself; 0 only for an early failure.
        isolation: Sandbox tier of the code, such as `T2`.
        holdout_touched: Whether the run used a holdout. It then counts as a trial but is not ranked.
        error: First line of the error of a failed run.
        notes: Additional JSON data.
    """

    run_id: str
    trial: str
    strategy: Mapping[str, Any]
    market: Market
    window: tuple[str, str]
    metrics: RunMetricsSummary
    kind: str = "run"
    interval: str | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)
    engine_version: str = ""
    description: str = ""
    source: str | None = None
    source_sha: str | None = None
    track: ReturnMoments | None = None
    returns: npt.NDArray[np.float64] | None = field(default=None, compare=False)
    first: str | None = None
    n_configs: int = 1
    isolation: str | None = None
    holdout_touched: bool = False
    error: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_id(self.run_id)
        if not isinstance(self.trial, str) or not _KEY.fullmatch(self.trial):
            raise refusal("argument_invalid", f"`trial` must be 64 hexadecimal digits; received {self.trial!r}")
        for name, value, known in (("kind", self.kind, KINDS), ("status", self.status, STATES)):
            if value not in known:
                raise refusal("argument_invalid", f"`{name}` must be one of {', '.join(known)}; received {value!r}")
        checked_integer("n_configs", self.n_configs, 0 if self.status == "failed" else 1, _MAX_CONFIGS)
        if self.metrics.id != self.run_id:
            raise refusal(
                "argument_invalid", f"`metrics.id` must be the run ID {self.run_id}; received {self.metrics.id}"
            )
        if self.returns is not None and not np.isfinite(self.returns).all():
            raise refusal("argument_invalid", "`returns` must be finite; received NaN or infinity")

    @property
    def status(self) -> str:
        """`done` or `failed`."""
        return self.metrics.status

    @property
    def strategy_id(self) -> str:
        """SHA-256 of the strategy in canonical JSON."""
        return strategy_id(self.strategy)

    def with_id(self, run_id: str) -> LedgerRun:
        """Return a copy with another ID."""
        return replace(self, run_id=run_id, metrics=replace(self.metrics, id=run_id))

    def to_json(self) -> dict[str, Any]:
        """Return the run as JSON types without empty fields.

        The market is its fingerprint.
        """
        content: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        content |= {"market": self.market.fingerprint, "window": list(self.window), "metrics": self.metrics.to_json()}
        content |= {"undefined": self.metrics.stated(), "strategy_id": self.strategy_id}
        content["rules_sha"] = rules_digest(self.rules) if self.rules else None
        content["track"] = None if self.track is None else list(self.track)
        if self.returns is not None:
            content["returns"] = b64encode(np.asarray(self.returns, dtype="<f8").tobytes()).decode()
        return {name: value for name, value in content.items() if value not in (None, "", {}, False)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], market: Market) -> LedgerRun:
        """Read a run; unknown members are ignored.

        Raises:
            OpenOutcryError: `argument_invalid`: a member is missing or invalid.
        """
        try:
            metrics = RunMetricsSummary.from_json({**content["metrics"], "undefined": content.get("undefined", {})})
            names = (content.get("kind", "run"), content.get("engine_version"), metrics.status)
            if has_shares_of_nav(names, metrics.net_pnl, metrics.stated()):
                metrics = metrics.without_amounts()
            track, returns = content.get("track"), content.get("returns")
            known = {name: content[name] for name in _PLAIN if name in content}
            if returns is not None:
                known["returns"] = np.frombuffer(b64decode(returns, validate=True), dtype="<f8").astype(np.float64)
            first, last = content["window"]
            moments = None if track is None else ReturnMoments(int(track[0]), *map(float, track[1:]))
            return cls(**known, market=market, window=(first, last), metrics=metrics, track=moments)
        except (KeyError, TypeError, ValueError) as error:
            raise refusal("argument_invalid", f"a run of a ledger must be valid; received {error!r}") from error


def has_shares_of_nav(names: tuple[Any, Any, Any], net_pnl: float | None, stated: Collection[str]) -> bool:
    """Return whether the amounts of a run are shares of NAV.

    Earlier versions recorded those of research trials so.

    Args:
        names: Kind of the run, version of its engine, and its status.
        net_pnl: Its net profit, which those versions left out without a reason.
        stated: Names of the fields with a recorded reason.
    """
    kind, engine, status = names
    is_research = kind != "run" and isinstance(engine, str) and engine.startswith("openoutcry ")
    return is_research and status == "done" and net_pnl is None and "net_pnl" not in stated


_PLAIN = (
    *("run_id", "trial", "strategy", "kind", "interval", "rules", "engine_version", "description", "source"),
    *("source_sha", "first", "n_configs", "isolation", "holdout_touched", "error", "notes"),
)


def checked_id(run_id: Any) -> str:
    """Validate a run ID, a UUID in any case, and return it in lower case.

    Raises:
        OpenOutcryError: `argument_invalid`: it is not a UUID.
    """
    if not isinstance(run_id, str) or not _UUID.fullmatch(run_id.lower()):
        raise refusal("argument_invalid", f"a run ID must be a UUID; received {str(run_id)[:80]!r}")
    return run_id.lower()


def canonical_strategy(strategy: Mapping[str, Any]) -> str:
    """Return a strategy as canonical JSON."""
    return canonical("strategy", strategy)


_digests: dict[str, str] = {}


def rules_digest(rules: Mapping[str, Any]) -> str:
    """Return the SHA-256 of rules in canonical JSON.

    Digests are cached, because many runs share the same rules.
    """
    text = json.dumps(rules, default=dict)
    if text not in _digests:
        if len(_digests) > 1_000:
            _digests.clear()
        _digests[text] = digest_of("rules", rules)
    return _digests[text]
