"""Inputs of a session, and the payload of its first event."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from openoutcry.data.columns import known_periods
from openoutcry.errors import refusal
from openoutcry.harness.sandbox import this_host
from openoutcry.research.acceptance_gates import EARLIER_THRESHOLDS_VERSION, GATES_VERSION, EarlierThresholds
from openoutcry.research.holdout_power import DETECTED, HoldoutPower, holdout_power
from openoutcry.research.ledger_trials import engine_version
from openoutcry.research.proposal_checks import digest_of
from openoutcry.research.proposal_requests import MarketCard
from openoutcry.research.sealed_holdout import HoldoutVault
from openoutcry.research.selection_luck import PriorTrials
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.session_records import RecordedSession
from openoutcry.research.strategy_builder import StrategyBuilder
from openoutcry.research.walkforward_validation import ValidationSetup

SESSION_VERSION = 2


@dataclass(frozen=True)
class MarketSource:
    """Where the market is loaded from, its name, and the options of its reader."""

    data: str
    periods_per_year: float | None
    name: str
    reading: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SessionSpec:
    """Specification of a session, independent of its workspace.

    A journal of an earlier version does not declare the power of its holdout.
    """

    session_id: str
    config: ResearchConfig
    prior_trials: PriorTrials
    source: MarketSource
    provider: str
    ledger: str | None
    declares_power: bool = True
    gates_version: int = GATES_VERSION


def session_spec_of(recorded: RecordedSession) -> SessionSpec:
    """Return the specification of a recorded session.

    Raises:
        OpenOutcryError: `argument_invalid`: the journal has another version.
    """
    start = recorded.start
    if start.get("version") != SESSION_VERSION:
        wanted = f"a session of version {SESSION_VERSION} is required"
        raise refusal("argument_invalid", f"{wanted}; received {start.get('version')!r}")
    config, prior_trials = ResearchConfig.of_json(start["config"]), PriorTrials.of_json(start["memory"])
    source = MarketSource(
        str(start["data"]), start["periods_per_year"], str(start["market"]["name"]), start.get("reading", {})
    )
    if int(start["gates_version"]) <= EARLIER_THRESHOLDS_VERSION:
        config = config.with_(gates=EarlierThresholds(**start["config"]["gates"]))
    origin = (source, str(start["provider"]), start["ledger"])
    return SessionSpec(
        recorded.session_id, config, prior_trials, *origin, "holdout_power" in start, int(start["gates_version"])
    )


def market_card(setup: ValidationSetup, name: str) -> MarketCard:
    """Return the market facts that proposers see."""
    market = setup.dataset
    spans = tuple((market.dates[fold.test[0]], market.dates[fold.test[1] - 1]) for fold in setup.folds)
    first, last = market.dates[0], market.dates[-1]
    return MarketCard(name, market.symbols, first, last, market.n_bars, known_periods(market, "research"), spans)


def start_payload(
    spec: SessionSpec, vault: HoldoutVault, setup: ValidationSetup, builder: StrategyBuilder
) -> dict[str, Any]:
    """Return the payload of the first event."""
    market = setup.dataset
    return {
        "version": SESSION_VERSION,
        "config": _config(spec),
        "gates_version": spec.gates_version,
        "engine": engine_version(),
        "catalogue_sha256": digest_of(builder.catalogue),
        "data": spec.source.data,
        "periods_per_year": spec.source.periods_per_year,
        # Only if a file was read with options.
        **({"reading": dict(spec.source.reading)} if spec.source.reading else {}),
        "ledger": spec.ledger,
        "provider": spec.provider,
        "market": {
            "name": spec.source.name,
            "symbols": list(market.symbols),
            "n_bars": market.n_bars,
            "first": market.dates[0],
            "last": market.dates[-1],
            "fingerprint": market.fingerprint,
            "whole_fingerprint": vault.fingerprint,
        },
        "folds": [{"train": list(fold.train), "test": list(fold.test)} for fold in setup.folds],
        "holdout": None if vault.window is None else list(vault.window),
        **({"holdout_power": _power(spec, vault, setup)} if spec.declares_power else {}),
        "memory": spec.prior_trials.to_json(),
        "environment": {
            "git": _git(),
            "tier": this_host().tier.name,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pid": os.getpid(),
        },
    }


def power_of(config: ResearchConfig, periods_per_year: float, market_bars: int | None = None) -> HoldoutPower | None:
    """Return the power of the holdout of a configuration; None without a holdout.

    Args:
        config: Configuration of a session.
        periods_per_year: Bars per year of the market.
        market_bars: Bars of the complete market; None if there is no limit.
    """
    if not config.split.holdout_bars:
        return None
    required = config.gates.min_sharpe
    sharpe = required if required is not None and required > 0.0 else DETECTED
    return holdout_power(config.split.holdout_bars, periods_per_year, sharpe=sharpe, market_bars=market_bars)


def _config(spec: SessionSpec) -> dict[str, Any]:
    """Return the configuration, as sessions under its version of the gates record it."""
    config = spec.config.to_json()
    if spec.gates_version <= EARLIER_THRESHOLDS_VERSION:
        del config["gates"]["max_constants_loss"]
    return config


def _power(spec: SessionSpec, vault: HoldoutVault, setup: ValidationSetup) -> dict[str, Any] | None:
    found = power_of(spec.config, known_periods(setup.dataset, "research"), vault.n_bars)
    return None if found is None else found.to_json()


def _git() -> dict[str, Any] | None:
    """Return the commit of the working folder; None outside a repository."""
    try:
        commit = _output("git", "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_output("git", "status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _output(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10.0, check=True)
    return done.stdout.strip()
