"""Markets with moved dates, omitted bars or inverted quotes are recognized as the same prices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from ledger_runs import WINDOW, ledger_at, ledger_run

import openoutcry as oo
from openoutcry.ledger import Market

pytestmark = pytest.mark.once

FX = oo.data.load("ecb-fx")
TREASURY = oo.data.load("us-treasury")
ONE = FX.select(["JPY"])


def of(dates: list[str], close: np.ndarray) -> oo.Dataset:
    """Return a market of closes."""
    return oo.Dataset.from_arrays(dates, [f"S{at}" for at in range(close.shape[1])], close, periods_per_year=252.0)


def moved(market: oo.Dataset, days: int) -> oo.Dataset:
    """Return a market with dates moved by a number of days."""
    return of([str(np.datetime64(date) + days) for date in market.dates], market.close)


def thinned(market: oo.Dataset, n: int, first: int = 0) -> oo.Dataset:
    """Return every n-th bar of a market."""
    return of(list(market.dates[first::n]), market.close[first::n])


def weekly(market: oo.Dataset) -> oo.Dataset:
    """Return the last bar of each week."""
    weeks = (np.array(market.dates, dtype="datetime64[D]").astype(int) + 3) // 7
    last = np.append(np.flatnonzero(np.diff(weeks)), market.n_bars - 1)
    return of([market.dates[bar] for bar in last], market.close[last])


def inverted(market: oo.Dataset) -> oo.Dataset:
    """Return a market with inverted quotes."""
    return of(list(market.dates), 1.0 / market.close)


def rounded(market: oo.Dataset, digits: int) -> oo.Dataset:
    """Return a market with fewer digits."""
    return of(list(market.dates), np.array([[float(f"{p:.{digits}g}") for p in row] for row in market.close.tolist()]))


SAME_DATES: dict[str, Callable[[oo.Dataset], oo.Dataset]] = {
    "every second bar": lambda market: thinned(market, 2),
    "every third bar": lambda market: thinned(market, 3, 1),
    "every fifth bar": lambda market: thinned(market, 5, 3),
    "every seventh bar": lambda market: thinned(market, 7),
    "one bar a week": weekly,
    "inverted quotes": inverted,
}
OTHER_DATES: dict[str, Callable[[oo.Dataset], oo.Dataset]] = {
    "a day later": lambda market: moved(market, 1),
    "ten years earlier": lambda market: moved(market, -3653),
    "inverted quotes, one bar a week, a week later": lambda market: moved(inverted(weekly(market)), 7),
    "six digits, a day later": lambda market: moved(rounded(market, 6), 1),
    "masked": lambda market: market.masked(7),
}


@pytest.mark.parametrize("market", [FX, TREASURY, ONE], ids=["fx", "treasury", "yen"])
@pytest.mark.parametrize("how", [*SAME_DATES, *OTHER_DATES])
def test_a_transformed_market_does_not_reset_the_trial_count(tmp_path: Path, market: oo.Dataset, how: str) -> None:
    """A10, L7: for either order of the two markets."""
    one, two = Market.of(market), Market.of((SAME_DATES | OTHER_DATES)[how](market))
    assert one.is_kin(two)
    assert two.is_kin(one)
    assert one.is_of_family(two) == (how in SAME_DATES)
    for place, pair in (("a", (one, two)), ("b", (two, one))):
        ledger = ledger_at(tmp_path / place)
        ledger.add([ledger_run(1, market=pair[0])])
        assert ledger.count(pair[1]).n == 1, "counted before any run on it"
        ledger.add([ledger_run(2, market=pair[1])])
        assert [ledger.count(each).n for each in pair] == [2, 2]
        assert {each.n_trials for each in ledger.top(2)} == {2}
        # The name of a masked market must not be revealed.
        assert len(ledger.top(5, market=one)) == (2 if how in SAME_DATES else 1)
        before = [ledger.count(each) for each in pair]
        ledger.rebuild()
        assert [ledger.count(each) for each in pair] == before


def test_a_part_of_a_transformed_market_is_recognized() -> None:
    for part in (FX.between(3000, 4000), ONE.between(3000, 4000)):
        for how in ("a day later", "every second bar", "inverted quotes"):
            assert Market.of((SAME_DATES | OTHER_DATES)[how](part)).is_kin(Market.of(FX))


def walks(seed: int, deviation: float, tick: float, start: float) -> Market:
    """Return a market of ten random walks in whole ticks, all at the same dates."""
    steps = deviation * np.random.default_rng(seed).standard_normal((2500, 10))
    close = np.maximum(tick, np.round(start * np.exp(np.cumsum(steps, axis=0)) / tick) * tick)
    return Market.of(of([str(np.datetime64("2000-01-03") + day) for day in range(2500)], close))


@pytest.mark.parametrize(
    ("deviation", "tick", "start"),
    [
        *((0.01, 1e-9, 100.0), (0.0002, 1e-9, 100.0), (0.00005, 1e-9, 100.0)),
        *((0.01, 0.01, 20.0), (0.01, 0.01, 2.0), (0.03, 0.01, 0.5), (0.05, 0.01, 0.08)),
    ],
)
def test_markets_with_other_prices_are_not_kin(deviation: float, tick: float, start: float) -> None:
    """A10: also with small returns, or with prices in cents whose returns often coincide."""
    markets = [walks(seed, deviation, tick, start) for seed in range(5)]
    assert all(each.size.n_marks > 100 for each in markets)
    assert not any(one.is_kin(two) for one, two in combinations([*markets, Market.of(FX), Market.of(TREASURY)], 2))


def test_constant_prices_have_no_marks() -> None:
    for still in (np.ones((500, 1)), np.full((500, 1), np.nan)):
        still[0] = 1.0
        assert Market.of(of(list(FX.dates[:500]), still)).size == (0, 0)
    # The original bars are every fifth bar of the repeated ones.
    assert Market.of(of(list(FX.dates[:2500]), np.repeat(FX.close[:500], 5, axis=0))).is_kin(Market.of(FX))


def test_a_log_without_marks_keeps_its_families_and_gains_marks(tmp_path: Path) -> None:
    """A10: existing families remain, and the next run on a market adds its marks."""
    whole, part, late = Market.of(FX), Market.of(FX.between(1000, 2000)), Market.of(moved(FX, 1))
    old = replace(whole, marks=(), lines=())
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, market=old), ledger_run(2, market=replace(part, marks=(), lines=()))])
    assert "marks" in old.to_json()
    assert Market.from_json({name: value for name, value in old.to_json().items() if name != "marks"}) == old
    assert [ledger.count(each).n for each in (old, whole, part, late)] == [2, 2, 2, 0]
    ledger.add([ledger_run(3, market=whole)])
    assert [ledger.count(each).n for each in (old, whole, part, late)] == [3, 3, 3, 3]
    assert ledger.show(ledger_run(1).run_id).market == whole
    n_records = ledger.verify().n_records
    ledger.add([ledger_run(4, market=whole)])
    assert ledger.verify().n_records == n_records + 1, "the market is not recorded a third time"


def test_a_holdout_is_spent_for_the_same_prices_at_other_dates(tmp_path: Path) -> None:
    """A11: moved dates do not identify the days."""
    here, moved_market, week = Market.of(ONE), Market.of(moved(ONE, -3653)), Market.of(weekly(ONE))
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, market=moved_market)])
    assert ledger.looks(here, ("2026-08-01", "2026-10-30")) == 1
    assert ledger.open_holdout(moved_market, ("2016-08-01", "2016-10-30"), seal="x") == 0
    with pytest.raises(oo.OpenOutcryError, match="an unopened holdout is required"):
        ledger.open_holdout(here, ("2026-08-01", "2026-10-30"), seal="y")
    # Weekly bars keep their original dates.
    other = ledger_at(tmp_path / "other")
    other.add([ledger_run(1, market=week)])
    assert (other.looks(here, WINDOW), other.looks(here, ("2026-08-01", "2026-10-30"))) == (1, 0)
    assert other.open_holdout(week, WINDOW, seal="x") == 0
    assert other.open_holdout(here, ("2026-08-01", "2026-10-30"), seal="y") == 0
