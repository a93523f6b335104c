"""A run as the ledger keeps it."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import whole
from openoutcry.errors import refusal
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.ledger.strategy_identity import digest_of, strategy_id
from openoutcry.records.chained_lines import canonical

KINDS = ("run", "trial", "holdout")
STATES = ("done", "failed")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KEY = re.compile(r"[0-9a-f]{64}")
_MOST_CONFIGS = 2**53


class Track(NamedTuple):
    """Moments of a run's excess returns per bar, which deflating its ratio takes."""

    n_returns: int
    sharpe: float
    skew: float
    kurtosis: float


@dataclass(frozen=True)
class LedgerRun:
    """One backtest, or one trial of a search.

    Attributes:
        run_id: A UUID in lower case.
        trial: What the trial is known by (`openoutcry.ledger.trial_key`), so that a copy does not count twice.
        strategy: All that decides, as JSON.
        market: Where it traded.
        window: First and last date.
        metrics: What it came to; its `id` and `status` are those of the run.
        kind: `run`, `trial`, or `holdout` for one on returns that no search may see.
        interval: Length of a bar, such as `1d`.
        rules: Costs, limits, and what else a number depends on.
        engine_version: That of the engine.
        description: What the strategy is, in words.
        source: Its code, where it is code.
        source_sha: SHA-256 of that text.
        track: Moments of its excess returns; None where they are undefined.
        returns: Simple returns, one a bar from `first` on; or None.
        first: Date of the first return.
        n_configs: Configurations that were looked at for it, itself among them. 0 only where it failed before that.
        isolation: How its code was kept apart, such as `T2`.
        holdout_touched: Whether it has seen a holdout; it then counts as a trial and is ranked nowhere.
        error: First line of what went wrong, where it failed.
        notes: What else is to be kept, as JSON.
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
    track: Track | None = None
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
        whole("n_configs", self.n_configs, 0 if self.status == "failed" else 1, _MOST_CONFIGS)
        if self.metrics.id != self.run_id:
            raise refusal(
                "argument_invalid", f"`metrics.id` must be the run's, {self.run_id}; received {self.metrics.id}"
            )
        if self.returns is not None and not np.isfinite(self.returns).all():
            raise refusal("argument_invalid", "`returns` must be finite; received NaN or an infinity")

    @property
    def status(self) -> str:
        """Whether it is `done` or `failed`."""
        return self.metrics.status

    @property
    def strategy_id(self) -> str:
        """SHA-256 of the strategy in canonical JSON."""
        return strategy_id(self.strategy)

    def with_id(self, run_id: str) -> LedgerRun:
        """Return the same run under another id."""
        return replace(self, run_id=run_id, metrics=replace(self.metrics, id=run_id))

    def to_json(self) -> dict[str, Any]:
        """Return the run as plain values, the market by its fingerprint.

        What is None or empty is left out.
        """
        told: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        told |= {"market": self.market.fingerprint, "window": list(self.window), "metrics": self.metrics.to_json()}
        told |= {"undefined": dict(self.metrics.undefined), "strategy_id": self.strategy_id}
        told["rules_sha"] = rules_digest(self.rules) if self.rules else None
        told["track"] = None if self.track is None else list(self.track)
        if self.returns is not None:
            told["returns"] = b64encode(np.asarray(self.returns, dtype="<f8").tobytes()).decode()
        return {name: value for name, value in told.items() if value not in (None, "", {}, False)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any], market: Market) -> LedgerRun:
        """Read a run; what is unknown in it is left.

        Raises:
            OpenOutcryError: `argument_invalid`: something is missing or not what it should be.
        """
        try:
            metrics = RunMetricsSummary.from_json({**told["metrics"], "undefined": told.get("undefined", {})})
            track, returns = told.get("track"), told.get("returns")
            known = {name: told[name] for name in _PLAIN if name in told}
            if returns is not None:
                known["returns"] = np.frombuffer(b64decode(returns, validate=True), dtype="<f8").astype(np.float64)
            first, last = told["window"]
            moments = None if track is None else Track(int(track[0]), *map(float, track[1:]))
            return cls(**known, market=market, window=(first, last), metrics=metrics, track=moments)
        except (KeyError, TypeError, ValueError) as error:
            raise refusal("argument_invalid", f"a run of a ledger must be whole; received {error!r}") from error


_PLAIN = (
    *("run_id", "trial", "strategy", "kind", "interval", "rules", "engine_version", "description", "source"),
    *("source_sha", "first", "n_configs", "isolation", "holdout_touched", "error", "notes"),
)


def checked_id(run_id: Any) -> str:
    """Return a run's id, which is a UUID; letters may be of either case.

    Raises:
        OpenOutcryError: `argument_invalid`: it is none.
    """
    if not isinstance(run_id, str) or not _UUID.fullmatch(run_id.lower()):
        raise refusal("argument_invalid", f"a run's id must be a UUID; received {str(run_id)[:80]!r}")
    return run_id.lower()


def canonical_strategy(strategy: Mapping[str, Any]) -> str:
    """Return a strategy as canonical JSON."""
    return canonical("strategy", strategy)


_digests: dict[str, str] = {}


def rules_digest(rules: Mapping[str, Any]) -> str:
    """Return the SHA-256 of rules in canonical JSON; many runs share a few."""
    text = json.dumps(rules, default=dict)
    if text not in _digests:
        if len(_digests) > 1_000:
            _digests.clear()
        _digests[text] = digest_of("rules", rules)
    return _digests[text]
