"""Reference rates that skill is measured against, and their sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from openoutcry.arena.scoring.decision_selection import BoolArray, Forecasts
from openoutcry.arena.scoring.exact_arithmetic import UNIT, Int64Array, group_counts, millionths, to_float
from openoutcry.arena.scoring.score_inputs import BaseRate, Parameters
from openoutcry.errors import refusal

PLATFORM_THEATER = "platform_theater"
HISTORICAL_THEATER = "historical_theater"
HISTORICAL_BLEND = "historical_blend"
PLATFORM_GLOBAL = "platform_global"
ALWAYS_50 = "always_50"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference rate: a share of YES, with its source and sample size.

    `n` counts decisions for platform rates and past questions for historical rates; `n_markets` counts the distinct
    markets of a platform rate.
    """

    theater: str | None
    exact: Fraction
    source: str
    n: int
    n_markets: int | None = None
    citation: str | None = None

    @property
    def rate(self) -> float:
        """The rate as a float."""
        return self.exact.numerator / self.exact.denominator

    def expected(self, n: int) -> Fraction:
        """Return the expected total loss of `n` forecasts of the rate if it is true."""
        return n * self.exact * (1 - self.exact)

    def realized(self, n: int, n_yes: int) -> Fraction:
        """Return the total loss of `n` forecasts of the rate, given `n_yes` YES outcomes."""
        return n_yes * (1 - self.exact) ** 2 + (n - n_yes) * self.exact**2

    def to_json(self) -> dict[str, object]:
        """Return the reference as a board's JSON."""
        names = ("theater", "source", "n", "n_markets", "citation")
        return {"rate": to_float(self.exact)} | {name: getattr(self, name) for name in names}


def primary_theaters(forecasts: Forecasts) -> tuple[list[str | None], Int64Array]:
    """Return the primary theaters, None first, and the index of each forecast's."""
    firsts = [each[0] if each else None for each in forecasts.theater_sets]
    theaters = [None, *sorted({each for each in firsts if each is not None})]
    of_set = np.array([theaters.index(each) for each in firsts], dtype=np.int64)
    return theaters, of_set[forecasts.theaters] if len(of_set) else forecasts.theaters


def references(forecasts: Forecasts, also: Iterable[str] = ()) -> dict[str | None, Reference]:
    """Return the reference rate of every primary theater, of None, and of `also`."""
    theaters, primary = primary_theaters(forecasts)
    rules = forecasts.inputs.parameters
    table = _table(forecasts.inputs.base_rates)
    fallback = [_blend(table, rules), _platform(forecasts, None, np.ones(len(primary), dtype=np.bool_), rules)]
    found: dict[str | None, Reference] = {}
    for theater in [*theaters, *(each for each in sorted(also) if each not in theaters)]:
        choices = list(fallback)
        if theater is not None:
            own = primary == theaters.index(theater) if theater in theaters else np.zeros(len(primary), dtype=np.bool_)
            history = [_historical(each, rules) for each in table if each.theater == theater]
            choices = [_platform(forecasts, theater, own, rules), *history, *choices]
        first = next((each for each in choices if each is not None), Reference(None, Fraction(1, 2), ALWAYS_50, 0))
        found[theater] = Reference(theater, first.exact, first.source, first.n, first.n_markets, first.citation)
    return found


def _table(rows: Sequence[BaseRate]) -> list[BaseRate]:
    table = sorted(rows)
    if len({each.theater for each in table}) < len(table):
        raise refusal("value_invalid", "base rates must have one row per theater; received two")
    return table


def _qualifies(rate: Fraction, n: int, rules: Parameters) -> bool:
    least, most = (Fraction(millionths(each), UNIT) for each in (rules.min_rate, rules.max_rate))
    return n >= rules.min_rate_n and least <= rate <= most


def _platform(forecasts: Forecasts, theater: str | None, own: BoolArray, rules: Parameters) -> Reference | None:
    n, n_yes = int(own.sum()), int((own & forecasts.yes).sum())
    if n == 0 or not _qualifies(Fraction(n_yes, n), n, rules):
        return None
    n_markets = int(np.count_nonzero(group_counts(forecasts.market[own], forecasts.n_markets)))
    source = PLATFORM_GLOBAL if theater is None else PLATFORM_THEATER
    return Reference(theater, Fraction(n_yes, n), source, n, n_markets)


def _historical(row: BaseRate, rules: Parameters) -> Reference | None:
    rate = Fraction(millionths(row.rate), UNIT)
    if not _qualifies(rate, row.n, rules):
        return None
    return Reference(row.theater, rate, HISTORICAL_THEATER, row.n, citation=f"{row.source}, {row.period}")


def _blend(table: Sequence[BaseRate], rules: Parameters) -> Reference | None:
    """Return the mean rate of the table, with rows weighted by their counts."""
    n = sum(row.n for row in table)
    if n == 0:
        return None
    rate = Fraction(sum(row.n * millionths(row.rate) for row in table), n * UNIT)
    citation = "; ".join(f"{row.source}, {row.period}" for row in table)
    return Reference(None, rate, HISTORICAL_BLEND, n, citation=citation) if _qualifies(rate, n, rules) else None
