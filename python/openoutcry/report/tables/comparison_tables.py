"""Tables of a comparison for files: metrics, differences, correlation, returns."""

from __future__ import annotations

from openoutcry.report.views.table_view import Column, Table, Value
from openoutcry.scoring.track_comparison import Comparison, Difference

__all__ = ["comparison_tables"]


def comparison_tables(comparison: Comparison) -> dict[str, Table]:
    """Return the tables of a comparison by name."""
    tables = (_metrics(comparison), _differences(comparison), _correlation(comparison), _returns(comparison))
    return {table.name: table for table in tables}


def _metrics(comparison: Comparison) -> Table:
    names = list(dict.fromkeys(name for metrics in comparison.metrics for name in metrics))
    columns = [Column("run", "Run"), Column("origin", "Origin"), Column("n_lost", "Lost returns", "count")]
    columns += [Column(name, name, "fine") for name in names]
    rows: list[tuple[Value, ...]] = []
    for track, lost, metrics in zip(comparison.tracks, comparison.aligned.n_lost, comparison.metrics, strict=True):
        rows.append((track.name, track.origin, lost, *(metrics.get(name) for name in names)))
    return Table("compared_metrics", "Metrics over the common dates", tuple(columns), tuple(rows))


def _differences(comparison: Comparison) -> Table:
    numbers = ("estimate", "standard_error", "low", "high", "p_value", "adjusted_p_value")
    columns = [Column(name, name) for name in ("first", "second", "statistic")]
    columns += [Column(name, name, "fine") for name in numbers]
    columns.append(Column("reason", "Why it is undefined"))
    rows: list[tuple[Value, ...]] = []
    for pair in comparison.pairs:
        names = comparison.tracks[pair.first].name, comparison.tracks[pair.second].name
        rows.append((*names, "sharpe_ratio_annual", *_numbers(pair.sharpe)))
        rows.append((*names, "mean_return_per_bar", *_numbers(pair.mean)))
    return Table("compared_differences", "Paired differences", tuple(columns), tuple(rows))


def _numbers(difference: Difference) -> tuple[Value, ...]:
    found = difference.interval
    if found is None:
        return (*(None,) * 6, difference.reason)
    return (found.estimate, found.standard_error, found.low, found.high, found.p_value, difference.adjusted, "")


def _correlation(comparison: Comparison) -> Table:
    names = [track.name for track in comparison.tracks]
    columns = (Column("run", "Run"), *(Column(name, name, "fine") for name in names))
    # NaN equals nothing, not even itself.
    rows = tuple(
        (name, *(value if value == value else None for value in row.tolist()))
        for name, row in zip(names, comparison.correlation, strict=True)
    )
    return Table("compared_correlation", "Correlation of returns", columns, rows)


def _returns(comparison: Comparison) -> Table:
    columns = (Column("date", "Date"), *(Column(track.name, track.name, "fine") for track in comparison.tracks))
    rows = zip(comparison.aligned.dates, *comparison.aligned.returns.T.tolist(), strict=True)
    return Table("compared_returns", "Simple returns on the common dates", columns, tuple(rows))
