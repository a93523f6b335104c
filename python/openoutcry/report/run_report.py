"""Charts and report pages of runs, for `Run.plot` and `Run.report`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from openoutcry import data
from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer
from openoutcry.backtest.run import Run
from openoutcry.backtest.run_caveats import fill_caveats, ratio_caveats
from openoutcry.data import dataframes
from openoutcry.data.columns import stated_periods
from openoutcry.data.snapshots import snapshot_files
from openoutcry.report.charts.equity_charts import Line, drawdown_chart, equity_chart
from openoutcry.report.charts.null_fan import fan_places
from openoutcry.report.charts.svg import standalone
from openoutcry.report.fill_metrics import fill_metrics
from openoutcry.report.render import render_run
from openoutcry.report.run_analysis import (
    AnalysisInputs,
    Benchmark,
    analysis_of,
    benchmark_of,
    group_exposures,
    resolved_benchmark,
    series_view,
)
from openoutcry.report.run_orders import orders_of
from openoutcry.report.run_origin import origin_of
from openoutcry.report.run_statistics import calibration_of, rolling_of, skill_of
from openoutcry.report.run_trace import trace_of
from openoutcry.report.tables import file_tables
from openoutcry.report.views.run_view import Provenance, RunView
from openoutcry.report.views.statistics_view import Skill
from openoutcry.report.views.table_view import Table
from openoutcry.scoring.null_agents import MOST_WHOLE, fan_label, n_agents_of, nav_quantiles, nav_quantiles_at
from openoutcry.scoring.statistic_values import Statistics
from openoutcry.untrusted.counted_nouns import counted

__all__ = [
    "AnalysisInputs",
    "Origin",
    "Picture",
    "benchmark_of",
    "benchmark_view",
    "conditions_of",
    "full_view_of",
    "notices_of",
    "page_renderer",
    "picture_of",
    "provenance_of",
    "table_frames",
    "tables_of",
    "versions",
    "view_of",
    "window_of",
    "write_run_report",
]


@dataclass(frozen=True)
class Picture:
    """An SVG chart, displayed by notebooks."""

    svg: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the chart to an SVG file and return its path.

        Raises:
            ValueError: the path does not end in `.svg`.
        """
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise ValueError(f"a path that ends in `.svg` is required; received {os.fspath(path)!r}")
        target.write_text(self.svg, encoding="utf-8")
        return target

    def _repr_svg_(self) -> str:
        return self.svg


def picture_of(run: Run) -> Picture:
    """Return a chart of NAV and drawdown of a run, with buy-and-hold."""
    benchmark = benchmark_of(run)
    lines = [Line(benchmark.name, benchmark._dates, benchmark.nav, "benchmark"), Line(run.name, run._dates, run.nav)]
    return Picture(standalone(equity_chart(lines), drawdown_chart(lines), title=f"{run.name} on {run.dataset.name}"))


def view_of(run: Run) -> RunView:
    """Return the view of a run for boards: no skill statistics, no trace."""
    run._replay()
    delayed = run.delayed()
    ratio, reasons, caveats = _delayed_sharpe(delayed)
    return RunView(
        name=run.name,
        dataset=run.dataset.name,
        window=f"{run._dates[0]} .. {run._dates[-1]}",
        dates=run._dates,
        nav=run.nav,
        symbols=run.dataset.symbols,
        weights=run.weights,
        costs=run.costs,
        delayed_nav=delayed.nav,
        metrics=run.metrics | ratio | fill_metrics(run),
        reasons=run.undefined | reasons,
        periods_per_year=run.dataset.periods_per_year,
        caveats=run.caveats | caveats,
        events=_events(run),
        ending=run.ending,
        gains=run.gains,
        gross=native.gross_exposure(run.weights),
        net=native.net_exposure(run.weights),
    )


