"""What a trial did out of sample, and, apart from it, in sample.

A selector is handed an `OosScore`, which has no field of what happened in sample: what was fitted cannot choose.
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
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.scoring.skill import Moments

Series = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FoldScore:
    """The test of one fold.

    Attributes:
        first: Date of its first bar.
        last: Date of its last bar.
        sharpe: Sharpe ratio a year; None if undefined.
        return_: Return over the fold.
        max_drawdown: Deepest fall below the highest NAV, from 0 to 1.
        profit_factor: Profits over losses of closed trades; None without a loss.
        n_trades: Closed trades.
        has_no_loss: Whether none of them lost.
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
    """The training of one fold: recorded, and no criterion of what is chosen.

    Attributes:
        sharpe: Sharpe ratio a year; None if undefined.
        max_drawdown: Deepest fall below the highest NAV, from 0 to 1.
    """

    sharpe: float | None
    max_drawdown: float | None


@dataclass(frozen=True)
class OosScore:
    """All folds' tests as one track: their returns one after another, each once.

    Attributes:
        sharpe: Sharpe ratio a year of the stitched returns; None if undefined.
        max_drawdown: Deepest fall of the stitched track, from 0 to 1.
        return_: Return of the stitched track.
        folds: Each fold's test.
        moments: Of the stitched excess returns, per bar; None if undefined.
        returns: Stitched excess returns, shape `(n_returns,)`.
        nav: Stitched NAV, shape `(n_returns + 1,)`, 1 at first.
        dates: Date of each return.
        profits: Profit of each closed trade, in units of a fold's starting NAV.
    """

    sharpe: float | None
    max_drawdown: float
    return_: float
    folds: tuple[FoldScore, ...]
    moments: Moments | None
    returns: Series = field(compare=False, repr=False)
    nav: Series = field(compare=False, repr=False)
    dates: tuple[str, ...] = field(compare=False, repr=False)
    profits: tuple[float, ...] = field(default=(), compare=False, repr=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the returns' bytes, in hex."""
        return hashlib.sha256(np.ascontiguousarray(self.returns, dtype="<f8").tobytes()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the score as plain values; the returns by their digest."""
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
    """Return the score of the tests of all folds, in order."""
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
        profits=tuple(trade.profit for each in traded for trade in each.trades),
    )


def fold_of(run: Run, trades: Trades) -> FoldScore:
    """Return the score of the test of one fold, whose trades are these."""
    return FoldScore(
        first=run.dates[0],
        last=run.dates[-1],
        sharpe=run.metrics["sharpe"],
        return_=float(run.nav[-1] - 1.0),
        max_drawdown=_depth(run.nav),
        profit_factor=trades.profit_factor,
        n_trades=trades.n_trades,
        has_no_loss=all(trade.profit >= 0.0 for trade in trades.trades),
    )


def in_sample_of(run: Run) -> InSample:
    """Return what a run did in sample."""
    return InSample(run.metrics["sharpe"], _depth(run.nav))


def excess_of(run: Run) -> Series:
    """Return the returns of a run over the risk-free rate, where the market has one."""
    rates = run.dataset.risk_free
    if rates is None:
        return run.returns
    start, end = run.window.resolve(run.dataset, run.lookback)
    return run.returns - rates[start + 1 : end]


def moments_of(excess: Series) -> Moments | None:
    """Return the moments of returns, None where they do not vary."""
    try:
        return Moments.of(excess)
    except OpenOutcryError:
        return None


def _depth(nav: Series) -> float:
    # -0.0 would be another number in a journal.
    return abs(float(np.min(native.drawdowns(np.ascontiguousarray(nav)))))
