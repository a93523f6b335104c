"""Backtest of an agent or of weights over a window, and its result."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.agents import Agent, TextAgent
from openoutcry.arguments import checked_text
from openoutcry.backtest.conditional_weights import ConditionalWeights, OrderConditions
from openoutcry.backtest.decision_makers import decision_maker_of, definition_of, is_weights
from openoutcry.backtest.execution import executed
from openoutcry.backtest.fill_columns import FillColumns, fill_columns
from openoutcry.backtest.fill_gross import max_gross_at_fill
from openoutcry.backtest.run_caveats import caveats_of_run
from openoutcry.backtest.run_columns import run_columns
from openoutcry.backtest.run_copies import CopiedByReference
from openoutcry.backtest.settings import settings_of
from openoutcry.backtest.strategies import Strategy
from openoutcry.backtest.strategies.candidate_file import CandidateFile
from openoutcry.data.columns import all_frozen, frozen, periods_text
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window, weights_window
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.line_sink import LineSink
from openoutcry.records.run_record import RunRecord

if TYPE_CHECKING:
    from openoutcry.report.run_report import Picture

Series = npt.NDArray[np.float64]


def run_backtest(
    dataset: Dataset,
    agent_or_weights: Agent | TextAgent | Strategy | str | npt.ArrayLike,
    window: Window | tuple[Edge, Edge] | str | None = None,
    costs: CostModel | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    *,
    lookback: int = native.DEFAULT_LOOKBACK,
    name: str = "",
    fill_key: bytes | None = None,
    capture: bool | LineSink = False,
    limit_price: npt.ArrayLike | None = None,
    stop_price: npt.ArrayLike | None = None,
    stop_loss: npt.ArrayLike | None = None,
    take_profit: npt.ArrayLike | None = None,
    at: npt.ArrayLike = "open",
) -> Run:
    """Run an agent or target weights over a window of a market.

    Args:
        dataset: The market.
        agent_or_weights: A callable from observation to decision; the name of a baseline; a `Strategy`, or a text such
            as `trend:fast=20,slow=100`; a candidate's file; or an array of target weights: shape `(n_bars, n_symbols)`,
            fractions of NAV. Row k is decided at the close of bar k; NaN holds; rows outside the window are ignored.
        window: Bars or dates `[start, end)`; by default all bars for an array.
        costs: Cost model; None for the defaults of `CostModel`.
        limits: Limits on decisions; None for the defaults of `Limits`.
        seed: Key of the slippage noise, which matters only if `slippage_jitter` is above 0, and of the baseline
            `random` if it is given by name.
        lookback: Maximum number of closes per symbol in an observation. A strategy that needs more gets them.
        name: Name of the run in reports.
        fill_key: 32 secret bytes that key the slippage noise in place of `seed`; a record holds only their commitment.
        capture: True for a run with a `record`. A `RecordWriter` also writes it to its file, as the agent decides.
        limit_price: With weights: highest price of a purchase, lowest price of a sale. Like the next three, an array
            of the shape of the weights, NaN for none, on the share basis of the close of its row; it lasts one bar.
        stop_price: Price that makes an order active: at or above it for a purchase, at or below it for a sale.
        stop_loss: Price at which the position is closed at a loss during the next bar, also where the weight is NaN.
        take_profit: Price at which the position is closed at a profit.
        at: `"open"` or `"close"` of the next bar, for all orders or as an array of texts.

    Returns:
        The run: NAV, weights, trades, costs, events and metrics.

    Raises:
        OpenOutcryError: the window, a weight or a decision is invalid; the message names its place.
        Exception: an exception of the agent passes unchanged, with a note of the bar and date of the decision.
    """
    conditions = OrderConditions(limit_price, stop_price, stop_loss, take_profit, at)
    if is_table := is_weights(agent_or_weights):
        window = weights_window(window)
    elif given := conditions.given():
        wanted = f"`{given[0]}` needs an array of weights; an agent states it in its decisions"
        raise refusal("argument_invalid", f"{wanted}; received {agent_or_weights!r}")
    maker = decision_maker_of(agent_or_weights, seed, lookback)
    settings = settings_of(dataset, window, (costs, limits), seed, maker.lookback, fill_key)
    name = checked_text("name", name or maker.name)
    decides = maker.input_over(dataset, settings["window"])
    decides = ConditionalWeights(decides, conditions) if conditions.given() else decides
    finished = executed(dataset, decides, settings, name, capture)
    done = Run(dataset, finished.core, settings, name, finished.record, finished.faults)
    done._strategy, done._candidate, done._is_table = definition_of(maker.agent), maker.candidate, is_table
    return done


class Run(CopiedByReference):
    """A finished backtest.

    A run stores its decisions and NAV. Positions, weights and trades are recomputed from the decisions on first access,
    and checked against the NAV. Arrays are read-only.
    """

    def __init__(
        self,
        dataset: Dataset,
        core: native.Run,
        settings: native.Settings,
        name: str,
        record: RunRecord | None = None,
        faults: Mapping[int, str] | None = None,
    ) -> None:
        self._core = core
        self._faults = faults
        self._settings = settings
        self._record = record
        self._strategy: Mapping[str, Any] | None = None
        self._candidate: CandidateFile | None = None
        self._is_table = False
        self.dataset = dataset
        self.name = name

    @property
    def record(self) -> RunRecord:
        """Observations and decisions of the run, bound by a hash chain.

        Raises:
            OpenOutcryError: the run was not made with `capture=True`.
        """
        if self._record is None:
            raise refusal("argument_invalid", "`record` needs a run with `capture=True`; received a run without")
        return self._record

    @property
    def strategy(self) -> Mapping[str, Any] | None:
        """Name and all parameters of a strategy of the library; None for other agents."""
        return self._strategy

    @property
    def window(self) -> Window:
        """Bars `[start, end)` of the run."""
        return Window(*self._settings["window"])

    @property
    def cost_model(self) -> CostModel:
        """Costs of the run."""
        return self._settings["costs"]

    @property
    def limits(self) -> Limits:
        """Limits of the run."""
        return self._settings["limits"]

    @property
    def seed(self) -> int:
        """Key of the slippage noise, unless the run has a `fill_key`."""
        return self._settings["seed"]

    @property
    def lookback(self) -> int:
        """Maximum number of closes per symbol in an observation."""
        return self._settings["lookback"]

    @property
    def dates(self) -> tuple[str, ...]:
        """Dates of the window's bars."""
        start, end = self._settings["window"]
        return self.dataset.dates[start:end]

    @property
    def _dates(self) -> native.Dates:
        """The same dates, without a text per bar."""
        start, end = self._settings["window"]
        return self.dataset._core.dates[start:end]

    @cached_property
    def nav(self) -> Series:
        """NAV at the close of each bar of the window, shape `(n_bars,)`; 1 at the first."""
        return frozen(self._core.nav)

    @cached_property
    def returns(self) -> Series:
        """Simple return of each bar, 0 after an early end, shape `(n_bars - 1,)`."""
        return frozen(self._core.returns)

    @cached_property
    def _excess(self) -> Series:
        """Return of each bar less the risk-free one, if the dataset has one."""
        return self.returns if self.dataset.risk_free is None else frozen(self._core.excess)

    @cached_property
    def decisions(self) -> Series:
        """Target weights of each decision, shape `(n_bars - 1, n_symbols)`; NaN is a hold."""
        return frozen(self._core.decisions)

    @cached_property
    def weights(self) -> Series:
        """Weights of the positions at each close, signed fractions of NAV.

        Shape `(n_bars, n_symbols)`; 0 at the first close, before any fill.
        """
        return frozen(self._core.weights())

    @cached_property
    def trades(self) -> dict[str, npt.NDArray[Any]]:
        """Fills as columns `date, bar, symbol, shares, price`, exits included.

        They are ordered by bar, phase of the bar, and symbol. Shares are signed, for a starting NAV of 1. The price
        includes slippage and impact.
        """
        return all_frozen(fill_columns(self._fills, self.dataset))

    @cached_property
    def _fills(self) -> FillColumns:
        """Bar, symbol, shares and price of each fill."""
        bars, symbols, shares, prices = self._core.fills()
        return frozen(bars), frozen(symbols), frozen(shares), frozen(prices)

    @cached_property
    def max_gross_at_fill(self) -> float:
        """Largest gross exposure just after fills at the open; 0 without a fill.

        It may be above `max_gross`, because the close sizes an order that the next open fills.
        """
        return max_gross_at_fill(self)

    def _replay(self) -> None:
        """Compute weights, fills, costs and gains at once, for callers that need them all."""
        if not {"weights", "_fills"} <= self.__dict__.keys():
            weights, fills = self._core.positions()
            self.__dict__ |= {"weights": frozen(weights), "_fills": tuple(map(frozen, fills))}

    @cached_property
    def costs(self) -> dict[str, Series]:
        """Costs per decision by kind in units of the starting NAV, `(n_bars - 1,)` each."""
        return all_frozen(self._core.costs)

    @cached_property
    def gains(self) -> dict[str, Series]:
        """Gains other than price changes per decision, in units of the starting NAV.

        Keys: `interest`, `dividends`, `settlement`, `shortfall`; shape `(n_bars - 1,)` each.
        """
        return all_frozen(self._core.gains)

    @cached_property
    def turnover(self) -> Series:
        """Notional traded over NAV per decision, shape `(n_bars - 1,)`; buys plus sells."""
        return frozen(self._core.turnover)

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """Events other than fills of orders, in chronological order.

        An event has `slug`, `decision`, `bar` and the fields that the contract lists, such as `symbol` and `reason`.
        """
        return self._core.events()

    @cached_property
    def event_counts(self) -> dict[str, int]:
        """Number of events by slug, fills first.

        Slugs without an event are absent, except `filled`.
        """
        counts = Counter(event["slug"] for event in self.events)
        return {"filled": len(self._fills[0]) - counts["exited"], **dict(sorted(counts.items()))}

    @cached_property
    def faults(self) -> dict[int, str]:
        """Slug of the fault by decision; a decision with a fault is a hold.

        Only agents in other processes or on servers have faults: an exception in this process ends the run.
        """
        return self._record.faults[0] if self._record is not None else dict(self._faults or {})

    @property
    def terminated_at(self) -> int | None:
        """Decision that ended in ruin or liquidation, or None; NAV is constant after it."""
        return self._core.terminated_at

    @cached_property
    def ending(self) -> str:
        """How the account ended, `ruined on DATE` or `liquidated on DATE`; else empty."""
        if self.terminated_at is None:
            return ""
        is_ruined = any(event["slug"] == "ruined" for event in self.events)
        return f"{'ruined' if is_ruined else 'liquidated'} on {self._dates[self.terminated_at + 1]}"

    @cached_property
    def metrics(self) -> dict[str, float | None]:
        """Statistics of the run; None if undefined, with the reason in `undefined`."""
        return self._summary[0]

    def metric(self, name: str) -> float | None:
        """Return one of the `metrics`; only what it needs is computed.

        Raises:
            OpenOutcryError: `argument_invalid`: no metric has that name.
        """
        known = self.__dict__.get("metrics", {})
        return known[name] if name in known else self._core.metric(name)

    @cached_property
    def undefined(self) -> dict[str, str]:
        """Reason by name of each metric that is None."""
        return self._summary[1]

    @cached_property
    def _summary(self) -> tuple[dict[str, float | None], dict[str, str]]:
        return self._core.metrics()

    @cached_property
    def caveats(self) -> dict[str, str]:
        """Reason by name of each metric whose value does not measure the agent.

        A Sharpe ratio of constant returns, such as those of cash, measures the risk-free rate. If no order filled, or
        more than 10 % of the orders failed, `return` comes first; a condition that was not met is no failure. `cagr`
        names missing bars, `stops_at_price` stops that filled inside a bar although `stop_gap` is 0, and
        `max_gross_at_fill` an exposure above `max_gross` by more than 1 %.
        """
        return caveats_of_run(self, self._settings["window"])

    def delayed(self) -> Run:
        """Return the run of the same decisions, executed one bar later."""
        return Run(self.dataset, self._core.delayed(), self._settings, f"{self.name}, one bar late")

    def to_frame(self) -> Any:
        """Return NAV, return, turnover, costs and weights per bar as a data frame."""
        from openoutcry.data import dataframes

        return dataframes.frame_of(self.dates, run_columns(self))

    def plot(self) -> Picture:
        """Return a chart of NAV and drawdown, with buy-and-hold as benchmark.

        Notebooks display the chart; `.save("run.svg")` writes it to a file.
        """
        from openoutcry.report.run_report import picture_of

        return picture_of(self)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        record: str | os.PathLike[str] | None = None,
        data: str = "",
        n_trials: int = 1,
        benchmark: Any = None,
        factors: Any = None,
        groups: Any = None,
        seed: int = 0,
    ) -> str:
        """Write the report of this run to one HTML file and return its path.

        If the run has a record, the page shows every decision, its stated confidence and the digest of the record.

        Args:
            path: File to write.
            record: File of `run.record`; the page then states the command that verifies it.
            data: Value of `openoutcry replay --data` for the market; not needed for a bundled one.
            n_trials: Number of trials that this run was selected from, including itself; deflates its Sharpe ratio.
            benchmark: A symbol of the market, a `Dataset` of one symbol, a file, or returns: a series with dates, or an
                array with one return per bar after the first. By default buy-and-hold.
            factors: Returns to regress on: a data frame with dates, a mapping of name to returns, or a file.
            groups: Group of each symbol, such as a sector: a mapping, or a CSV file with `symbol` and `group`.
            seed: Seed of the resampled returns.
        """
        from openoutcry.report.run_report import AnalysisInputs, Origin, write_run_report

        inputs = AnalysisInputs(benchmark, factors, groups, seed)
        return write_run_report(self, path, n_trials, Origin(record=record, source=data), inputs)

    def tables(
        self, *, n_trials: int = 1, benchmark: Any = None, factors: Any = None, groups: Any = None, seed: int = 0
    ) -> dict[str, Any]:
        """Return every table of the report by name, as pandas frames, or polars.

        The arguments are those of `report`. `openoutcry report --tables` writes them to files.
        """
        from openoutcry.report.run_report import AnalysisInputs, table_frames

        return table_frames(self, n_trials, AnalysisInputs(benchmark, factors, groups, seed))

    def __repr__(self) -> str:
        outcome = ", ".join(filter(None, (self.ending, f"{self.nav[-1] - 1.0:+.2%}")))
        span = f"{self._dates[0]} .. {self._dates[-1]}, {periods_text(self.dataset.periods_per_year)}"
        return native.readable_text(f"Run({self.name!r} on {self.dataset.name!r}, {span}, {outcome})")
