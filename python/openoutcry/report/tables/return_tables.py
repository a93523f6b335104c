"""Tables of returns by calendar period, trailing returns and drawdowns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from openoutcry.report.pages.analysis_labels import BARS, TRAILING
from openoutcry.report.tables.table_builders import statistics_table
from openoutcry.report.views.table_view import Column, Table, Value
from openoutcry.report.views.view_checks import Floats
from openoutcry.scoring.bar_statistics import bar_statistics
from openoutcry.scoring.drawdown_periods import Drawdowns, calendar_days
from openoutcry.scoring.period_returns import QUANTILES, period_returns, summarize_periods, trailing
from openoutcry.scoring.ratio_statistics import ratio_statistics
from openoutcry.scoring.statistic_values import Statistics

__all__ = ["Side", "drawdown_table", "month_table", "period_table", "risk_table", "trailing_table", "year_table"]

N_DRAWDOWNS = 10
"""Drawdowns on the page and in the table: the deepest."""


class Side(NamedTuple):
    """A run or its benchmark.

    Attributes:
        name: Its name.
        nav: Shape `(n_bars,)`, float64.
        returns: Shape `(n_bars - 1,)`, float64.
        fallen: Drawdowns of the NAV.
        summary: Metrics of the returns.
        time_in_market: Share of bars with a position; None for given returns.
    """

    name: str
    nav: Floats
    returns: Floats
    fallen: Drawdowns
    summary: Statistics
    time_in_market: float | None


def year_table(dates: Sequence[str], nav: Floats, benchmark: tuple[str, Floats] | None) -> Table:
    """Return the compounded return of each year, and its best and worst month."""
    years, months = (period_returns(dates, nav, unit) for unit in ("year", "month"))
    others = {} if benchmark is None else period_returns(dates, benchmark[1], "year")
    rows: list[tuple[Value, ...]] = []
    for year, value in years.items():
        inside = [each for month, each in months.items() if month[:4] == year]
        n_positive = sum(each > 0.0 for each in inside)
        row: list[Value] = [year, value]
        if benchmark is not None:
            other = others.get(year)
            row += [other, None if other is None else value - other]
        worst, best = (min(inside), max(inside)) if inside else (None, None)
        rows.append((*row, best, worst, n_positive / len(inside) if inside else None))
    columns = [Column("year", "Year"), Column("return", "Return", "gain")]
    if benchmark is not None:
        columns += [Column("benchmark", benchmark[0], "gain"), Column("difference", "Difference", "gain")]
    columns += [Column("best_month", "Best month", "gain"), Column("worst_month", "Worst month", "gain")]
    columns += [Column("positive_months", "Months up", "share0")]
    title = "Returns by year, compounded from bar returns; the first and last may be partial"
    return Table("years", title, tuple(columns), tuple(rows))


def month_table(dates: Sequence[str], nav: Floats, benchmark: tuple[str, Floats] | None) -> Table:
    """Return the compounded return of each month, one row per month."""
    own = period_returns(dates, nav, "month")
    others = {} if benchmark is None else period_returns(dates, benchmark[1], "month")
    columns = [Column("month", "Month"), Column("return", "Return", "gain")]
    columns += [] if benchmark is None else [Column("benchmark", benchmark[0], "gain")]
    rows = tuple((month, value, *([] if benchmark is None else [others.get(month)])) for month, value in own.items())
    return Table("months", "Returns by month, compounded from bar returns", tuple(columns), rows)


def period_table(dates: Sequence[str], nav: Floats) -> Table:
    """Return a summary of the returns by day, week, month, quarter and year."""
    rows: list[tuple[Value, ...]] = []
    for each in summarize_periods(dates, nav):
        ends = (each.best[0], each.best[1], each.worst[0], each.worst[1])
        rows.append((each.unit, each.n_periods, each.mean, *ends, each.positive, *each.quantiles))
    columns = (
        *(Column("period", "Period"), Column("n_periods", "Count", "count"), Column("mean", "Mean", "rate")),
        *(Column("best", "Best", "rate"), Column("best_period", "Best in", "hidden")),
        *(Column("worst", "Worst", "rate"), Column("worst_period", "Worst in", "hidden")),
        Column("positive", "Positive", "share0"),
        *(Column(f"p{level * 100:02.0f}", f"{level * 100:.0f}%", "rate") for level in QUANTILES),
    )
    title = "Compounded returns by calendar period, with quantiles; partial periods at both ends count"
    return Table("periods", title, columns, tuple(rows))


def trailing_table(
    dates: Sequence[str], nav: Floats, benchmark: tuple[str, Floats] | None, periods_per_year: float | None
) -> Table:
    """Return the returns of trailing periods up to the last bar."""
    columns = [("return", "Return", trailing(dates, nav, periods_per_year))]
    if benchmark is not None:
        columns.append(("benchmark", benchmark[0], trailing(dates, benchmark[1], periods_per_year)))
    return statistics_table("trailing", f"Trailing returns up to {dates[-1][:10]}, compounded", TRAILING, columns)


def risk_table(
    dates: Sequence[str], sides: Sequence[Side], periods_per_year: float | None, risk_free: Floats | None
) -> Table:
    """Return statistics of bars, streaks and drawdowns of a run, and of a benchmark."""
    columns = []
    for place, (name, nav, returns, fallen, summary, in_market) in enumerate(sides):
        parts = (
            bar_statistics(dates, nav, returns, fallen, in_market),
            ratio_statistics(fallen, returns, summary, periods_per_year, risk_free),
        )
        undefined = {} if in_market is not None else {"time_in_market": "given returns have no positions"}
        for part in parts:
            undefined |= part.undefined
        found = Statistics({**parts[0].values, **parts[1].values}, undefined)
        columns.append(("value" if place == 0 else "benchmark", name, found))
    return statistics_table("risk", "Bars, streaks and drawdowns", BARS, columns)


def drawdown_table(dates: Sequence[str], found: Drawdowns, n_most: int | None = N_DRAWDOWNS) -> Table:
    """Return the deepest drawdowns with their dates and lengths."""
    rows: list[tuple[Value, ...]] = []
    reasons: dict[tuple[int, str], str] = {}
    for place, each in enumerate(found.deepest(n_most)):
        end = len(dates) - 1 if each.recovery is None else each.recovery
        recovery = "open" if each.recovery is None else dates[each.recovery]
        days = calendar_days(dates, each.peak, end), calendar_days(dates, each.peak, each.trough)
        back = None if each.recovery is None else calendar_days(dates, each.trough, each.recovery)
        if back is None:
            reasons[place, "days_to_recover"] = "not recovered at the end of the run"
        rows.append((place + 1, each.depth, dates[each.peak], dates[each.trough], recovery, each.n_bars, *days, back))
    columns = (
        *(Column("rank", "", "count"), Column("depth", "Depth", "rate"), Column("peak", "Peak")),
        *(Column("trough", "Trough"), Column("recovery", "Recovery"), Column("bars", "Bars", "count")),
        *(Column("days", "Days", "count"), Column("days_to_trough", "Days down", "count")),
        Column("days_to_recover", "Days up", "count"),
    )
    title = f"The {len(rows)} deepest of {len(found.depth)} drawdowns; lengths from the peak, open ones to the last bar"
    return Table("drawdowns", title, columns, tuple(rows), reasons=reasons)
