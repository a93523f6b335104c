"""Backtests: an agent or weights over a window, and the run that comes out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.agents import Agent, Baseline, TextAgent
from openoutcry.agents.agent_call import ask
from openoutcry.arguments import is_truth, whole
from openoutcry.backtest.settings import settings_of
from openoutcry.backtest.weights import table_of_weights
from openoutcry.data.columns import frozen
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.line_sink import LineSink
from openoutcry.records.run_record import RunRecord

if TYPE_CHECKING:
    from openoutcry.report.run_report import Picture

Series = npt.NDArray[np.float64]

_RISKLESS = "its own returns do not vary, so this measures the risk-free rate and not the agent"


def run_backtest(
    dataset: Dataset,
    agent_or_weights: Agent | TextAgent | str | npt.ArrayLike,
    window: Window | tuple[Edge, Edge] | str | None = None,
    costs: CostModel | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    *,
    lookback: int = native.DEFAULT_LOOKBACK,
    name: str = "",
    fill_key: bytes | None = None,
    capture: bool | LineSink = False,
) -> Run:
    """Run decisions over a window of a market and return what became of them.

    Args:
        dataset: The market.
        agent_or_weights: A callable from observation to decision, the name of a baseline, or an array of target
            weights: shape `(n_bars, n_symbols)`, signed fractions of NAV, row k decided at the close of bar k, NaN
            holds; rows outside the window are ignored.
        window: Bars or dates `[start, end)`.
        costs: What trading costs; None for the defaults of `CostModel`.
        limits: What a decision may ask for; None for the defaults of `Limits`.
        seed: Key of the slippage noise, which matters only where `slippage_jitter` is above 0, and of the baseline
            `random` where that is given by name.
        lookback: Closes an observation shows of a symbol at most.
        name: What reports call the run.
        fill_key: 32 secret bytes that key the slippage noise in place of `seed`; a record holds their commitment alone.
        capture: True for a run with a `record`; a writer also writes it to its file, a callable's decisions one by one.

    Raises:
        OpenOutcryError: the window, a weight or a decision cannot be used; the message says where.
        Exception: what an agent raises passes as it is, with a note of the bar and date that it was asked about.
    """
    settings = settings_of(dataset, window, (costs, limits), seed, lookback, fill_key)
    agent = Baseline(agent_or_weights, settings["seed"]) if isinstance(agent_or_weights, str) else agent_or_weights
    name = name or name_of(agent)
    writer = capture if isinstance(capture, LineSink) else None
    if not is_truth(capture) and writer is None:
        raise refusal("argument_invalid", f"`capture` must be True, False or a RecordWriter; received {capture!r}")
    if not is_truth(capture) or capture:
        return _captured(dataset, agent, settings, name, writer)
    if isinstance(agent, Baseline):
        core = native.run_agent(dataset._core, agent._core, settings)
    elif isinstance(agent, TextAgent):
        # Its answers may have faults, which only a record holds.
        done = _captured(dataset, agent, settings, name, None)
        return Run(dataset, done._core, settings, name, faults=done.faults)
    elif callable(agent):
        start = settings["window"][0]
        core = ask(dataset, start, agent, lambda decide: native.run_callable(dataset._core, decide, settings))
    else:
        core = native.run_weights(dataset._core, table_of_weights(dataset, agent), settings)
    return Run(dataset, core, settings, name)


def name_of(agent: Any) -> str:
    """Return what an agent is called that was given no name."""
    if isinstance(agent, str):
        return agent
    if isinstance(agent, Baseline):
        return agent.name
    return str(getattr(agent, "__name__", type(agent).__name__)) if callable(agent) else "weights"


def _captured(dataset: Dataset, agent: Any, settings: native.Settings, name: str, writer: LineSink | None) -> Run:
    market, commitment = dataset._known()
    harness = agent.harness if isinstance(agent, TextAgent) else None
    names: native.Names = {"market": market, "agent_id": name, "commitment": commitment, "harness": harness}
    if isinstance(agent, TextAgent) or (callable(agent) and not isinstance(agent, Baseline)):
        tell, start = None if writer is None else writer.tell, settings["window"][0]
        core, record = ask(
            dataset, start, agent, lambda decide: native.capture_callable(dataset._core, decide, settings, names, tell)
        )
        if writer is not None:
            writer.told(record)
        return Run(dataset, core, settings, name, RunRecord(record))
    if isinstance(agent, Baseline):
        core, record = native.capture_agent(dataset._core, agent._core, settings, names)
    else:
        core, record = native.capture_weights(dataset._core, table_of_weights(dataset, agent), settings, names)
    if writer is not None:
        writer.add(RunRecord(record))
    return Run(dataset, core, settings, name, RunRecord(record))


def _frozen(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    return {name: frozen(values) for name, values in arrays.items()}


class Run:
    """A finished backtest.

    Its decisions are kept; positions, weights and trades are recomputed from them when asked for, and checked against
    the NAV on the way. Its arrays are read-only.
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
        self.dataset = dataset
        self.name = name

    @property
    def record(self) -> RunRecord:
        """What the agent was told and decided, bound by a chain of hashes.

        Raises:
            OpenOutcryError: the run was not made with `capture=True`.
        """
        if self._record is None:
            raise refusal(
                "argument_invalid", "`record` must be of a run made with `capture=True`; received one without"
            )
        return self._record

    @property
    def window(self) -> Window:
        """The bars of the run."""
        return Window(*self._settings["window"])

    @property
    def cost_model(self) -> CostModel:
        """What trading cost."""
        return self._settings["costs"]

    @property
    def limits(self) -> Limits:
        """What a decision could ask for."""
        return self._settings["limits"]

    @property
    def seed(self) -> int:
        """Key of the slippage noise, unless it had a `fill_key`."""
        return self._settings["seed"]

    @property
    def lookback(self) -> int:
        """Closes an observation showed of a symbol at most."""
        return self._settings["lookback"]

    @property
    def dates(self) -> tuple[str, ...]:
        """Dates of the window's bars."""
        start, end = self._settings["window"]
        return self.dataset.dates[start:end]

    @cached_property
    def nav(self) -> Series:
        """NAV at the close of each bar of the window, shape `(n_bars,)`; 1 at the first."""
        return frozen(self._core.nav)

    @cached_property
    def returns(self) -> Series:
        """Simple return of each bar after the first, shape `(n_bars - 1,)`.

        0 once the account is gone.
        """
        return frozen(self._core.returns)

    @cached_property
    def decisions(self) -> Series:
        """Target weights as decided, shape `(n_bars - 1, n_symbols)`; NaN is a hold."""
        return frozen(self._core.decisions)

    @cached_property
    def weights(self) -> Series:
        """Weights held at each close, signed fractions of NAV.

        Shape `(n_bars, n_symbols)`; 0 at the first close, at which nothing can be held yet.
        """
        return frozen(self._core.weights())

    @cached_property
    def trades(self) -> dict[str, npt.NDArray[Any]]:
        """Fills as columns `date, bar, symbol, shares, price`.

        In the order of bars and symbols. Shares are signed and per NAV of 1; the price includes slippage and impact.
        """
        fills = self._core.fills()
        columns = list(zip(*fills, strict=True)) or [()] * 4
        bars, symbols = (np.asarray(column, dtype=np.int64) for column in columns[:2])
        trades = {
            "date": np.asarray(self.dataset.dates)[bars],
            "bar": bars,
            "symbol": np.asarray(self.dataset.symbols)[symbols],
            "shares": np.asarray(columns[2], dtype=np.float64),
            "price": np.asarray(columns[3], dtype=np.float64),
        }
        return _frozen(trades)

    @cached_property
    def costs(self) -> dict[str, Series]:
        """Costs per decision by kind, in units of the starting NAV.

        Each of shape `(n_bars - 1,)`.
        """
        return _frozen(self._core.costs)

    @cached_property
    def gains(self) -> dict[str, Series]:
        """What came in beside prices per decision, in units of the starting NAV.

        Keys: `interest`, `dividends`, `settlement`, `shortfall`; each of shape `(n_bars - 1,)`.
        """
        return _frozen(self._core.gains)

    @cached_property
    def turnover(self) -> Series:
        """Notional traded over NAV per decision, shape `(n_bars - 1,)`; both sides count."""
        return frozen(self._core.turnover)

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """What happened, other than fills, in the order in which it did.

        Each has `slug`, `decision`, `bar` and what the contract lists: `symbol`, `reason`, numbers.
        """
        return self._core.events()

    @cached_property
    def event_counts(self) -> dict[str, int]:
        """How often each kind of event happened, by slug, fills first.

        A kind that did not happen is absent, but for `filled`.
        """
        counts = Counter(event["slug"] for event in self.events)
        return {"filled": len(self._core.fills()), **dict(sorted(counts.items()))}

    @cached_property
    def faults(self) -> dict[int, str]:
        """Why everything was held in place of an answer, as slugs by decision.

        Of an agent in this process there are none: what it raises ends the run.
        """
        return self._record.faults[0] if self._record is not None else dict(self._faults or {})

    @property
    def terminated_at(self) -> int | None:
        """The decision that ended the account, if one did.

        NAV stays as it was from there on.
        """
        return self._core.terminated_at

    @cached_property
    def ending(self) -> str:
        """How the account ended, `ruined on DATE` or `liquidated on DATE`; else empty."""
        if self.terminated_at is None:
            return ""
        is_ruined = any(event["slug"] == "ruined" for event in self.events)
        return f"{'ruined' if is_ruined else 'liquidated'} on {self.dates[self.terminated_at + 1]}"

    @cached_property
    def metrics(self) -> dict[str, float | None]:
        """Statistics of the run; None where one is undefined, and `undefined` says why."""
        return self._core.metrics()[0]

    @cached_property
    def undefined(self) -> dict[str, str]:
        """Why each metric that is None is undefined."""
        return self._core.metrics()[1]

    @cached_property
    def caveats(self) -> dict[str, str]:
        """Why a metric that has a value says nothing of the agent.

        A track without volatility, such as cash, has a Sharpe ratio over a risk-free rate that moves. It is the rate's.
        """
        if not native.is_riskless(self.returns):
            return {}
        return {name: _RISKLESS for name in ("sharpe", "sortino") if self.metrics[name] is not None}

    def __copy__(self) -> Run:
        return Run(self.dataset, self._core, self._settings, self.name, self._record, self._faults)

    def __deepcopy__(self, memo: object) -> Run:
        # The core is frozen; arrays that were handed out are copies of it.
        return self.__copy__()

    def __reduce__(self) -> Any:
        hint = "return `run.nav`, `run.metrics` or `run.to_frame()` from a worker, or its decisions to run them again"
        raise TypeError(f"a Run cannot be pickled: {hint}")

    def delayed(self) -> Run:
        """Return the run of the same decisions carried out one bar later."""
        return Run(self.dataset, self._core.delayed(), self._settings, f"{self.name}, one bar late")

    def to_frame(self) -> Any:
        """Return NAV, return, turnover, costs and weights per bar as a frame.

        It is a pandas frame, or a polars one where pandas is not installed.
        """
        columns = {"nav": self.nav, "return": np.concatenate([[np.nan], self.returns])}
        for kind, values in {"turnover": self.turnover, **self.costs}.items():
            columns[kind] = np.concatenate([[0.0], values])
        for symbol, weights in zip(self.dataset.symbols, self.weights.T, strict=True):
            columns[f"weight_{symbol}"] = weights
        from openoutcry.data import dataframes

        return dataframes.frame_of(self.dates, columns)

    def plot(self) -> Picture:
        """Return a picture of NAV and drawdown beside buy-and-hold.

        Notebooks show it; `.save("run.svg")` writes it.
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
    ) -> str:
        """Write the report of this run to one HTML file and return its path.

        Of a run with a record, the page shows every decision, stated confidence and the record's digest.

        Args:
            path: The page.
            record: File that `run.record` was saved to: the page then names the command that verifies it.
            data: What `openoutcry replay --data` finds the market by; may be left out for a bundled one.
            n_trials: Trials that this run was chosen from, itself among them; they deflate its Sharpe ratio.
        """
        from openoutcry.report.run_report import Origin, write_run_report

        counted = whole("n_trials", n_trials, 1, 2**53)
        return write_run_report(self, path, counted, Origin(record=record, source=data))

    def __repr__(self) -> str:
        told = ", ".join(filter(None, (self.ending, f"{self.nav[-1] - 1.0:+.2%}")))
        return f"Run({self.name!r} on {self.dataset.name!r}, {self.dates[0]} .. {self.dates[-1]}, {told})"
