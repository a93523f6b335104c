"""Tables of a research session for files: short list, trials, gates, folds, maps."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry.report.views.research_view import ResearchView
from openoutcry.report.views.search_view import SearchView
from openoutcry.report.views.table_view import Column, Table, Value

__all__ = ["research_tables"]

_NUMBERS = {"sharpe", "max_drawdown", "dsr", "dsr_one_trial", "dsr_alpha", "value"}
_COUNTS = {"place", "round", "fold", "n_gap", "n_test"}


def research_tables(view: ResearchView) -> dict[str, Table]:
    """Return the tables of the page of a research session by name."""
    tables = (
        _shortlist(view),
        _table("excluded", "Excluded from the short list", ("reason",), [(reason,) for reason in view.dropped]),
        _nav(view),
        _trials(view),
        _gates(view),
        _folds(view.search),
        _maps(view.search),
    )
    return {table.name: table for table in tables}


def _table(name: str, title: str, columns: Sequence[str], rows: Sequence[tuple[Value, ...]]) -> Table:
    heads = tuple(Column(each, each, _unit(each)) for each in columns)
    return Table(f"research_{name}", title, heads, tuple(rows))


def _unit(column: str) -> str:
    if column in _COUNTS:
        return "count"
    return "fine" if column in _NUMBERS or column.startswith(("sharpe_", "nav_")) else "text"


def _shortlist(view: ResearchView) -> Table:
    columns = ("place", "strategy", "params", "sharpe", "max_drawdown", "dsr", "dsr_one_trial", "dsr_alpha")
    rows: list[tuple[Value, ...]] = []
    for place, row in enumerate(view.shortlist, 1):
        numbers = row.sharpe, row.drawdown, row.dsr, row.dsr_if_one, row.dsr_alpha
        rows.append((place, row.name, row.params, *numbers, row.holdout, "; ".join(row.cautions)))
    return _table("shortlist", "Short list, best first", (*columns, "holdout", "cautions"), rows)


def _nav(view: ResearchView) -> Table:
    dates = view.lines[0].dates if view.lines else ()
    columns = ("date", *(f"nav_{line.name}" for line in view.lines))
    rows = list(zip(dates, *(line.values.tolist() for line in view.lines), strict=True))
    return _table("nav", "NAV out of sample, after costs", columns, rows)


def _trials(view: ResearchView) -> Table:
    columns = ("round", "strategy", "params", "outcome", "sharpe", "max_drawdown", "dsr", "rationale", "reasons")
    rows: list[tuple[Value, ...]] = []
    for row in view.rounds:
        numbers = row.sharpe, row.drawdown, row.dsr
        rows.append((row.number, row.name, row.params, row.outcome, *numbers, row.rationale, "; ".join(row.reasons)))
    return _table("trials", "Every round", columns, rows)


def _gates(view: ResearchView) -> Table:
    rows = [
        (row.number, row.name, gate.name, gate.value, gate.bound, "passed" if gate.passed else "failed", gate.reason)
        for row in view.rounds
        for gate in row.gates
    ]
    return _table("gates", "Gates by trial", ("round", "strategy", "gate", "value", "bound", "result", "reason"), rows)


def _folds(search: SearchView) -> Table:
    columns = ("fold", "train_first", "train_last", "n_gap", "test_first", "test_last", "n_test")
    rows: list[tuple[Value, ...]] = [
        (place, *fold.train, fold.n_gap, *fold.test, fold.n_test, *fold.sharpes)
        for place, fold in enumerate(search.folds, 1)
    ]
    names = [f"sharpe_{name}" for name in search.fold_names] if search.folds else []
    return _table("folds", "Walk-forward folds", (*columns, *names), rows)


def _maps(search: SearchView) -> Table:
    columns = ("strategy", "x_name", "y_name", "x", "y", "round", "sharpe", "params", "role")
    points = ((each, point) for each in search.maps for point in each.points)
    rows = [
        (each.strategy, each.x, each.y, _text(at.x), _text(at.y), at.number, at.sharpe, at.params, at.role)
        for each, at in points
    ]
    return _table("maps", "Parameter maps", columns, rows)


def _text(value: float | str | None) -> str:
    # A parameter may be a number in one map and a text in another.
    return "" if value is None else value if isinstance(value, str) else repr(value)
