"""Runs of a ledger, made of finished backtests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from typing import Any
from uuid import UUID, uuid4, uuid5

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger.ledger_entry import LedgerRun, Track
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.run_summary import RunMetricsSummary, interval_of
from openoutcry.ledger.strategy_identity import trial_key
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scoring.skill import Moments

_IDS = UUID("6f8f1d0e-5b7e-5c55-9a2e-0d5b6c1c7a10")


@dataclass(frozen=True)
class About:
    """What a run does not say of itself.

    Attributes:
        key: Makes the run's id the same whenever it is made again; a random one without.
        trial: What the trial is known by; None: strategy, market, window, rules and every decision made, since what a
            function decides cannot be told from its name.
        kind: `run`, `trial` or `holdout`.
        description: What the strategy is, in words.
        source: Its code, where it is code.
        n_configs: Configurations that were looked at for it, itself among them.
        isolation: How its code was kept apart.
        holdout_touched: Whether it has seen a holdout.
        notes: What else is to be kept, as JSON.
    """

    key: str | None = None
    trial: str | None = None
    kind: str = "run"
    description: str = ""
    source: str | None = None
    n_configs: int = 1
    isolation: str | None = None
    holdout_touched: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)

    def kept(self) -> dict[str, Any]:
        """Return the fields that a run keeps as they are."""
        names = ("kind", "description", "source", "n_configs", "isolation", "holdout_touched", "notes")
        sha = None if self.source is None else sha256(self.source.encode()).hexdigest()
        return {name: getattr(self, name) for name in names} | {"source_sha": sha}

    def run_id(self) -> str:
        """Return the id of the run."""
        return str(uuid4() if self.key is None else uuid5(_IDS, self.key))


def run_of(run: Run, strategy: Mapping[str, Any] | str, about: About = About()) -> LedgerRun:
    """Return a finished backtest as the ledger keeps it.

    Args:
        run: The backtest.
        strategy: All that decides, as JSON; or its name, where that is all that is known.
        about: What the run does not say of itself.
    """
    told = strategy_of(strategy)
    rules, window = rules_of(run.cost_model, run.limits, run.lookback, run.seed), (run.dates[0], run.dates[-1])
    market, run_id = Market.of(run.dataset), about.run_id()
    made = {"decisions": sha256(np.ascontiguousarray(run.decisions, dtype="<f8").tobytes()).hexdigest()}
    trial = about.trial or trial_key({"of": told, **made}, market.fingerprint, window, rules, engine_version())
    return LedgerRun(
        run_id,
        trial,
        told,
        market,
        window,
        RunMetricsSummary.of(run, run_id),
        interval=interval_of(run.dates),
        rules=rules,
        engine_version=engine_version(),
        track=track_of(run),
        returns=np.asarray(run.returns),
        first=run.dates[1],
        **about.kept(),
    )


def failed_run(
    dataset: Dataset,
    window: tuple[str, str],
    strategy: Mapping[str, Any] | str,
    error: BaseException | str,
    about: About = About(),
) -> LedgerRun:
    """Return a run that came to nothing, so that not only survivors are remembered.

    Args:
        dataset: The market.
        window: First and last date.
        strategy: As in `run_of`.
        error: What went wrong, of which the first line is kept.
        about: As in `run_of`; an `n_configs` of 0 says that no result was looked at.
    """
    told, market, run_id = strategy_of(strategy), Market.of(dataset), about.run_id()
    words = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    first = (words.splitlines() or [""])[0][:500]
    trial = about.trial or trial_key({"of": told, "error": first}, market.fingerprint, window, {}, engine_version())
    summary = RunMetricsSummary(run_id, "failed", interval_of(dataset.dates))
    extra: dict[str, Any] = {"interval": summary.candle_interval, "engine_version": engine_version()}
    return LedgerRun(run_id, trial, told, market, window, summary, error=first or "unknown", **extra, **about.kept())


def strategy_of(strategy: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Return a strategy as an object: a name alone is `{"name": ...}`."""
    if isinstance(strategy, str) and strategy:
        return {"name": strategy}
    if not isinstance(strategy, Mapping) or not strategy:
        raise refusal("argument_invalid", f"`strategy` must be a name or an object; received {strategy!r}")
    return _plain(strategy)  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    """Return values of numpy as those of Python; the rest is for the log to check."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def rules_of(costs: CostModel, limits: Limits, lookback: int, seed: int = 0) -> dict[str, Any]:
    """Return what a number depends on beside decisions and market, as JSON.

    The seed only where slippage varies: runs under a hundred seeds are a hundred looks there, and one elsewhere.
    """
    told: dict[str, Any] = {
        "costs": _finite(costs.to_dict()),
        "limits": _finite(limits.to_dict()),
        "lookback": lookback,
    }
    return told | ({"seed": str(seed)} if costs.slippage_jitter else {})


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    # A limit that is null is none; JSON has no infinity.
    return {name: value if not isinstance(value, float) or isfinite(value) else None for name, value in values.items()}


def track_of(run: Run) -> Track | None:
    """Return the moments of a run's excess returns; None where they are undefined."""
    if run.metrics["sharpe"] is None or "sharpe" in run.caveats:
        return None
    try:
        found = Moments.of(np.asarray(run._core.excess))
    except native.OpenOutcryError:
        return None
    return Track(found.n_returns, found.sharpe, found.skew, found.kurtosis)


def engine_version() -> str:
    """Return the version of the engine that numbers are of."""
    import openoutcry

    return openoutcry.__version__
