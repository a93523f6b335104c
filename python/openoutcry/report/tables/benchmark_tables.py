"""Tables of a run against a benchmark and factors, and of Monte Carlo bands."""

from __future__ import annotations

from collections.abc import Mapping

from openoutcry.report.pages.analysis_labels import COMPARISON
from openoutcry.report.tables.table_builders import statistics_table
from openoutcry.report.views.table_view import Column, Table, Value
from openoutcry.report.views.view_checks import Floats
from openoutcry.scoring.benchmark_comparison import compare
from openoutcry.scoring.factor_regression import Factors
from openoutcry.scoring.return_bands import Bands

__all__ = ["band_tables", "benchmark_table", "factor_table"]

_NO_CAGR = "the number of bars per year is unknown"


def benchmark_table(
    name: str, returns: Floats, benchmark: Floats, periods_per_year: float | None, risk_free: Floats | None
) -> Table:
    """Return alpha, beta, tracking and capture of returns against a benchmark's."""
    found = compare(returns, benchmark, periods_per_year, risk_free)
    return statistics_table("benchmark", f"Against {name}", COMPARISON, [("value", "Value", found)])


def factor_table(found: Factors, periods_per_year: float | None) -> Table:
    """Return the loadings of factors; alpha is annual."""
    rows: list[tuple[Value, ...]] = []
    units: list[str] = []
    reasons: dict[tuple[int, str], str] = {}
    for place, each in enumerate(found.loadings):
        is_alpha = place == 0
        scale = periods_per_year if is_alpha else 1.0
        numbers = [None if scale is None else scale * value for value in (each.value, each.error, each.hac_error)]
        if scale is None:
            reasons |= {(place, column): _NO_CAGR for column in ("loading", "error", "hac_error")}
        if each.t is None:
            reasons[place, "t"] = "the factors explain every return"
        rows.append(("alpha, annual" if is_alpha else each.name, *numbers, each.t))
        units.append("rate" if is_alpha else "coefficient")
    columns = (
        *(Column("factor", "Factor"), Column("loading", "Loading", "row"), Column("error", "Std. error", "row")),
        *(Column("hac_error", "HAC std. error", "row"), Column("t", "t (HAC)", "ratio")),
    )
    title = "Regression of the run's returns on the factors"
    return Table("factors", title, columns, tuple(rows), tuple(units), reasons)


def band_tables(found: Bands) -> list[Table]:
    """Return the quantiles of paths, and the probabilities of drawdowns."""
    columns = (
        *(Column("quantile", "Quantile"), Column("final", "Final NAV", "ratio"), Column("cagr", "CAGR", "gain")),
        Column("max_drawdown", "Max drawdown", "loss"),
    )
    rows: list[tuple[Value, ...]] = []
    reasons = {}
    for place, level in enumerate(found.final):
        rate = None if found.cagr is None else found.cagr[level]
        if rate is None:
            reasons[place, "cagr"] = found.no_cagr
        rows.append((f"{level * 100:g}%", found.final[level], rate, found.drawdown[level]))
    chances = _chances(found.deeper, found.loss)
    return [
        Table("bands", "Quantiles over resampled paths; each column on its own", columns, tuple(rows), reasons=reasons),
        chances,
    ]


def _chances(deeper: Mapping[float, float], loss: float) -> Table:
    rows: list[tuple[Value, ...]] = [("NAV below its start at the end", loss)]
    rows += [(f"drawdown of {depth * 100:g}% or deeper", share) for depth, share in deeper.items()]
    columns = (Column("event", "Event"), Column("probability", "Share of paths", "share"))
    return Table("band_probabilities", "How often it happens in the resampled paths", columns, tuple(rows))
