"""Test masking: what each level hides, what it preserves, and which attacks it does not prevent."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import numpy as np
import pytest
from builders import accepted, count, dataset_of, dates_of
from command_line import typed
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.audits import reidentification
from openoutcry.data import masking
from openoutcry.data.masking import LEVELS

pytestmark = pytest.mark.once

KEY = bytes(range(32))
DRAWS = settings(max_examples=count(400, 60))
SEEDS = st.integers(0, 2**32 - 1)
RATIO = 4.0 * 2.0**-53  # two products and two quotients, each rounded once


def places(dataset: oo.Dataset, key: bytes | int = KEY) -> list[int]:
    return masking.places(dataset.symbols, key)


def gross(closes: Any) -> Any:
    return closes[1:] / closes[:-1]


@DRAWS
@given(seed=SEEDS, level=st.sampled_from(LEVELS), key=st.integers(0, 2**64 - 1))
def test_returns_are_preserved_to_the_last_bits(seed: int, level: str, key: int) -> None:
    market = dataset_of(accepted(seed)[0])
    masked, order = market.masked(key, level), places(market, key)
    for name in ("close", "open", "high", "low"):
        before, now = getattr(market, name), getattr(masked, name)
        if before is None:
            assert now is None
            continue
        np.testing.assert_allclose(gross(now), gross(before[:, order]), rtol=RATIO, atol=0.0)
        assert np.array_equal(np.isnan(now), np.isnan(before[:, order]))
        if level == "names":
            assert now.tobytes() == np.ascontiguousarray(before[:, order]).tobytes()
    for name in ("splits", "tradable", "delistings"):
        before, now = getattr(market, name), getattr(masked, name)
        assert (before is None and now is None) or np.array_equal(now, before[:, order], equal_nan=name == "delistings")
    if market.dividends is not None:
        paid = market.dividends[:, order] / market.close[:, order]
        np.testing.assert_allclose(masked.dividends / masked.close, paid, rtol=RATIO, atol=0.0)
    if market.volume is not None:
        traded = (market.volume * market.close)[:, order]
        np.testing.assert_allclose(masked.volume * masked.close, traded, rtol=2.0 * RATIO, atol=0.0)
    assert masked.periods_per_year == market.periods_per_year


@DRAWS
@given(seed=SEEDS, level=st.sampled_from(LEVELS))
def test_an_account_on_the_masked_market_earns_the_same(seed: int, level: str) -> None:
    market, weights, start, end, *_ = accepted(seed)
    dataset = dataset_of(market)
    order = places(dataset)
    costs = oo.CostModel(fee_bps=2.0, slippage_bps=5.0, impact_bps=20.0, borrow_bps=30.0)
    # Participation is relative to volume, so the limits bind on the same orders.
    limits = oo.Limits(max_participation=0.1)
    runs = []
    for each, columns in ((dataset, list(range(dataset.n_symbols))), (dataset.masked(KEY, level), order)):
        rows = np.clip(np.asarray(weights, dtype=float)[:, columns], -0.3, 0.3)
        runs.append(oo.run_backtest(each, rows, (start, end), costs, limits))
    assert [len(run.nav) for run in runs] == [len(runs[0].nav)] * 2
    np.testing.assert_allclose(runs[1].nav, runs[0].nav, rtol=1e-9, atol=1e-12)


@DRAWS
@given(seed=SEEDS, level=st.sampled_from(LEVELS), share=st.floats(0.0, 1.0))
def test_masking_of_a_bar_depends_on_no_later_bar(seed: int, level: str, share: float) -> None:
    market = dataset_of(accepted(seed)[0])
    n_bars = 2 + int(share * (market.n_bars - 2))
    assert market.head(n_bars).masked(KEY, level) == market.masked(KEY, level).head(n_bars)


def everything() -> oo.Dataset:
    """Return a market with fundamentals and news, so that texts and names could identify it."""
    close = np.column_stack([np.linspace(100.0, 130.0, 40), np.linspace(7.0, 5.0, 40), np.linspace(1.0, 2.0, 40)])
    symbols, dates = ["AAPL", "MSFT", "ÜNÏ"], dates_of(40)
    return oo.Dataset.from_arrays(
        dates, symbols, close, open=close, volume=close * 1e6, dividends=close * 0.0, risk_free=np.full(40, 1e-4),
        fundamentals=[("AAPL", dates[3], "eps", 3.28)], news=[("MSFT", dates[4], "Redmond rises")],
        name="my stocks", notices=("AAPL is from Cupertino",),
    )  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("key", [KEY, 8_675_309_012_345], ids=["bytes", "seed"])
def test_no_identifier_of_the_market_or_the_key_remains(level: str, key: bytes | int) -> None:
    masked = everything().masked(key, level)
    env = oo.TradingEnv.from_dataset(
        masked._core, window=(10, 30), costs=oo.CostModel(), limits=oo.Limits(), lookback=20, seed=0
    )
    known = [repr(masked), *masked.notices, str(masked.symbols), env.reset(), json.dumps(env.info())]
    known.append(repr(pickle.dumps(masked, 0)))
    secrets = ["AAPL", "MSFT", "Cupertino", "Redmond", "my stocks", "3.28", str(8_675_309_012_345), KEY.hex()]
    if level in ("calendar", "full"):
        secrets += list(everything().dates)
    for text in known:
        assert [secret for secret in secrets if secret in text] == []
    assert masked.fundamentals == masked.news == ()
    assert masked.notices[1].startswith("1 fundamentals and 1 news items left out")


def test_a_key_determines_the_masked_market() -> None:
    market = oo.data.load("ecb-fx")
    assert market.masked(KEY) == market.masked(bytearray(KEY)) == market.masked(KEY, "full")
    keys: list[bytes | int] = [KEY, bytes(32), 0, 1, 2**64 - 1]
    masked = [market.masked(key, level) for key in keys for level in LEVELS]
    assert len({each.fingerprint for each in masked}) == len(masked)
    assert len({tuple(places(market, key)) for key in keys}) == len(keys)
    # Uses only operations that round identically on every machine.
    assert market.masked(7).fingerprint == "19eac5a9ed63af7ffe4a5b9df87ef44fe232ae85f8dece557629a62d7f6460e6"


@pytest.mark.parametrize(
    ("key", "level", "wrong"),
    [
        (bytes(31), "full", "received 31 bytes"),
        (-1, "full", "`key` must be an integer from 0"),
        (2**64, "full", "`key` must be an integer from 0"),
        (True, "full", "`key` must be an integer from 0"),
        ("secret", "full", "`key` must be an integer from 0"),
        (KEY, "all", "`level` must be one of names, levels, calendar, full; received 'all'"),
    ],
)
def test_invalid_keys_and_levels_are_refused(key: Any, level: str, wrong: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=re.escape(wrong)) as refused:
        everything().masked(key, level)
    assert refused.value.slug == "argument_invalid"


def test_level_calendar_preserves_weekdays_and_level_full_does_not() -> None:
    market = oo.data.load("ecb-fx")
    days = {level: np.array(market.masked(KEY, level).dates, dtype="M8[D]").astype(int) for level in LEVELS}
    real = np.array(market.dates, dtype="M8[D]").astype(int)
    assert np.array_equal(days["levels"], real)
    assert len(moved := np.unique(days["calendar"] - real)) == 1
    assert moved[0] % 7 == 0
    gaps = np.diff(days["full"])
    assert set(gaps[:5]) == {1, 3}
    assert np.array_equal(gaps[:-5], gaps[5:])
    phases = {
        tuple(np.diff(np.array(market.head(6).masked(key).dates, dtype="M8[D]")).astype(int)) for key in range(99)
    }
    assert len(phases) == 5


@pytest.mark.parametrize(
    ("dates", "bars", "expected"),
    [
        (["2020-01-31", "2020-02-29", "2020-03-31"], 12.0, [30, 30]),
        (["2020-01-03", "2020-01-04", "2020-01-05"], 365.0, [1, 1]),
        (["2020-01-03T09:00:00Z", "2020-01-03T10:00:00Z", "2020-01-06T09:00:00Z"], 8766.0, [1 / 24, 1 / 24]),
    ],
)
def test_other_calendars_are_evenly_spaced(dates: list[str], bars: float, expected: list[float]) -> None:
    masked = oo.Dataset.from_arrays(dates, ["A"], [[1.0], [2.0], [3.0]], periods_per_year=bars).masked(KEY)
    assert [len(text) for text in masked.dates] == [len(text) for text in dates]
    seconds = np.array([text.rstrip("Z") for text in masked.dates], dtype="M8[s]").astype(int)
    assert np.diff(seconds).tolist() == [round(days * 86_400) for days in expected]


def test_a_calendar_beyond_the_year_9999_is_refused() -> None:
    market = oo.Dataset.from_arrays(dates_of(30), ["A"], np.ones((30, 1)), periods_per_year=1e-3)
    with pytest.raises(oo.OpenOutcryError, match="must end before the year 10000") as refused:
        market.masked(KEY)
    assert refused.value.slug == "date_invalid"


def test_the_drawn_price_level_is_independent_of_the_real_one() -> None:
    market = oo.data.load("ecb-fx")
    levels = np.concatenate([market.masked(key, "levels").close[0] for key in range(300)])
    mantissas, octaves = np.frexp(levels)
    # 2^3 to 2^10, uniform over octaves and within each. frexp gives mantissas from 0.5, hence one octave more.
    spread = np.sort((octaves - 4 + 2.0 * mantissas - 1.0) / 7.0)
    assert 0.0 <= spread[0] < spread[-1] < 1.0
    # The Kolmogorov-Smirnov bound at 1e-6 for 2,700 draws is 0.05.
    assert np.abs(spread - (np.arange(len(spread)) + 0.5) / len(spread)).max() < 0.05


N_WINDOWS = count(200, 40)


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, str, int], reidentification.Rate]:
    found = reidentification.rates(oo.data.load("ecb-fx"), (20, 250), n_windows=N_WINDOWS)
    return {(rate.level, rate.attacker, rate.n_bars): rate for rate in found}


def bound(chance: float) -> float:
    """Return a hit rate that random guesses exceed with probability below 1e-6."""
    rng = np.random.default_rng(0)
    return float(np.quantile(rng.binomial(N_WINDOWS, chance, 1_000_000), 1.0 - 1e-6)) / N_WINDOWS


@pytest.mark.parametrize("n_bars", [20, 250])
def test_level_full_prevents_lookup_by_name_price_level_or_calendar(measured: Any, n_bars: int) -> None:
    for attacker in ("name", "level", "calendar"):
        rate = measured["full", attacker, n_bars]
        assert rate.symbol <= bound(rate.symbol_by_chance)
        assert rate.date <= bound(rate.date_by_chance)


@pytest.mark.parametrize("n_bars", [20, 250])
def test_each_level_hides_exactly_its_documented_attributes(measured: Any, n_bars: int) -> None:
    assert measured["none", "name", n_bars].symbol == measured["none", "level", n_bars].symbol == 1.0
    for level, name, prices, calendar in (
        ("names", 1.0, 1.0, "kept"),
        ("levels", 1.0, 0.0, "kept"),
        ("calendar", 0.0, 0.0, "kept"),
        ("full", 0.0, 0.0, "gone"),
    ):
        dated = {attacker: measured[level, attacker, n_bars].date for attacker in ("name", "level", "calendar")}
        assert dated["name"] == pytest.approx(name, abs=0.01)
        assert dated["level"] == pytest.approx(prices, abs=bound(11 / 6000))
        if n_bars == 250:
            assert (dated["calendar"] > 0.3) == (calendar == "kept")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n_bars", [20, 250])
def test_no_level_prevents_matching_by_returns(measured: Any, level: str, n_bars: int) -> None:
    rate = measured[level, "returns", n_bars]
    assert rate.symbol == rate.date == 1.0
    # Signs of returns are enough for the attack.
    assert min(measured[level, "signs", n_bars].symbol, measured[level, "signs", n_bars].date) > 0.8


@pytest.mark.parametrize("level", LEVELS)
def test_no_level_prevents_recovery_of_the_price_unit(measured: Any, level: str) -> None:
    rate = measured[level, "rounding", 20]
    assert min(rate.symbol, rate.date) > 0.7
    cents = reidentification.rates(oo.Dataset.synthetic(5, 500, 3), [20], [level], 20)
    assert {(rate.symbol, rate.date) for rate in cents if rate.attacker == "rounding"} == {(1.0, 1.0)}
    # An index has no price unit.
    whole = reidentification.rates(oo.data.load("us-treasury"), [20], [level], 20)
    assert [rate.symbol for rate in whole if rate.attacker == "rounding"] == [pytest.approx(1 / 6)]


def test_invalid_window_lengths_are_refused() -> None:
    market = everything()
    for lengths, wrong in (
        ((1,), "received 1; hint"),
        ((41,), "`lengths` must be between 2 and 40, the bars of the market"),
    ):
        with pytest.raises(oo.OpenOutcryError, match=wrong):
            reidentification.rates(market, lengths, n_windows=1)
    with pytest.raises(oo.OpenOutcryError, match="`n_windows`"):
        reidentification.rates(market, (5,), n_windows=0)
    close = np.where(np.arange(40) % 2, np.nan, 1.0).reshape(-1, 1)
    with pytest.raises(oo.OpenOutcryError, match="3 consecutive closes"):
        reidentification.rates(oo.Dataset.from_arrays(dates_of(40), ["A"], close), (3,), n_windows=1)


def test_the_command_prints_the_rates() -> None:
    words = ["data", "reidentify", "us-treasury", "--level", "full", "--length", "20", "--windows", "5"]
    done = typed(*words, "--json")
    expected = reidentification.rates(oo.data.load("us-treasury"), [20], ["full"], 5)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [rate.to_dict() for rate in expected]
    table = typed(*words).stdout
    assert re.search(r"full +20 .* 100% / 100% ", table)
    refused = typed(*words, "--level", "half")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
