"""Numbers of a run summary, for a backtest and for the tests of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import isfinite
from typing import Any

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.backtest.trades import Trades, joined_trades
from openoutcry.errors import refusal

_RATIOS = {"sharpe_ratio": "sharpe", "sortino_ratio": "sortino", "calmar_ratio": "calmar", "pnl_return": "return"}
_RATIOS |= {"max_drawdown": "max_drawdown"}
_AMOUNTS = {"avg_win": "average_win", "avg_loss": "average_loss", "max_win": "max_win", "max_loss": "max_loss"}
_TRADES = _AMOUNTS | {"win_rate": "win_rate", "profit_factor": "profit_factor"}
_RISKLESS = "varying returns are required; received constant ones, whose ratio measures the risk-free rate"


def numbers_of(runs: Sequence[Run], traded: Sequence[Trades]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the metrics of consecutive runs, and the reasons for None.

    Raises:
        OpenOutcryError: `argument_invalid`: no run, or runs with another capital.
    """
    capitals = {run.cost_model.capital for run in runs}
    if len(capitals) != 1:
        raise refusal("argument_invalid", f"runs with one capital are required; received {len(capitals)} capitals")
    (capital,) = capitals
    metrics, reasons = _metrics(runs)
    trades = joined_trades(traded)
    found: dict[str, Any] = {name: metrics[metric] for name, metric in _RATIOS.items()}
    undefined = {name: reasons[metric] for name, metric in _RATIOS.items() if metric in reasons}
    drawdown = found["max_drawdown"]
    found["max_drawdown"] = None if drawdown is None else abs(drawdown)
    found["net_pnl"] = sum(float(run.nav[-1]) - 1.0 for run in runs) * capital
    found |= {"total_positions": trades.n_trades, "win_rate": trades.win_rate, "profit_factor": trades.profit_factor}
    for name, metric in _AMOUNTS.items():
        amount = getattr(trades, metric)
        found[name] = None if amount is None else amount * capital
    found["avg_hold_duration_secs"] = _mean_duration(runs, traded)
    undefined |= {name: trades.undefined[metric] for name, metric in _TRADES.items() if metric in trades.undefined}
    if found["avg_hold_duration_secs"] is None:
        undefined["avg_hold_duration_secs"] = trades.undefined["average_duration"]
    for name in [name for name, value in found.items() if value is not None and not isfinite(value)]:
        undefined[name] = f"a finite number is required; received {found[name]}"
        found[name] = None
    return found, undefined


def _metrics(runs: Sequence[Run]) -> tuple[dict[str, float | None], dict[str, str]]:
    """Return the metrics of the returns in sequence, and reasons for None."""
    if len(runs) == 1:
        metrics, reasons = dict(runs[0].metrics), dict(runs[0].undefined)
        caveats = runs[0].caveats
    else:
        raw = np.concatenate([run.returns for run in runs])
        rates = [_rates(run) for run in runs]
        free = None if rates[0] is None else np.concatenate([each for each in rates if each is not None])
        metrics, reasons = native.summarize(raw, periods_per_year=runs[0].dataset.periods_per_year, risk_free=free)
        caveats = dict.fromkeys(("sharpe", "sortino"), _RISKLESS) if native.is_riskless(raw) else {}
    for metric in ("sharpe", "sortino"):
        if metrics[metric] is not None and metric in caveats:
            # Without volatility the ratio would be that of the risk-free rate, and rank first.
            metrics[metric], reasons[metric] = None, caveats[metric]
    return metrics, reasons


def _rates(run: Run) -> Any:
    rates = run.dataset.risk_free
    if rates is None:
        return None
    start, end = run.window.resolve(run.dataset, run.lookback)
    return rates[start + 1 : end]


def _mean_duration(runs: Sequence[Run], traded: Sequence[Trades]) -> float | None:
    """Return the mean seconds from the first to the last fill of a position."""
    seconds: list[float] = []
    for run, trades in zip(runs, traded, strict=True):
        start, _ = run.window.resolve(run.dataset, run.lookback)
        bars = {bar for trade in trades.trades for bar in (trade.opened, trade.closed)}
        at = {bar: timestamp_of(run.dates[bar - start]).timestamp() for bar in bars}
        seconds += [at[trade.closed] - at[trade.opened] for trade in trades.trades]
    return sum(seconds) / len(seconds) if seconds else None


def timestamp_of(date: str) -> datetime:
    """Parse a date of a market as a UTC datetime."""
    text = date.removesuffix("Z")
    return datetime.fromisoformat(f"{text if 'T' in text else f'{text}T00:00:00'}+00:00")
