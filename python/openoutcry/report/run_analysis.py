"""Analysis of a run for its page: benchmark, factors, groups, trades, bands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from openoutcry.agents import buy_and_hold
from openoutcry.arguments import seed_of
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.report.tables.benchmark_tables import band_tables, benchmark_table, factor_table
from openoutcry.report.tables.return_tables import (
    N_DRAWDOWNS,
    Side,
    drawdown_table,
    month_table,
    period_table,
    risk_table,
    trailing_table,
    year_table,
)
from openoutcry.report.tables.trade_tables import trade_tables
from openoutcry.report.views.analysis_view import Analysis, BandsView
from openoutcry.report.views.run_view import RunView
from openoutcry.report.views.table_view import Column, Table
from openoutcry.report.views.view_checks import Floats
from openoutcry.scoring.aligned_returns import benchmark_returns, factor_returns
from openoutcry.scoring.benchmark_comparison import (
    risk_free_of,
    rolling_beta,
    rolling_sortino,
    rolling_volatility,
    summary_of,
    window_of,
)
from openoutcry.scoring.drawdown_periods import drawdowns_of
from openoutcry.scoring.factor_regression import explain
from openoutcry.scoring.group_exposure import GroupExposure, group_exposure, groups_of
from openoutcry.scoring.period_returns import period_returns
from openoutcry.scoring.return_bands import Bands, bands_of
from openoutcry.scoring.statistic_values import Statistics
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["AnalysisInputs", "Benchmark", "analysis_of", "benchmark_of", "group_exposures", "resolved_benchmark"]


@dataclass(frozen=True)
class AnalysisInputs:
    """What a user gives to compare a run with.

    Attributes:
        benchmark: As in `aligned_returns.benchmark_returns`; None for buy-and-hold.
        factors: As in `aligned_returns.factor_returns`; None for no regression.
        groups: As in `group_exposure.groups_of`; None for no groups.
        seed: Seed of the Monte Carlo bands.
    """

    benchmark: Any = None
    factors: Any = None
    groups: Any = None
    seed: int = 0


@dataclass(frozen=True)
class Benchmark:
    """A benchmark on the bars of a run.

    Attributes:
        name: Its name.
        nav: Shape `(n_bars,)`, float64; 1 at the first bar.
        returns: Shape `(n_bars - 1,)`, float64.
        run: Its run, for buy-and-hold; None for given returns.
    """

    name: str
    nav: Floats
    returns: Floats
    run: Run | None = None


def benchmark_of(run: Run) -> Run:
    """Return buy-and-hold on the market, window and rules of a run."""
    window = (run.window.start, run.window.end)
    return run_backtest(
        run.dataset, buy_and_hold(), window, run.cost_model, run.limits, run.seed, lookback=run.lookback
    )


def resolved_benchmark(run: Run, given: Any) -> Benchmark:
    """Return a given benchmark on the bars of a run; None is buy-and-hold."""
    if given is None:
        held = benchmark_of(run)
        return Benchmark(held.name, held.nav, held.returns, held)
    name, returns = benchmark_returns(given, run)
    return Benchmark(name, np.concatenate([[1.0], np.cumprod(1.0 + returns)]), returns)


def series_view(run: Run, benchmark: Benchmark) -> RunView:
    """Return the view of a benchmark that is a series of returns, without trades."""
    rate = risk_free_of(run.returns, run._excess)
    found = summary_of(benchmark.returns, run.dataset.periods_per_year, rate)
    measured = {name: value for name, value in found.values.items() if name not in _OF_TRADES}
    return RunView(
        name=benchmark.name,
        dataset=run.dataset.name,
        window=f"{run._dates[0]} .. {run._dates[-1]}",
        dates=run._dates,
        nav=benchmark.nav,
        symbols=(),
        weights=np.zeros((len(run._dates), 0)),
        costs={},
        delayed_nav=None,
        metrics=measured,
        reasons={name: reason for name, reason in found.undefined.items() if name in measured}
        | dict.fromkeys(_OF_TRADES, "returns have no trades"),
        periods_per_year=run.dataset.periods_per_year,
    )


_OF_TRADES = ("turnover", "cost", "exposure", "net_exposure", "delayed_sharpe")


MOST_TRADES = 1000
"""Rows of the table of trades of a page: fewer may be linked, more are too large for a link."""


def analysis_of(run: Run, inputs: AnalysisInputs, benchmark: Benchmark, *, whole: bool = False) -> Analysis:
    """Return the tables and series of a run.

    The tables of trades and drawdowns have the rows of a page, or all of them if `whole`.
    """
    other = None if np.array_equal(benchmark.nav, run.nav) else benchmark
    named = None if other is None else (other.name, other.nav)
    dates, nav, periods = run._dates, run.nav, run.dataset.periods_per_year
    rate = risk_free_of(run.returns, run._excess)
    sides = [_side(Benchmark(run.name, nav, run.returns, run), periods, rate)]
    sides += [] if other is None else [_side(other, periods, rate)]
    tables = [year_table(dates, nav, named), month_table(dates, nav, named), period_table(dates, nav)]
    tables += [
        trailing_table(dates, nav, named, periods),
        risk_table(dates, sides, periods, rate),
        drawdown_table(dates, sides[0].fallen, None if whole else N_DRAWDOWNS),
    ]
    notes: dict[str, list[str]] = {"benchmark": _method(run, benchmark, rate)}
    if other is not None:
        tables.insert(0, benchmark_table(other.name, run.returns, other.returns, periods, rate))
    tables += trade_tables(run, None if whole else MOST_TRADES)
    if inputs.factors is not None:
        found = explain(run._excess, factor_returns(inputs.factors, run))
        tables.append(factor_table(found, periods))
        explained = "undefined" if found.r_squared is None else f"{found.r_squared:.3f}"
        adjusted = "" if found.adjusted_r_squared is None else f", adjusted {found.adjusted_r_squared:.3f}"
        notes["factors"] = [
            f"R squared {explained}{adjusted}; {counted(found.n_returns, 'return')};"
            f" HAC errors over {counted(found.lags, 'lag')}."
            " The factors are used as given; the run's returns are less the risk-free rate, if the dataset has one."
        ]
    exposures = group_exposures(run, inputs.groups)
    tables += [_group_table(exposures)] if exposures else []
    bands = bands_of(run.returns, periods, seed_of(inputs.seed))
    notes["bands"] = [f"No bands: {bands}."] if isinstance(bands, str) else []
    tables += [] if isinstance(bands, str) else band_tables(bands)
    analysis = Analysis({table.name: table for table in tables}, notes)
    analysis = _with_rolling(analysis, run, other, rate)
    yearly = {} if other is None else period_returns(dates, other.nav, "year")
    return replace(
        analysis,
        alpha=_alpha(analysis.tables.get("benchmark")),
        groups={each.name: each.net for each in exposures},
        years={year: (value, yearly.get(year)) for year, value in period_returns(dates, nav, "year").items()},
        months=list(period_returns(dates, nav, "month").values()),
        bands=None if isinstance(bands, str) else _bands_view(run, bands),
    )


def _side(of: Benchmark, periods: float | None, rate: Floats | None) -> Side:
    """Return a run, or a benchmark, for the table of its risk."""
    if of.run is None:
        summary, in_market = summary_of(of.returns, periods, rate), None
    else:
        summary, in_market = Statistics(of.run.metrics, of.run.undefined), of.run._core.time_in_market
    return Side(of.name, of.nav, of.returns, drawdowns_of(of.nav), summary, in_market)


def _alpha(table: Table | None) -> tuple[float, float] | None:
    found = {} if table is None else {row[0]: row[2] for row in table.rows}
    alpha, error = found.get("alpha"), found.get("alpha_hac_error")
    return (alpha, error) if isinstance(alpha, float) and isinstance(error, float) else None


def _method(run: Run, benchmark: Benchmark, rate: Floats | None) -> list[str]:
    if np.array_equal(benchmark.nav, run.nav):
        if benchmark.run is not None and benchmark.name == run.name:
            return ["The run is buy-and-hold, which is its own benchmark."]
        flat = ", which is constant" if (run.nav == run.nav[0]).all() else ""
        return [f"The run has the NAV of {benchmark.name} at each bar{flat}, so it is not compared with it."]
    cash = "" if rate is None else " of returns less the risk-free rate"
    fills = "after the run's costs" if benchmark.run is not None else "without costs"
    return [f"Ordinary least squares{cash}, per bar, against {benchmark.name} {fills}; alpha is not compounded."]


def _with_rolling(analysis: Analysis, run: Run, other: Benchmark | None, rate: Floats | None) -> Analysis:
    periods = run.dataset.periods_per_year
    n_window = window_of(len(run.returns), periods)
    if n_window is None or periods is None:
        return analysis
    volatility = np.concatenate([[np.nan], rolling_volatility(run.returns, n_window, periods)])
    beta = None
    if other is not None:
        own, held = (each if rate is None else each - rate for each in (run.returns, other.returns))
        beta = np.concatenate([[np.nan], rolling_beta(own, held, n_window).beta])
    sortino = np.concatenate([[np.nan], rolling_sortino(run._excess, n_window, periods)])
    return replace(
        analysis, n_window=n_window, rolling_volatility=volatility, rolling_sortino=sortino, rolling_beta=beta
    )


def group_exposures(run: Run, groups: Any) -> list[GroupExposure]:
    """Return the exposure of a run by group; empty without groups."""
    if groups is None:
        return []
    return group_exposure(run.weights, run.dataset.symbols, groups_of(groups, run.dataset.symbols))


def _group_table(exposures: list[GroupExposure]) -> Table:
    columns = (
        *(Column("group", "Group"), Column("n_symbols", "Symbols", "count")),
        *(Column("mean_gross", "Mean gross", "share"), Column("mean_net", "Mean net", "rate")),
        *(Column("max_gross", "Max gross", "share"), Column("last_net", "Last net", "rate")),
    )
    rows = tuple(
        (
            each.name,
            each.n_symbols,
            float(each.gross[1:].mean()),
            float(each.net[1:].mean()),
            float(each.gross.max()),
            float(each.net[-1]),
        )
        for each in exposures
    )
    return Table("groups", "Exposure by group, means over the bars after the first", columns, rows)


def _bands_view(run: Run, bands: Bands) -> BandsView:
    cells = (
        f" Blocks consist of whole cells of about {bands.cell:,.1f} bars; drawdowns are those of all bars."
        if bands.cell > 1.0
        else ""
    )
    sentence = (
        f"{bands.n_paths:,} paths of the run's own returns, in random blocks of {bands.block_length:.1f} bars on"
        f" average (stationary bootstrap, seed {bands.seed}).{cells} Bands from 5% to 95% and from 25% to 75%; they"
        " assume that the returns are a fair sample of the future, and are no test of skill."
    )
    return BandsView([run._dates[bar] for bar in bands.bars.tolist()], bands.nav, sentence)
