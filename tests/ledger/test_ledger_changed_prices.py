"""Markets with changed prices are recognized by the order of their returns, and unrelated markets are not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from ledger_runs import ledger_at, ledger_run

import openoutcry as oo
from openoutcry.ledger import FAMILY_LIMITS, Market

pytestmark = pytest.mark.once

FULL = bool(os.environ.get("OPENOUTCRY_FULL"))
FX, TREASURY = oo.data.load("ecb-fx"), oo.data.load("us-treasury")
ONE = FX.select(["JPY"])
MARKETS = {"fx": FX.select(["USD", "SEK", "CAD"]), "treasury": TREASURY.select(["UST2Y", "UST10Y"]), "yen": ONE}
# A quote of 0.0075 per yen; users quote it per 100 yen.
SCALE = {"fx": 1.0, "treasury": 1.0, "yen": 100.0}
Close = npt.NDArray[np.float64]
Bars = npt.NDArray[np.int64]


def of(dates: list[str], close: Close) -> oo.Dataset:
    """Return a market of closes."""
    return oo.Dataset.from_arrays(dates, [f"S{at}" for at in range(close.shape[1])], close, periods_per_year=252.0)


def grown(close: Close, change: Callable[[Close], Close]) -> Close:
    """Return the prices with changed returns; gaps stay gaps."""
    out = np.full(close.shape, np.nan)
    for symbol, column in enumerate(close.T):
        bars = np.flatnonzero(np.isfinite(column))
        returns = column[bars[1:]] / column[bars[:-1]] - 1.0
        out[bars, symbol] = column[bars[0]] * np.cumprod(np.append(1.0, 1.0 + change(returns)))
    return out


def noisy(close: Close, share: float) -> Close:
    """Return the prices with noise of a share of the standard deviation of their returns."""
    deviation = np.nanstd(np.diff(np.log(close), axis=0), axis=0)
    noise = np.random.default_rng(5).standard_normal(close.shape)
    return np.asarray(close * np.exp(share * deviation * noise))


def other_moves(shape: tuple[int, ...], deviation: float) -> Close:
    """Return the factors of a random walk of their own for each symbol."""
    return np.exp(np.cumsum(deviation * np.random.default_rng(11).standard_normal(shape), axis=0))


def rolled(close: Close) -> Close:
    """Return back-adjusted futures: the offset changes every 60 bars."""
    n_rolls = len(close) // 60 + 1
    offset = np.cumsum(np.random.default_rng(6).normal(0.0, 0.2, (n_rolls, close.shape[1])), axis=0)
    return np.asarray(close + 20.0 + np.repeat(offset, 60, axis=0)[: len(close)] * np.nanmean(close, axis=0) / 30.0)


def distributed(close: Close) -> Close:
    """Return prices without their distributions, 1 % every 63 bars."""
    return np.asarray(close * (0.99 ** (np.arange(len(close)) // 63))[:, None])


def digits(close: Close, n: int) -> Close:
    """Return the prices with fewer digits."""
    return np.array([[float(f"{price:.{n}g}") for price in row] for row in close.tolist()])


def foreign(close: Close) -> Close:
    """Return the prices in a currency that varies as much as they do."""
    rate = np.cumsum(0.006 * np.random.default_rng(7).standard_normal(len(close)))
    return np.asarray(close / np.exp(rate)[:, None])


SAME_DATES: dict[str, Callable[[Close], Close]] = {
    "an offset of 20": lambda close: close + 20.0,
    "back-adjusted futures": rolled,
    "returns x 1.5": lambda close: grown(close, lambda returns: 1.5 * returns),
    "returns x 0.5": lambda close: grown(close, lambda returns: 0.5 * returns),
    "returns x -1": lambda close: grown(close, lambda returns: -returns),
    "2 bp of drift": lambda close: grown(close, lambda returns: returns + 2e-4),
    "all three": lambda close: grown(close, lambda returns: 1.5 * returns + 2e-4) + 20.0,
    "a power": lambda close: np.asarray(close**0.7),
    "inverted, with an offset": lambda close: np.nanmean(close, axis=0) / close + 3.0,
    "without distributions": distributed,
    "four digits": lambda close: digits(close, 4),
    "noise of a tenth of a return": lambda close: noisy(close, 0.1),
}
PICKED: dict[str, Callable[[oo.Dataset], Bars]] = {
    "weeks": lambda market: ends(market, "W"),
    "months": lambda market: ends(market, "M"),
    "every second bar": lambda market: np.arange(0, market.n_bars, 2),
    "every fifth bar": lambda market: np.arange(3, market.n_bars, 5),
    "without every tenth bar": lambda market: np.flatnonzero(np.arange(market.n_bars) % 10),
    "without a random tenth": lambda market: np.flatnonzero(np.random.default_rng(8).random(market.n_bars) > 0.1),
    "one year": lambda market: np.arange(3500, 3750),
}


def ends(market: oo.Dataset, unit: str) -> Bars:
    """Return the last bar of each week or month."""
    days = np.array(market.dates, dtype="datetime64[D]")
    number = (days.astype(int) + 3) // 7 if unit == "W" else days.astype("datetime64[M]").astype(int)
    return np.flatnonzero(np.append(np.diff(number), 1))


def shifted(market: oo.Dataset) -> oo.Dataset:
    """Return a market with each price at the next date."""
    return of(list(market.dates[1:]), market.close[:-1])


def check_counts(folder: Path, one: Market, two: Market) -> None:
    """Require that a trial on either market counts for the other, also in a rebuilt index."""
    for place, pair in (("a", (one, two)), ("b", (two, one))):
        ledger = ledger_at(folder / place)
        ledger.add([ledger_run(1, market=pair[0])])
        assert ledger.count(pair[1]).n == 1, "counted before any run on it"
        ledger.add([ledger_run(2, market=pair[1])])
        assert [ledger.count(each).n for each in pair] == [2, 2]
        ledger.rebuild()
        assert [ledger.count(each).n for each in pair] == [2, 2]


@pytest.mark.parametrize("name", MARKETS)
@pytest.mark.parametrize("how", SAME_DATES)
def test_changed_prices_do_not_reset_the_trial_count(tmp_path: Path, name: str, how: str) -> None:
    market = MARKETS[name]
    one, two = Market.of(market), Market.of(of(list(market.dates), SAME_DATES[how](market.close * SCALE[name])))
    assert one.is_of_family(two)
    assert two.is_of_family(one)
    if how == "all three":
        check_counts(tmp_path, one, two)


@pytest.mark.parametrize("name", MARKETS)
@pytest.mark.parametrize("how", PICKED)
def test_a_part_of_changed_prices_is_recognized(tmp_path: Path, name: str, how: str) -> None:
    market = MARKETS[name]
    bars = PICKED[how](market)
    close = grown(market.close[bars] * SCALE[name], lambda returns: 1.5 * returns + 2e-4) + 20.0
    one, two = Market.of(market), Market.of(of([market.dates[bar] for bar in bars], close))
    assert one.is_of_family(two)
    assert two.is_of_family(one)
    if how == "months":
        check_counts(tmp_path, one, two)


@pytest.mark.parametrize("market", [MARKETS["treasury"], MARKETS["fx"]], ids=["two", "three"])
def test_prices_in_another_currency_are_recognized(tmp_path: Path, market: oo.Dataset) -> None:
    one = Market.of(market)
    others = [
        of(list(market.dates), foreign(market.close)),
        of(list(market.dates), market.close[:, 1:] / market.close[:, :1]),
    ]
    for other in others:
        assert one.is_of_family(Market.of(other))
    check_counts(tmp_path, one, Market.of(others[0]))


def test_the_currency_of_many_symbols_is_recognized_and_their_ratio_to_the_mean() -> None:
    returns = 0.01 * np.random.default_rng(9).standard_normal((1000, 30))
    dates, close = list(FX.dates[:1000]), 100.0 * np.exp(np.cumsum(returns, axis=0))
    one = Market.of(of(dates, close))
    assert one.is_of_family(Market.of(of(dates, foreign(close))))
    assert one.is_of_family(Market.of(of(dates, foreign(close)[:, :25])))
    assert not one.is_kin(Market.of(of(dates, foreign(close)[:, :5]))), "their mean is another one"


def test_hours_and_days_of_changed_minutes_are_recognized() -> None:
    steps = 0.001 * np.random.default_rng(10).standard_normal((40 * 24 * 20, 1))
    close = 100.0 * np.exp(np.cumsum(steps, axis=0))
    dates = [str(each) + "Z" for each in np.datetime64("2024-01-01T00:00:00") + np.arange(len(close)) * 180]
    one = Market.of(of(dates, close))
    hours = np.arange(19, len(close), 20)
    assert one.is_of_family(Market.of(of([dates[bar] for bar in hours], close[hours] + 20.0)))


@pytest.mark.parametrize("name", MARKETS)
def test_changed_prices_at_other_dates_are_kin(tmp_path: Path, name: str) -> None:
    market = of(list(MARKETS[name].dates), MARKETS[name].close * SCALE[name] + 20.0)
    one = Market.of(MARKETS[name])
    years = of([str(np.datetime64(date) - 3653) for date in market.dates], market.close)
    every = sorted({str(day) for day in np.arange(np.datetime64(market.dates[0]), np.datetime64(market.dates[-1]))})
    known = np.searchsorted(market.dates, every, side="right") - 1
    for other in (shifted(market), years, of(every, market.close[known])):
        assert one.is_kin(Market.of(other))
    assert not one.is_of_family(Market.of(shifted(market)))
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, market=one)])
    assert ledger.count(Market.of(shifted(market))).n == 1
    assert ledger.top(5, market=Market.of(shifted(market))) == []


@pytest.mark.parametrize("how", ["an offset of 20", "returns x 1.5", "2 bp of drift"])
def test_a_holdout_is_spent_for_changed_prices_on_the_same_dates_only(tmp_path: Path, how: str) -> None:
    """A11."""
    here, there = Market.of(ONE), Market.of(of(list(ONE.dates), SAME_DATES[how](100.0 * ONE.close)))
    ledger = ledger_at(tmp_path)
    assert ledger.open_holdout(here, ("2026-01-01", "2026-03-31"), seal="x") == 0
    with pytest.raises(oo.OpenOutcryError, match="an unopened holdout is required"):
        ledger.open_holdout(there, ("2026-03-01", "2026-05-31"), seal="y")
    assert ledger.open_holdout(there, ("2026-06-01", "2026-07-31"), seal="y") == 0, "later days are new"


# Derived prices


def smoothed(market: oo.Dataset, weights: Close) -> oo.Dataset:
    """Return the market of weighted means of the last prices of each symbol; gaps are filled before."""
    bars = np.maximum.accumulate(np.where(np.isfinite(market.close), np.arange(market.n_bars)[:, None], 0), axis=0)
    filled = np.take_along_axis(market.close, bars, axis=0)
    columns = [np.convolve(column, weights[::-1], "valid") for column in filled.T if np.isfinite(column).all()]
    return of(list(market.dates[len(weights) - 1 :]), np.stack(columns, axis=1))


def simple(market: oo.Dataset, n: int) -> oo.Dataset:
    """Return the simple moving averages of the last `n` prices."""
    return smoothed(market, np.full(n, 1.0 / n))


def exponential(market: oo.Dataset, span: int) -> oo.Dataset:
    """Return the exponential moving averages, without the first bars."""
    weight = 2.0 / (span + 1.0)
    return smoothed(market, weight * (1.0 - weight) ** np.arange(12.0 * span)[::-1])


def shuffled(returns: Close) -> Close:
    """Return the returns in a random order."""
    return np.random.default_rng(4).permutation(returns)


def signed(returns: Close) -> Close:
    """Return the returns with random signs."""
    return returns * np.random.default_rng(3).choice([-1.0, 1.0], len(returns))


YEN = of(list(ONE.dates), 100.0 * ONE.close)
DERIVED: dict[str, tuple[bool, Callable[[], oo.Dataset]]] = {
    "alternating signs": (
        True,
        lambda: of(list(YEN.dates), grown(YEN.close, lambda r: r * (-1.0) ** np.arange(len(r)))),
    ),
    "random signs, 1.5 times": (True, lambda: of(list(YEN.dates), grown(YEN.close, lambda r: 1.5 * signed(r)))),
    "reversed prices": (False, lambda: of(list(YEN.dates), YEN.close[::-1])),
    "reversed and inverted prices": (False, lambda: of(list(YEN.dates), 1.0 / YEN.close[::-1])),
    "reversed returns": (False, lambda: of(list(YEN.dates), grown(YEN.close, lambda r: 1.5 * r[::-1]))),
    "mirrored prices": (True, lambda: of(list(YEN.dates), 2.0 * np.nanmax(YEN.close) - YEN.close)),
    "an average of 7 bars": (True, lambda: simple(YEN, 7)),
    "an average of 200 bars": (True, lambda: simple(YEN, 200)),
    "half of an average of 5 bars": (True, lambda: simple(YEN.between(0, 3500), 5)),
    "an exponential average of span 15": (True, lambda: exponential(YEN, 15)),
}


@pytest.mark.parametrize("how", DERIVED)
def test_derived_prices_are_recognized(how: str) -> None:
    is_family, change = DERIVED[how]
    one, two = Market.of(ONE), Market.of(change())
    assert one.is_kin(two)
    assert two.is_kin(one)
    assert (one.is_of_family(two), two.is_of_family(one)) == (is_family, is_family)


def test_derived_prices_do_not_reset_the_trial_count(tmp_path: Path) -> None:
    check_counts(tmp_path, Market.of(ONE), Market.of(simple(YEN, 20)))
    reverse = Market.of(of(list(YEN.dates), YEN.close[::-1]))
    ledger = ledger_at(tmp_path / "kin")
    ledger.add([ledger_run(1, market=Market.of(ONE))])
    assert ledger.count(reverse).n == 1
    ledger.add([ledger_run(2, market=reverse)])
    assert [ledger.count(each).n for each in (reverse, Market.of(ONE))] == [2, 2]
    assert ledger.show(ledger_run(1).run_id).market == Market.of(ONE), "with its averages"


def test_averages_of_different_markets_are_not_compared() -> None:
    one, two = Market.of(ONE), Market.of(TREASURY)
    alike = replace(two, lines=(), averages=one.averages)
    assert one.averages
    assert not replace(one, lines=()).is_kin(alike)
    assert one.is_kin(replace(two, lines=one.averages)), "a smoothed copy has them as its prices"


# What the limits name


def spliced(close: Close) -> oo.Dataset:
    """Return prices after 5,000 other bars."""
    moves = 0.006 * np.random.default_rng(8).normal(size=(5_000, close.shape[1]))
    both = np.vstack([np.exp(np.cumsum(moves, axis=0) - moves.sum(axis=0)) * close[0], close])
    return of([str(np.datetime64(bar, "D")) for bar in range(len(both))], both)


UNKNOWN: dict[str, tuple[str, Callable[[oo.Dataset], oo.Dataset]]] = {
    "a basket": ("baskets", lambda m: of(list(m.dates), np.nanmean(m.close / m.close[-1], axis=1)[:, None])),
    "a spread": ("weighted spreads", lambda m: of(list(m.dates), 9.0 + m.close[:, :1] - 0.5 * m.close[:, 6:7])),
    "another series": ("0.98", lambda m: of(list(m.dates), m.close * other_moves(m.close.shape, 0.004))),
    "every tenth bar": ("every eighth", lambda m: of(list(m.dates[::10]), m.close[::10] + 20.0)),
    "an average of 33 bars": ("uncommon filters", lambda m: simple(m, 33)),
    "a weighted average": ("uncommon filters", lambda m: smoothed(m, np.array([0.2, 0.5, 0.3]))),
    "shuffled returns": ("shuffled", lambda m: of(list(m.dates), grown(m.close, shuffled))),
    "a year of an average": ("short parts of averages", lambda m: simple(m.between(3500, 3700), 5)),
    "a spliced part": ("one 16th", lambda m: spliced(m.close[3000:3150] + 20.0)),
    "two months": ("150 bars", lambda m: of(list(m.dates[3000:3042]), m.close[3000:3042, :1] + 20.0)),
}


@pytest.mark.parametrize("how", UNKNOWN)
def test_what_is_not_recognized_is_named_in_the_limits(how: str) -> None:
    named, change = UNKNOWN[how]
    assert not Market.of(FX).is_kin(Market.of(change(FX)))
    assert named in FAMILY_LIMITS


def test_a_market_that_is_recorded_without_lines_is_matched_by_unchanged_prices(tmp_path: Path) -> None:
    whole, changed = Market.of(FX), Market.of(of(list(FX.dates), FX.close + 20.0))
    old = replace(whole, lines=(), averages=())
    kept = {name: value for name, value in old.to_json().items() if name not in ("lines", "averages")}
    assert Market.from_json(kept) == old
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, market=old)])
    assert [ledger.count(each).n for each in (whole, Market.of(ONE), changed)] == [1, 1, 0]
    ledger.add([ledger_run(2, market=whole)])
    assert ledger.count(changed).n == 2, "the next run on the market adds its lines"
    assert ledger.show(ledger_run(1).run_id).market == whole
    n_records = ledger.verify().n_records
    ledger.add([ledger_run(3, market=whole)])
    assert ledger.verify().n_records == n_records + 1, "the market is not recorded a third time"


def test_invalid_lines_are_refused() -> None:
    for wrong in ({"lines": ["é"]}, {"lines": 7}):
        with pytest.raises(oo.OpenOutcryError, match="must be valid"):
            Market.from_json({"fingerprint": "f", **wrong})


def test_lines_are_smaller_than_the_marks() -> None:
    content = Market.of(FX).to_json()
    n_bytes = {name: len(json.dumps(content[name])) for name in ("lines", "averages", "marks")}
    assert n_bytes["lines"] < 85_000
    assert n_bytes["averages"] < 50_000
    assert n_bytes["lines"] + n_bytes["averages"] < 1.1 * n_bytes["marks"]


# Unrelated markets


def test_parts_of_a_bundled_market_without_a_common_symbol_are_not_kin() -> None:
    parts = [of(list(FX.dates), FX.close[:, list(each)]) for each in (range(4), range(4, 9))]
    rates = [of(list(TREASURY.dates), TREASURY.close[:, [at]]) for at in range(6)]
    markets = [Market.of(each) for each in (*parts, *rates)]
    assert not any(one.is_kin(two) for one, two in combinations(markets, 2))


def test_patterns_are_not_markets() -> None:
    bars, dates = np.arange(2000)[:, None], list(FX.dates[:2000])
    waves = [100.0 + 5.0 * np.sin(2.0 * np.pi * bars / 60.0), 80.0 + 9.0 * np.sin(2.0 * np.pi * bars / 47.3)]
    lines = [100.0 + 0.01 * bars, 50.0 * 1.0005**bars]
    markets = [Market.of(of(dates, np.asarray(close))) for close in (*waves, *lines)]
    assert not any(one.is_kin(two) for one, two in combinations(markets, 2))


def twins(seed: int, correlation: float, shape: tuple[int, int]) -> tuple[Market, Market]:
    """Return two markets with a factor in common; the returns of each symbol correlate with those of its twin."""
    draws = np.random.default_rng((seed, int(1000 * correlation), *shape))
    factor, dates = (
        draws.standard_normal((shape[0], 1)),
        [str(np.datetime64("2000-01-03") + at) for at in range(shape[0])],
    )
    one = 0.8 * factor + 0.6 * draws.standard_normal(shape)
    two = correlation * one + np.sqrt(1.0 - correlation**2) * draws.standard_normal(shape)
    closes = [100.0 * np.exp(np.cumsum(0.0003 + 0.01 * each, axis=0)) for each in (one, two)]
    return Market.of(of(dates, closes[0])), Market.of(of(dates, closes[1]))


N_PAIRS = 60 if FULL else 6
SHAPES = ((500, 1), (1500, 5)) + (((5000, 3),) if FULL else ())


@pytest.mark.parametrize(
    ("correlation", "least", "most"),
    [(0.0, 0.0, 0.0), (0.9, 0.0, 0.0), (0.95, 0.0, 0.0), (0.99, 0.6, 1.0), (0.995, 0.9, 1.0)],
)
def test_markets_are_one_family_from_a_correlation_of_about_098_on(
    correlation: float, least: float, most: float
) -> None:
    """The table of `docs/ledger.md`: run with `OPENOUTCRY_FULL=1 pytest -s`."""
    for shape in SHAPES:
        pairs = [twins(seed, correlation, shape) for seed in range(N_PAIRS)]
        family = sum(one.is_of_family(two) for one, two in pairs) / N_PAIRS
        kin = sum(one.is_kin(two) for one, two in pairs) / N_PAIRS
        print(f"correlation {correlation}, {shape}: family {family:.3f}, kin {kin:.3f}")
        assert least <= family <= kin <= most
