"""Tables of statistics by name, with a column per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openoutcry.report.pages.metric_labels import Metric, in_words
from openoutcry.report.views.table_view import Column, Table, Value
from openoutcry.scoring.statistic_values import Statistics

__all__ = ["statistics_table"]


def statistics_table(
    name: str, title: str, known: Mapping[str, Metric], columns: Sequence[tuple[str, str, Statistics]]
) -> Table:
    """Return a table with a row per statistic that at least one column has.

    Args:
        name: Name of the file.
        title: Caption.
        known: Labels, units and definitions, in the order of the rows. Other statistics follow, as ratios.
        columns: Name, heading and statistics of each column of values.
    """
    given = {key for _, _, each in columns for key in each.values}
    names = [key for key in known if key in given] + sorted(given - set(known))
    metrics = [known.get(key, Metric(key, "ratio", "")) for key in names]
    rows: list[tuple[Value, ...]] = []
    reasons: dict[tuple[int, str], str] = {}
    for place, (key, metric) in enumerate(zip(names, metrics, strict=True)):
        values = [each.values.get(key) for _, _, each in columns]
        for (column, _, each), value in zip(columns, values, strict=True):
            if value is None:
                reasons[place, column] = in_words(each.undefined.get(key, "")) or "not measured"
        whys = {label: reasons[place, column] for column, label, _ in columns if (place, column) in reasons}
        rows.append((key, metric.label, *values, metric.help, _why(whys, len(columns))))
    heads = (
        Column("name", "Name", "hidden"),
        Column("label", "Statistic"),
        *(Column(column, label, "row") for column, label, _ in columns),
        Column("definition", "Definition", "help" if any(metric.help for metric in metrics) else "hidden"),
        Column("undefined", "Why undefined", "hidden"),
    )
    return Table(name, title, heads, tuple(rows), tuple(metric.unit for metric in metrics), reasons)


def _why(whys: Mapping[str, str], n_columns: int) -> str:
    """Return the reasons, with their columns unless all have the same."""
    if len(whys) == n_columns and len({*whys.values()}) == 1:
        return next(iter(whys.values()))
    return "; ".join(f"{label}: {why}" for label, why in whys.items())
