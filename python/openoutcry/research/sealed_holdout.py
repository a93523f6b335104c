"""The sealed holdout: bars opened once, for a frozen short list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from openoutcry.backtest.run import run_backtest
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.trades import trades_of
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.ledger import Market
from openoutcry.ledger.run_summary import RunMetricsSummary
from openoutcry.openoutcry_py import CostModel, Limits, OpenOutcryError, normal_cdf
from openoutcry.research.proposal_checks import digest_of
from openoutcry.research.selection_luck import autocorrelation_factor
from openoutcry.research.session_config import Split
from openoutcry.research.trial_scores import OosScore, excess_of, fold_of, moments_of
from openoutcry.research.walkforward_folds import closed_out, reserve
from openoutcry.scoring.skill import z_score

LEAST_PSR = 0.8
"""Minimum probabilistic Sharpe ratio in the holdout, against a Sharpe ratio of 0."""
DRAWDOWN_RATIO = 1.5
"""Maximum ratio of the drawdown in the holdout to the out-of-sample drawdown."""


@dataclass(frozen=True)
class Seal:
    """Commitment that is recorded before a holdout is opened.

    Attributes:
        dataset_sha256: Fingerprint of the complete market.
        window: First and last date of the holdout.
        commit: SHA-256 of the frozen short list.
    """

    dataset_sha256: str
    window: tuple[str, str]
    commit: str

    def to_json(self) -> dict[str, Any]:
        """Return the seal as plain values."""
        return {**asdict(self), "window": list(self.window)}


def failed_verdict(key: str, oos: OosScore, n_returns: int, detail: str) -> Verdict:
    """Return the failed verdict of a candidate that raised in the holdout."""
    return Verdict(key, None, None, 0.0, DRAWDOWN_RATIO * oos.max_drawdown, 0.0, n_returns, False, detail)


@dataclass(frozen=True)
class Verdict:
    """Holdout result of a candidate, under a test that is fixed in advance.

    Attributes:
        key: Key of its trial.
        sharpe: Annualised Sharpe ratio; None if undefined.
        psr: Probability that the Sharpe ratio is above 0; None if undefined.
        max_drawdown: Maximum drawdown, from 0 to 1.
        drawdown_limit: Allowed drawdown.
        return_: Return over the holdout.
        n_returns: Number of returns.
        passed: Whether Sharpe ratio, probability and drawdown all passed.
        fault: The exception, if it failed with one.
        summary: The 17 fields of the run ledger, without an ID; None if it failed with an exception.
    """

    key: str
    sharpe: float | None
    psr: float | None
    max_drawdown: float
    drawdown_limit: float
    return_: float
    n_returns: int
    passed: bool
    fault: str = ""
    summary: RunMetricsSummary | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as plain values, without the summary."""
        return {name: value for name, value in asdict(self).items() if name != "summary"}


class HoldoutVault:
    """Loads the holdout on demand, without keeping it in memory.

    Args:
        load: Loads the complete market.
        split: Division of the bars.

    Attributes:
        window: First and last date of the holdout; None without one.
        research_end: Index after the last bar of the research window.
        n_bars: Bars of the complete market.
    """

    def __init__(self, load: Callable[[], Dataset], split: Split) -> None:
        self._load = load
        market = load()
        self.n_bars, n_held = market.n_bars, split.holdout_bars
        self.research_end = reserve(market.n_bars, n_held, split.gap) if n_held else market.n_bars
        self._bars = (market.n_bars - split.holdout_bars, market.n_bars)
        self.fingerprint = market.fingerprint
        self.window = (market.dates[self._bars[0]], market.dates[-1]) if split.holdout_bars else None
        self._token: Seal | None = None
        self._is_open = False

    def research(self) -> Dataset:
        """Return the market up to the end of the research window.

        Its arrays hold no later bar.
        """
        market = self._load()
        self._check(market)
        return market if market.n_bars == self.research_end else market.head(self.research_end)

    def seal(self, shortlist: Sequence[Mapping[str, Any]]) -> Seal:
        """Return the seal of a frozen short list, which opens the holdout once."""
        if self.window is None:
            raise refusal("argument_invalid", "a session with a holdout is required; received one without")
        self._token = Seal(self.fingerprint, self.window, digest_of(list(shortlist)))
        return self._token

    def markets(self) -> tuple[Market, ...]:
        """Return the identities of the complete market and of the bars of the holdout.

        A ledger records them when the holdout is opened. Until then they are only compared: a search over prices
        could invert the hashes.
        """
        market = self._load()
        self._check(market)
        start, end = self._bars
        return tuple(map(Market.of_sealed, (market, market.between(start, end)) if end - start > 1 else (market,)))

    def open(self, seal: Seal) -> Holdout:
        """Load the holdout for the short list of a seal.

        Raises:
            OpenOutcryError: `argument_invalid`: the seal is another one, the market has changed, or the holdout was
                opened before.
        """
        if self._is_open:
            raise refusal("argument_invalid", "a holdout can be opened once; received a second opening")
        if self._token is None or seal != self._token:
            raise refusal("argument_invalid", "the seal of this holdout is required; received another one")
        self._is_open = True
        market = self._load()
        self._check(market)
        return Holdout(market, self._bars)

    def _check(self, market: Dataset) -> None:
        if market.fingerprint != self.fingerprint:
            wanted = f"the market must be the one that the session started with, {self.fingerprint[:16]}"
            raise refusal("argument_invalid", f"{wanted}; received {market.fingerprint[:16]}")


class Holdout:
    """An opened holdout.

    Args:
        market: The complete market.
        bars: Bars of the holdout.
    """

    def __init__(self, market: Dataset, bars: tuple[int, int]) -> None:
        self._market = market
        self._window = bars
        self.n_returns = bars[1] - bars[0] - 1

    def judge(self, key: str, strategy: Strategy, oos: OosScore, rules: tuple[CostModel, Limits]) -> Verdict:
        """Return the holdout result of a candidate.

        Args:
            key: Key of its trial.
            strategy: The strategy; its lookback may reach before the first bar of the holdout.
            oos: Its out-of-sample score, which sets the drawdown limit.
            rules: Trading costs and position limits.
        """
        table = strategy.table(self._market, self._window[0], self._window[1])
        run = run_backtest(self._market, closed_out(table, self._window), self._window, *rules)
        trades = trades_of(run)
        score, excess = fold_of(run, trades), np.ascontiguousarray(excess_of(run))
        moments, psr = moments_of(excess), None
        if moments is not None:
            try:
                psr = normal_cdf(z_score(moments) / autocorrelation_factor(excess))
            except OpenOutcryError:
                psr = None
        limit = DRAWDOWN_RATIO * oos.max_drawdown
        good = score.sharpe is not None and score.sharpe > 0.0 and psr is not None and psr >= LEAST_PSR
        return Verdict(
            key,
            score.sharpe,
            psr,
            score.max_drawdown,
            limit,
            score.return_,
            len(excess),
            good and score.max_drawdown <= limit,
            summary=RunMetricsSummary.of_tests([run], [trades]),
        )
