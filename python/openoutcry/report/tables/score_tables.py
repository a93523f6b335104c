"""Tables of a scored board for files: ranking, tests, gates, windows, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from openoutcry.report.pages.metric_labels import METRICS, Metric, get, in_words
from openoutcry.report.pages.score_labels import DIAGNOSTICS, FIELD, GATES, SIDE, GateLabel
from openoutcry.report.views.score_view import ScoreGate, ScoreRow, ScoreView
from openoutcry.report.views.table_view import Column, Table, Value

__all__ = ["score_tables"]

_RANKED = ("z", "dsr", "romano_wolf", "above_luck")
_MARKET = ("alpha", "alpha_error", "beta", "n_days")
_RESULTS = {True: "passed", False: "failed", None: "unknown"}

_Numbers = tuple[tuple[Value, ...], Mapping[str, float | None], Mapping[str, str]]
"""First cells of a row, then values and reasons by name."""


def score_tables(view: ScoreView) -> dict[str, Table]:
    """Return the tables of the page of a scored board by name."""
    rows = view.rows
    metrics = [((row.name,), row.metrics, row.reasons) for row in rows]
    diagnostics = [((row.name,), row.diagnostics, row.reasons) for row in rows]
    sides = [((row.name, side.name), side.values, side.reasons) for row in rows for side in row.sides]
    markets = [((row.name, name), values, reasons) for row in rows for name, values, reasons in row.markets]
    tables = (
        _ranking(view),
        _listed("seeds", "z of each seed", ("agent", "seed", "z"), _seeds(rows)),
        _listed("null_agents", "Null agents", ("agent", "sharpe", "z"), _null_agents(view)),
        _listed("null_quantiles", "Quantiles of the null agents", ("level", "sharpe"), _quantiles(view)),
        _listed("field_tests", "Tests of the field", ("test", "benchmark", "value", "undefined"), _field_tests(view)),
        _listed(
            "gates",
            "Gates",
            ("agent", "windows", "gate", "value", "required", "bound", "result", "reason"),
            _gates(rows),
        ),
        _numbers("sides", "Against each benchmark", ("agent", "benchmark"), _names(SIDE, sides), sides),
        _numbers("markets", "Regression on buy-and-hold", ("agent", "market"), _MARKET, markets),
        _windows(rows),
        _listed("pass_k", "Probability that k of k seeds pass", ("agent", "k", "probability"), _pass_k(rows)),
        _listed("process", "Process", ("agent", "kind", "name", "reason", "count"), _process(rows)),
        _numbers("diagnostics", "Not in the verdict", ("agent",), _names(DIAGNOSTICS, diagnostics), diagnostics),
        _numbers("metrics", "Metrics, mean of seeds", ("agent",), _names(METRICS, metrics), metrics),
        _listed("definitions", "Definitions", ("name", "label", "definition"), _definitions()),
    )
    return {table.name: table for table in tables}


def _names(known: Mapping[str, Metric], rows: Sequence[_Numbers]) -> list[str]:
    """Return the names of the values of rows, those with a label first."""
    given = dict.fromkeys(name for _, values, _ in rows for name in values)
    return [name for name in known if name in given] + [name for name in given if name not in known]


def _listed(name: str, title: str, columns: Sequence[str], rows: Iterable[tuple[Value, ...]]) -> Table:
    """Return a table; a column with a number is one of numbers."""
    body = tuple(rows)
    kinds = []
    for cells in zip(*body, strict=True) if body else ([()] * len(columns)):
        known = [cell for cell in cells if cell is not None]
        is_text = not known or isinstance(known[0], str)
        kinds.append("text" if is_text else "count" if all(isinstance(cell, int) for cell in cells) else "fine")
    heads = tuple(Column(column, column, kind) for column, kind in zip(columns, kinds, strict=True))
    return Table(f"scores_{name}", title, heads, body)


def _numbers(name: str, title: str, first: Sequence[str], names: Sequence[str], rows: Sequence[_Numbers]) -> Table:
    """Return a table with a column per statistic, and the reasons of undefined ones."""
    body = [
        (*head, *(get(values, each) for each in names), _why(values, reasons, names)) for head, values, reasons in rows
    ]
    heads = [Column(each, each) for each in first] + [Column(each, each, "fine") for each in names]
    return Table(f"scores_{name}", title, (*heads, Column("undefined", "Why undefined")), tuple(body))


def _why(values: Mapping[str, float | None], reasons: Mapping[str, str], names: Sequence[str]) -> str:
    absent = [name for name in names if get(values, name) is None]
    return "; ".join(f"{name}: {in_words(reasons[name]) if name in reasons else 'not measured'}" for name in absent)


def _ranking(view: ScoreView) -> Table:
    sides = list(dict.fromkeys(side.name for row in view.rows for side in row.sides))
    columns = ["rank", "agent", "verdict", "reasons", "copy_of", *_RANKED]
    for name in sides:
        columns += [f"sharpe_over_{name}", f"sharpe_se_over_{name}"]
    columns += ["n_won", "n_windows", "pass_k", "n_trials", "sandbox", "undefined"]
    body = []
    for row in view.rows:
        by_name = {side.name: side.values for side in row.sides}
        ratios = [get(by_name.get(name, {}), each) for name in sides for each in ("sharpe", "standard_error")]
        head = (row.rank, row.name, row.verdict, "; ".join(row.because), row.copy_of)
        tail = (row.n_won, len(row.windows), row.pass_k[-1] if row.pass_k else None, row.n_trials, row.isolation)
        numbers = (get(row.values, name) for name in _RANKED)
        body.append((*head, *numbers, *ratios, *tail, _why(row.values, row.reasons, _RANKED)))
    return _listed("ranking", "Agents by rank", columns, body)


def _seeds(rows: Sequence[ScoreRow]) -> Iterable[tuple[Value, ...]]:
    return ((row.name, place, z) for row in rows for place, z in enumerate(row.seed_z))


def _null_agents(view: ScoreView) -> list[tuple[Value, ...]]:
    if view.floor is None:
        return []
    n_known = max(len(view.floor.each_sharpe), len(view.floor.each_z))
    columns = [[*values, *[None] * n_known][:n_known] for values in (view.floor.each_sharpe, view.floor.each_z)]
    return [(place, sharpe, z) for place, (sharpe, z) in enumerate(zip(*columns, strict=True))]


def _quantiles(view: ScoreView) -> list[tuple[Value, ...]]:
    return [] if view.floor is None else [(level, ratio) for level, ratio in sorted(view.floor.sharpe.items())]


def _field_tests(view: ScoreView) -> list[tuple[Value, ...]]:
    found: list[tuple[Value, ...]] = []
    for test in view.tests:
        for name in FIELD:
            value = get(test.values, name)
            found.append((name, test.benchmark, value, "" if value is not None else test.reason or "not measured"))
    if view.tests:
        found.append(("overfit", "", view.overfit, view.overfit_reason))
    return found


def _gates(rows: Sequence[ScoreRow]) -> Iterable[tuple[Value, ...]]:
    for row in rows:
        for windows, gates in (("all", row.gates), ("sealed", row.sealed)):
            yield from ((row.name, windows, *_gate(gate)) for gate in gates)


def _gate(gate: ScoreGate) -> tuple[Value, ...]:
    required = GATES.get(gate.slug, GateLabel(gate.slug, "ratio", "bound")).bound
    return gate.slug, gate.value, required, gate.bound, _RESULTS[gate.passed], gate.reason or gate.undefined


def _windows(rows: Sequence[ScoreRow]) -> Table:
    sides = list(dict.fromkeys(name for row in rows for window in row.windows for name in window.z))
    names = ["return", "vol", *(f"z_over_{name}" for name in sides)]
    keys = ("agent", "window", "market", "first", "last", "n_days", "n_seeds", "n_passed")
    body: list[tuple[Value, ...]] = []
    for row in rows:
        for place, each in enumerate(row.windows, 1):
            values = {**each.values, **{f"z_over_{name}": z for name, z in each.z.items()}}
            reasons = {
                **each.reasons,
                **{f"z_over_{name}": each.reasons[name] for name in each.z if name in each.reasons},
            }
            head = (row.name, place, each.market, each.first, each.last, each.n_days, each.n_seeds, each.n_passed)
            body.append((*head, *(get(values, name) for name in names), _why(values, reasons, names)))
    return _listed("windows", "Every window", (*keys, *names, "undefined"), body)


def _pass_k(rows: Sequence[ScoreRow]) -> Iterable[tuple[Value, ...]]:
    return ((row.name, k, rate) for row in rows for k, rate in enumerate(row.pass_k, 1))


def _process(rows: Sequence[ScoreRow]) -> Iterable[tuple[Value, ...]]:
    """Yield decisions, faults and events of each agent, with their counts."""
    for row in rows:
        yield row.name, "decisions", "", "", row.n_decisions
        for kind, counts in (("fault", row.faults), ("infrastructure fault", row.infrastructure_faults)):
            yield from ((row.name, kind, slug, "", n) for slug, n in sorted((counts or {}).items()))
        for slug, reasons in row.events.items():
            yield from ((row.name, "event", slug, reason, n) for reason, n in reasons.items())


def _definitions() -> Iterable[tuple[Value, ...]]:
    return ((name, metric.label, metric.help) for name, metric in {**SIDE, **DIAGNOSTICS}.items())
