"""Runs as pictures and pages: what `Run.plot` and `Run.report` are made of."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from openoutcry import openoutcry_py as native
from openoutcry.agents import buy_and_hold
from openoutcry.backtest import Run, run_backtest
from openoutcry.report import Provenance, RunView, render_run
from openoutcry.report.charts import Line, drawdown_chart, equity_chart, standalone


@dataclass(frozen=True)
class Picture:
    """An SVG picture, shown by notebooks."""

    svg: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to an SVG file and return its path.

        Raises:
            ValueError: the path does not end in `.svg`, the one format there is.
        """
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise ValueError(f"a path that ends in `.svg` is required; received {os.fspath(path)!r}")
        target.write_text(self.svg, encoding="utf-8")
        return target

    def _repr_svg_(self) -> str:
        return self.svg


def picture_of(run: Run) -> Picture:
    """Return NAV and drawdown of a run beside buy-and-hold."""
    held = benchmark_of(run)
    lines = [Line(held.name, held.dates, held.nav, "benchmark"), Line(run.name, run.dates, run.nav)]
    return Picture(standalone(equity_chart(lines), drawdown_chart(lines), title=f"{run.name} on {run.dataset.name}"))


def benchmark_of(run: Run) -> Run:
    """Return buy-and-hold on the market, window and rules of a run."""
    window = (run.window.start, run.window.end)
    return run_backtest(
        run.dataset, buy_and_hold(), window, run.cost_model, run.limits, run.seed, lookback=run.lookback
    )


def view_of(run: Run) -> RunView:
    """Return what a report shows of a run."""
    late = run.delayed()
    return RunView(
        name=run.name,
        dataset=run.dataset.name,
        window=f"{run.dates[0]} .. {run.dates[-1]}",
        dates=run.dates,
        nav=run.nav,
        symbols=run.dataset.symbols,
        weights=run.weights,
        costs=run.costs,
        delayed_nav=late.nav,
        metrics=run.metrics | {"delayed_sharpe": late.metrics["sharpe"]},
        reasons=run.undefined | _delayed(late.undefined),
        periods_per_year=run.dataset.periods_per_year,
        caveats=run.caveats | _delayed(late.caveats),
        events=_events(run),
        ending=run.ending,
        gains=run.gains,
        gross=native.gross_exposure(run.weights),
        net=native.net_exposure(run.weights),
    )


def _delayed(notes: dict[str, str]) -> dict[str, str]:
    return {"delayed_sharpe": notes["sharpe"]} if "sharpe" in notes else {}


def _events(run: Run) -> dict[str, dict[str, int]]:
    counts = {"filled": {"": run.event_counts["filled"]}}
    for event in run.events:
        by_reason = counts.setdefault(event["slug"], {})
        reason = event.get("reason", "")
        by_reason[reason] = by_reason.get(reason, 0) + 1
    return counts


def provenance_of(run: Run, command: str = "") -> Provenance:
    """Return what anyone needs to repeat a run."""
    return Provenance([("agent", run.name), *conditions_of(run), *versions(command)])


def conditions_of(run: Run) -> list[tuple[str, str]]:
    """Return what a run was made on and under, whatever its agent."""
    return [
        ("dataset", f"{run.dataset.name}, {run.dataset.n_bars} bars x {run.dataset.n_symbols} symbols"),
        ("dataset fingerprint", run.dataset.fingerprint),
        ("window", window_of(run)),
        ("costs", repr(run.cost_model)),
        ("limits", repr(run.limits)),
        ("lookback", f"{run.lookback} bars"),
        ("seed", str(run.seed)),
    ]


def window_of(run: Run) -> str:
    """Return the bars of a run and their dates."""
    return f"bars {run.window.start}:{run.window.end}, {run.dates[0]} .. {run.dates[-1]}"


def versions(command: str = "") -> list[tuple[str, str]]:
    """Return the versions that made a page, and the command that did, if one is given."""
    import openoutcry

    entries = [("openoutcry", openoutcry.__version__), ("contract", native.CONTRACT_VERSION)]
    return [*entries, ("command", command)] if command else entries


def notices_of(run: Run) -> list[str]:
    """Return what a reader of a run must know of its market."""
    if run.dataset.risk_free is not None:
        return list(run.dataset.notices)
    return [*run.dataset.notices, "no risk-free rate is known: Sharpe ratios are of raw returns"]


def write_run_report(run: Run, path: str | os.PathLike[str], command: str = "") -> str:
    """Write the report of a run to one HTML file and return its path."""
    benchmark = view_of(benchmark_of(run))
    page = render_run(view_of(run), benchmark, notices_of(run), provenance_of(run, command))
    Path(path).write_text(page, encoding="utf-8")
    return os.fspath(path)