def full_view_of(
    run: Run,
    n_trials: int = 1,
    inputs: AnalysisInputs | None = None,
    against: Benchmark | None = None,
    other: RunView | None = None,
) -> RunView:
    """Return the view of a run for its own page.

    It is `view_of` plus statistics, analysis and trace. Trace and calibration require a run with a record
    (`capture=True`).

    Args:
        run: The run.
        n_trials: Trials that it was selected from, including itself.
        inputs: Benchmark, factors, groups and seed.
        against: The resolved benchmark; None to resolve that of `inputs`.
        other: Its view; None to compute it.
    """
    inputs = inputs or AnalysisInputs()
    against = against or resolved_benchmark(run, inputs.benchmark)
    trace = None
    if run._record is not None:
        trace = trace_of(run, run.record.decisions[0], run.record.faults[0])
    view, skill, analysis = view_of(run), skill_of(run, n_trials), analysis_of(run, inputs, against)
    tables = _metric_tables(run, (view, other or benchmark_view(run, against)), skill) | dict(analysis.tables)
    places = fan_places(len(run.nav)) if len(run.nav) > MOST_WHOLE else None
    return replace(
        view,
        fan=nav_quantiles(run) if places is None else nav_quantiles_at(run, places),
        n_fan=0 if places is None else len(places),
        fan_label=fan_label(n_agents_of(run)),
        rolling=rolling_of(run),
        skill=skill,
        calibration=None if trace is None else calibration_of(trace, run.dataset.symbols),
        trace=trace,
        analysis=replace(analysis, tables=tables),
        orders=orders_of(run),
    )


def benchmark_view(run: Run, against: Benchmark) -> RunView:
    """Return the view of a benchmark: NAV and metrics of its run, or of given returns."""
    if against.run is None:
        return series_view(run, against)
    held = against.run
    ratio, reasons, caveats = _delayed_sharpe(held.delayed())
    return RunView(
        name=held.name,
        dataset=held.dataset.name,
        window=f"{held._dates[0]} .. {held._dates[-1]}",
        dates=held._dates,
        nav=held.nav,
        symbols=(),
        weights=np.zeros((len(held.nav), 0)),
        costs={},
        delayed_nav=None,
        metrics=held.metrics | ratio | fill_metrics(run, held),
        reasons=held.undefined | reasons,
        periods_per_year=held.dataset.periods_per_year,
        caveats=held.caveats | caveats,
        ending=held.ending,
    )


def _delayed_sharpe(delayed: Run) -> tuple[dict[str, float | None], dict[str, str], dict[str, str]]:
    """Return the Sharpe ratio of a delayed run, why it is undefined, and its caveat."""
    ratio = delayed.metric("sharpe")
    reasons, caveats = ({} if ratio is not None else delayed.undefined), ratio_caveats(delayed)
    notes = [{"delayed_sharpe": each["sharpe"]} if "sharpe" in each else {} for each in (reasons, caveats)]
    return {"delayed_sharpe": ratio}, notes[0], notes[1]


def _events(run: Run) -> dict[str, dict[str, int]]:
    counts = {"filled": {"": run.event_counts["filled"]}}
    for event in run.events:
        by_reason = counts.setdefault(event["slug"], {})
        reason = event.get("reason", "")
        by_reason[reason] = by_reason.get(reason, 0) + 1
    return counts


@dataclass(frozen=True)
class Origin:
    """Origin of a page and its run.

    Attributes:
        command: Command line that wrote the page; empty if a program did.
        record: File of the run's record; None for none.
        source: Value for `openoutcry replay --data`; empty to use the bundled name of the market.
        digest: Digest of the record in that file; empty to use the digest of the run's own record.
        options: Words of the options that `source` is read with, without `--periods-per-year`.
        notices: What the reader should know about the run, in addition to the caveats of its market.
    """

    command: str = ""
    record: str | os.PathLike[str] | None = None
    source: str = ""
    digest: str = ""
    options: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def provenance_of(run: Run, origin: Origin | None = None) -> Provenance:
    """Return what is needed to repeat a run, and to verify its record if it has one."""
    origin = origin or Origin()
    entries = [("agent", run.name), *origin_of(run), *conditions_of(run), *versions(origin.command)]
    if run._record is None:
        return Provenance(entries)
    return Provenance(entries, verify=_replay_command(run, origin), digest=origin.digest or run.record.digest or "")


def _replay_command(run: Run, origin: Origin) -> str:
    """Return the command that verifies the record of a run.

    Empty if its file or its market is unknown.
    """
    if origin.record is None or not (source := origin.source or _bundled_as(run)):
        return ""
    words = ["openoutcry", "replay", os.fspath(origin.record), "--data", source, *origin.options]
    is_table = source.partition(":")[0] not in data.names() and Path(source).suffix not in snapshot_files.SUFFIXES
    if is_table and run.dataset.periods_per_year != native.inferred_periods_per_year(run.dataset._core.dates):
        words += ["--periods-per-year", f"{stated_periods(run.dataset)!r}"]
    return shlex.join(words)


