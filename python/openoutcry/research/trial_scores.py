"""Scores of a trial, out of sample and in sample.

Selection sees an `OosScore` only. It has no in-sample field, so fitted results cannot influence a choice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import Run
from openoutcry.backtest.trades import Trades, trades_of
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.scoring.skill import Moments

Series = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FoldScore:
    """Score of the test of one fold.

    Attributes:
        first: Date of its first bar.
        last: Date of its last bar.
        sharpe: Annualised Sharpe ratio; None if undefined.
        return_: Return over the fold.
        max_drawdown: Maximum drawdown, from 0 to 1.
        profit_factor: Gross profit over gross loss of closed trades; None without a loss.
        n_trades: Closed trades.
        has_no_loss: Whether no closed trade lost.
    """

    first: str
    last: str
    sharpe: float | None
    return_: float
    max_drawdown: float
    profit_factor: float | None
    n_trades: int
    has_no_loss: bool


@dataclass(frozen=True)
class InSample:
    """Score of the training of one fold: recorded, never a selection criterion.

    Attributes:
        sharpe: Annualised Sharpe ratio; None if undefined.
        max_drawdown: Maximum drawdown, from 0 to 1.
    """

    sharpe: float | None
    max_drawdown: float | None


@dataclass(frozen=True)
class OosScore:
    """Score of the tests of all folds, stitched into one return series.

    Attributes:
        sharpe: Annualised Sharpe ratio of the stitched returns; None if undefined.
        max_drawdown: Maximum drawdown of the stitched NAV, from 0 to 1.
        return_: Return of the stitched NAV.
        folds: Score of each fold.
        moments: Moments of the stitched excess returns per bar; None if undefined.
        returns: Stitched excess returns. Shape `(n_returns,)`, float64.
        nav: Stitched NAV. Shape `(n_returns + 1,)`, float64, starts at 1.
        dates: Date of each return.
        summary: The 17 fields of the run ledger, without an ID; None if the score was not made of runs.
    """

    sharpe: float | None
    max_drawdown: float
    return_: float
    folds: tuple[FoldScore, ...]
    moments: Moments | None
    returns: Series = field(compare=False, repr=False)
    nav: Series = field(compare=False, repr=False)
    dates: tuple[str, ...] = field(compare=False, repr=False)
    summary: RunMetricsSummary | None = field(default=None, compare=False, repr=False)

    @property
    def periods_per_year(self) -> float | None:
        """Bars per year of the annualised ratio; None if the ratio is undefined or 0."""
        if self.sharpe is None or self.moments is None or self.moments.sharpe == 0.0:
            return None
        return (self.sharpe / self.moments.sharpe) ** 2

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes of the returns, in hex."""
        return hashlib.sha256(np.ascontiguousarray(self.returns, dtype="<f8").tobytes()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the score as plain values, with the returns as their digest."""
        return {
            "sharpe": self.sharpe,
            "max_drawdown": self.max_drawdown,
            "return": self.return_,
            "n_returns": len(self.returns),
            "moments": None if self.moments is None else asdict(self.moments),
            "folds": [vars(fold) for fold in self.folds],
            "returns_sha256": self.digest,
        }


def score_of(runs: Sequence[Run]) -> OosScore:
    """Return the stitched score of the test runs of all folds, in order."""
    raw = np.concatenate([run.returns for run in runs])
    excess = np.concatenate([excess_of(run) for run in runs])
    found, _ = native.summarize(excess, periods_per_year=runs[0].dataset.periods_per_year)
    nav = np.concatenate([[1.0], np.cumprod(1.0 + raw)])
    traded = [trades_of(run) for run in runs]
    return OosScore(
        sharpe=found["sharpe"],
        max_drawdown=_depth(nav),
        return_=float(nav[-1] - 1.0),
        folds=tuple(fold_of(run, each) for run, each in zip(runs, traded, strict=True)),
        moments=moments_of(excess),
        returns=excess,
        nav=nav,
        dates=tuple(date for run in runs for date in run.dates[1:]),
        summary=RunMetricsSummary.of_tests(runs, traded),
    )


def fold_of(run: Run, trades: Trades) -> FoldScore:
    """Return the score of the test of one fold.

    Args:
        run: Its run.
        trades: Closed trades of the run.
    """
    return FoldScore(
        first=run.dates[0],
        last=run.dates[-1],
        sharpe=run.metric("sharpe"),
        return_=float(run.nav[-1] - 1.0),
        max_drawdown=_depth(run.nav),
        profit_factor=trades.profit_factor,
        n_trades=trades.n_trades,
        has_no_loss=all(trade.profit >= 0.0 for trade in trades.trades),
    )


def in_sample_of(run: Run) -> InSample:
    """Return the in-sample score of a run."""
    return InSample(run.metric("sharpe"), _depth(run.nav))


def excess_of(run: Run) -> Series:
    """Return the excess returns of a run over the risk-free rate, if there is one."""
    rates = run.dataset.risk_free
    if rates is None:
        return run.returns
    start, end = run.window.resolve(run.dataset, run.lookback)
    return run.returns - rates[start + 1 : end]


def moments_of(excess: Series) -> Moments | None:
    """Return the moments of excess returns, None if they are constant."""
    try:
        return Moments.of(excess)
    except OpenOutcryError:
        return None


def _depth(nav: Series) -> float:
    # A journal would record -0.0 as another number.
    return abs(float(np.min(native.drawdowns(np.ascontiguousarray(nav)))))
