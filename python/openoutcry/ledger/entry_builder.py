"""Conversion of finished and failed backtests to ledger runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4, uuid5

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger.ledger_entry import LedgerRun, ReturnMoments
from openoutcry.ledger.market_families import Market
from openoutcry.ledger.run_settings import setting_of
from openoutcry.ledger.run_summary import RunMetricsSummary, interval_of
from openoutcry.ledger.strategy_identity import full_definition, trial_key
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scoring.skill import Moments

_IDS = UUID("6f8f1d0e-5b7e-5c55-9a2e-0d5b6c1c7a10")


@dataclass(frozen=True)
class RunMetadata:
    """Metadata that a backtest does not contain.

    Attributes:
        key: Determines the run ID, so that a repeated run has the same one; None for a random ID.
        trial: Trial key; None for a hash of strategy, market, window, rules and all decisions, because the name of a
            function does not determine its decisions.
        kind: `run`, `trial` or `holdout`.
        description: Description of the strategy.
        source: Source code of the strategy, if any.
        n_configs: Number of configurations evaluated for this run, including itself.
        isolation: Sandbox tier of the code.
        holdout_touched: Whether the run has used a holdout.
        notes: Additional JSON data.
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

    def run_fields(self) -> dict[str, Any]:
        """Return the fields that a ledger run copies unchanged."""
        names = ("kind", "description", "source", "n_configs", "isolation", "holdout_touched", "notes")
        sha = None if self.source is None else sha256(self.source.encode()).hexdigest()
        return {name: getattr(self, name) for name in names} | {"source_sha": sha}

    def run_id(self) -> str:
        """Return the ID of the run."""
        return str(uuid4() if self.key is None else uuid5(_IDS, self.key))


def run_of(
    run: Run, strategy: Mapping[str, Any] | str | None = None, metadata: RunMetadata = RunMetadata()
) -> LedgerRun:
    """Convert a finished backtest to a ledger run.

    A run of a library strategy is recorded under `run.strategy`, its name and all parameters, so that runs, sweeps and
    trials of research of one strategy are one strategy.

    Args:
        run: The backtest.
        strategy: Complete definition of the strategy as JSON, or only its name; None for the name of the run.
        metadata: Metadata of the run.
    """
    definition = full_definition(strategy_of(run.strategy or strategy or run.name))
    rules, window = rules_of(run.cost_model, run.limits, run.lookback, run.seed), (run.dates[0], run.dates[-1])
    market, run_id = Market.of(run.dataset), metadata.run_id()
    hashes = {"decisions": sha256(np.ascontiguousarray(run.decisions, dtype="<f8").tobytes()).hexdigest()}
    trial = metadata.trial or trial_key(
        {"of": definition, **hashes}, market.fingerprint, window, rules, engine_version()
    )
    return LedgerRun(
        run_id,
        trial,
        definition,
        market,
        window,
        RunMetricsSummary.of(run, run_id),
        interval=interval_of(run.dates),
        rules=rules,
        engine_version=engine_version(),
        track=return_moments(run),
        returns=np.asarray(run.returns),
        first=run.dates[1],
        **metadata.run_fields(),
    )


def failed_run(
    dataset: Dataset,
    window: tuple[str, str],
    strategy: Mapping[str, Any] | str,
    error: BaseException | str,
    metadata: RunMetadata = RunMetadata(),
) -> LedgerRun:
    """Build the ledger run of a failed backtest.

    Without failed runs, the ledger would have survivorship bias.

    Args:
        dataset: The market.
        window: First and last date.
        strategy: As in `run_of`.
        error: The error; the ledger stores its first line.
        metadata: As in `run_of`; an `n_configs` of 0 means that no result was evaluated.
    """
    definition, market, run_id = full_definition(strategy_of(strategy)), Market.of(dataset), metadata.run_id()
    message = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    first = (message.splitlines() or [""])[0][:500]
    trial = metadata.trial or trial_key(
        {"of": definition, "error": first}, market.fingerprint, window, {}, engine_version()
    )
    summary = RunMetricsSummary(run_id, "failed", interval_of(dataset.dates))
    extra: dict[str, Any] = {"interval": summary.candle_interval, "engine_version": engine_version()}
    return LedgerRun(
        run_id, trial, definition, market, window, summary, error=first or "unknown", **extra, **metadata.run_fields()
    )


def strategy_of(strategy: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Return a strategy as an object; a name becomes `{"name": ...}`."""
    if isinstance(strategy, str) and strategy:
        return {"name": strategy}
    if not isinstance(strategy, Mapping) or not strategy:
        raise refusal("argument_invalid", f"`strategy` must be a name or an object; received {strategy!r}")
    return _plain(strategy)  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    """Convert numpy values to Python values; the log validates the rest."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def rules_of(costs: CostModel, limits: Limits, lookback: int, seed: int = 0) -> dict[str, Any]:
    """Return the inputs of a result other than decisions and market, as JSON.

    Includes the seed only if slippage is random: runs with a hundred seeds are then a hundred trials, otherwise one.
    """
    rules = setting_of(costs, limits) | {"lookback": lookback}
    return rules | ({"seed": str(seed)} if costs.slippage_jitter else {})


def return_moments(run: Run) -> ReturnMoments | None:
    """Return the moments of a run's excess returns; None where they are undefined."""
    if run.metrics["sharpe"] is None or "sharpe" in run.caveats:
        return None
    try:
        moments = Moments.of(np.asarray(run._core.excess))
    except native.OpenOutcryError:
        return None
    return ReturnMoments(moments.n_returns, moments.sharpe, moments.skew, moments.kurtosis)


def engine_version() -> str:
    """Return the version of the engine."""
    import openoutcry

    return openoutcry.__version__