def _bundled_as(run: Run) -> str:
    """Return the command-line name of the market of a run; empty if it is not bundled."""
    name = run.dataset.name
    if name not in data.names():
        return ""
    markets = {name: None, f"{name}:all": "all", f"{name}:{','.join(run.dataset.symbols)}": run.dataset.symbols}
    matches = (label for label, universe in markets.items() if data.load(name, universe) == run.dataset)
    return next(matches, "")


def conditions_of(run: Run) -> list[tuple[str, str]]:
    """Return the conditions of a run: data, window, costs, limits, lookback, seed."""
    return [
        (
            "dataset",
            f"{run.dataset.name}, {counted(run.dataset.n_bars, 'bar')} x {counted(run.dataset.n_symbols, 'symbol')}",
        ),
        ("dataset fingerprint", run.dataset.fingerprint),
        ("window", window_of(run)),
        ("costs", repr(run.cost_model)),
        ("limits", repr(run.limits)),
        ("lookback", f"{counted(run.lookback, 'bar')}"),
        ("seed", str(run.seed)),
    ]


def window_of(run: Run) -> str:
    """Return the bars of a run and their dates."""
    return f"bars {run.window.start}:{run.window.end}, {run._dates[0]} .. {run._dates[-1]}"


def versions(command: str = "") -> list[tuple[str, str]]:
    """Return the package versions, and the command line if one is given."""
    import openoutcry

    entries = [("openoutcry", openoutcry.__version__), ("contract", native.CONTRACT_VERSION)]
    return [*entries, ("command", command)] if command else entries


def notices_of(run: Run) -> list[str]:
    """Return the caveats of the market of a run, and of its fills."""
    found = [*fill_caveats(run).values(), *run.dataset.notices]
    if run.dataset.risk_free is not None:
        return found
    return [*found, "the dataset has no risk-free rate: Sharpe ratios use raw returns"]


def write_run_report(
    run: Run,
    path: str | os.PathLike[str],
    n_trials: int = 1,
    origin: Origin | None = None,
    inputs: AnalysisInputs | None = None,
) -> str:
    """Write the report of a run to one HTML file and return its path."""
    Path(path).write_text(page_renderer(run, n_trials, origin, inputs)(), encoding="utf-8")
    return os.fspath(path)


def page_renderer(
    run: Run, n_trials: int = 1, origin: Origin | None = None, inputs: AnalysisInputs | None = None
) -> Callable[..., str]:
    """Return a function that renders the report of a run, with an optional `proof`."""
    inputs, n_trials = inputs or AnalysisInputs(), checked_integer("n_trials", n_trials, 1, 2**53)
    against = resolved_benchmark(run, inputs.benchmark)
    benchmark = benchmark_view(run, against)
    view = full_view_of(run, n_trials, inputs, against, benchmark)
    notices = [*(() if origin is None else origin.notices), *notices_of(run)]
    return partial(render_run, view, benchmark, notices, provenance_of(run, origin))


def tables_of(run: Run, n_trials: int = 1, inputs: AnalysisInputs | None = None) -> dict[str, Table]:
    """Return every table of a run by name: those of its page, and its bars."""
    inputs, n_trials = inputs or AnalysisInputs(), checked_integer("n_trials", n_trials, 1, 2**53)
    against = resolved_benchmark(run, inputs.benchmark)
    view, other = view_of(run), benchmark_view(run, against)
    found = _metric_tables(run, (view, other), skill_of(run, n_trials))
    found |= dict(analysis_of(run, inputs, against, whole=True).tables)
    found["bars"] = file_tables.bar_table(run, against.returns)
    if exposures := group_exposures(run, inputs.groups):
        found["group_bars"] = file_tables.group_bars(run, exposures)
    return found


def _metric_tables(run: Run, views: tuple[RunView, RunView], skill: Skill | None) -> dict[str, Table]:
    """Return the tables of metrics, skill, costs and events."""
    names = ("value", "benchmark")
    sides = [(name, view.name, Statistics(view.metrics, view.reasons)) for name, view in zip(names, views, strict=True)]
    found = [file_tables.metric_table(sides), *([] if skill is None else [file_tables.skill_table(skill)])]
    found += [file_tables.cost_table(run), file_tables.event_table(views[0].events)]
    return {table.name: table for table in found}


def table_frames(run: Run, n_trials: int = 1, inputs: AnalysisInputs | None = None) -> dict[str, Any]:
    """Return every table of a run as a pandas frame, or polars."""
    found = tables_of(run, n_trials, inputs)
    return {name: dataframes.table_of(file_tables.columns_of(table)) for name, table in found.items()}
