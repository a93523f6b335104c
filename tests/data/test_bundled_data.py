"""Check the bundled data against published facts."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.data.bundled import ecb_fx, us_treasury
from openoutcry.data.bundled.panel import FloatArray, Panel

HERE = Path(ecb_fx.__file__).parent
FX, FX_ALL = ecb_fx.panel(), ecb_fx.panel("all")
UST, UST_ALL = us_treasury.panel(), us_treasury.panel("all")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def column(panel: Panel, symbol: str) -> FloatArray:
    return panel.close[:, panel.symbols.index(symbol)]


def quoted(panel: Panel, symbol: str) -> list[str]:
    return [date for date, close in zip(panel.dates, column(panel, symbol), strict=True) if np.isfinite(close)]


def simple_returns(close: FloatArray) -> FloatArray:
    return close[1:] / close[:-1] - 1.0


def sharpe(excess: FloatArray, periods_per_year: float) -> float:
    return float(excess.mean() / excess.std(ddof=1) * np.sqrt(periods_per_year))


def calendar_year_return(symbol: str, year: int) -> float:
    rows = [t for t, date in enumerate(UST_ALL.dates) if date.startswith(str(year))]
    close = column(UST_ALL, symbol)
    return float(close[rows[-1]] / close[rows[0] - 1] - 1.0)


def test_the_bundled_files_have_the_published_bytes() -> None:
    zipped = (HERE / "ecb_fx.zip").read_bytes()
    assert sha256(zipped) == "73db21584dd46cebf5cd6df75ebb6de7afcdeebff52f54d5046ca8e459c0fbb3"
    table = gzip.decompress((HERE / "us_treasury.csv.gz").read_bytes())
    assert sha256(table) == "3e8e514f057011ae523e82071fcde62dfba70d37bc03c43b6c113c9eceaea4cf"


@pytest.mark.parametrize(
    ("panel", "digest"),
    [
        (FX, "cadf0d62b2ba8f958b586b10fddafce70d28bf88254a677003f1579eea7d36d2"),
        (FX_ALL, "79aaec0161df96a762f276377d509df266370c57007e8d3564706a483c5d8afe"),
        (UST_ALL, "ec95451465eef29c08e323685ee776329e8f5321ed7f12a18201bdf01a65c241"),
    ],
    ids=["ecb-fx major", "ecb-fx all", "us-treasury all"],
)
def test_the_closes_are_the_same_bits_on_every_machine(panel: Panel, digest: str) -> None:
    # One bit pattern for all NaN, as in the fingerprint of a dataset.
    close = np.where(np.isnan(panel.close), np.nan, panel.close).astype("<f8")
    assert sha256(close.tobytes()) == digest


@pytest.mark.parametrize("panel", [FX, FX_ALL, UST, UST_ALL], ids=lambda panel: f"{panel.name} {len(panel.symbols)}")
def test_a_panel_is_rectangular_and_its_dates_increase(panel: Panel) -> None:
    shape = (len(panel.dates), len(panel.symbols))
    assert panel.close.shape == shape
    assert panel.close.flags.c_contiguous
    assert panel.risk_free.shape == (shape[0],)
    assert panel.risk_free[0] == 0.0
    assert all(earlier < later for earlier, later in zip(panel.dates, panel.dates[1:], strict=False))
    assert len(set(panel.symbols)) == shape[1]
    assert np.nanmin(panel.close) > 0.0


@pytest.mark.parametrize(("panel", "per_year"), [(FX, 256.12), (UST, 250.22)], ids=["ecb-fx", "us-treasury"])
def test_periods_per_year_is_the_number_of_bars_in_a_year(panel: Panel, per_year: float) -> None:
    days = np.datetime64(panel.dates[-1]) - np.datetime64(panel.dates[0])
    measured = (len(panel.dates) - 1) / (days / np.timedelta64(1, "D") / 365.25)
    assert measured == pytest.approx(per_year, abs=0.005)
    assert panel.periods_per_year == round(per_year)


class TestEcbFx:
    def test_the_file_has_7126_fixings_of_41_codes(self) -> None:
        dates, codes, rates = ecb_fx.fixings()
        assert rates.shape == (7126, 41) == (len(dates), len(codes))
        assert (dates[0], dates[-1]) == ("1999-01-04", "2026-10-30")
        assert rates[0, codes.index("USD")] == 1.1789
        assert rates[-1, codes.index("USD")] == 1.1172

    def test_the_major_universe_has_a_price_on_every_bar(self) -> None:
        assert FX.symbols == ["USD", "JPY", "GBP", "CHF", "SEK", "NOK", "AUD", "CAD", "NZD"]
        assert FX.close.shape == (7126, 9)
        assert np.isfinite(FX.close).all()
        assert FX.splits is None
        assert FX.delistings is None
        assert not FX.risk_free.any()

    def test_buy_and_hold_of_the_majors_earned_7_percent_in_27_years(self) -> None:
        nav = (FX.close / FX.close[0]).mean(axis=1)
        assert nav[-1] - 1.0 == pytest.approx(0.0695, abs=5e-5)
        assert sharpe(simple_returns(nav), FX.periods_per_year) == pytest.approx(0.0722, abs=5e-5)

    def test_chf_rose_16_8_percent_when_its_floor_was_lifted(self) -> None:
        bar = FX.dates.index("2015-01-15")
        returns = simple_returns(column(FX, "CHF"))
        assert returns[bar - 1] == pytest.approx(0.1683, abs=5e-5)
        assert returns.max() == returns[bar - 1]

    def test_the_all_universe_names_each_currency_once(self) -> None:
        _, codes, _ = ecb_fx.fixings()
        assert len(FX_ALL.symbols) == 40
        assert set(codes) - set(FX_ALL.symbols) == {"TRL", "ROL"}
        assert set(FX_ALL.symbols) - set(codes) == {"ISK2018"}

    def test_a_late_listing_has_no_close_before_its_first_fixing(self) -> None:
        first = {symbol: quoted(FX_ALL, symbol)[0] for symbol in FX_ALL.symbols}
        assert {symbol: date for symbol, date in first.items() if date > FX_ALL.dates[0]} == {
            "BGN": "2000-07-19",
            **dict.fromkeys(["CNY", "HRK", "IDR", "MYR", "PHP", "RUB", "THB"], "2005-04-01"),
            **dict.fromkeys(["BRL", "MXN"], "2008-01-02"),
            "INR": "2009-01-02",
            "ILS": "2011-01-03",
            "ISK2018": "2018-02-01",
        }

    def test_a_symbol_ends_early_only_by_the_euro_or_a_suspension(self) -> None:
        last = {symbol: quoted(FX_ALL, symbol)[-1] for symbol in FX_ALL.symbols}
        early = {symbol for symbol, date in last.items() if date < FX_ALL.dates[-1]}
        assert early == set(ecb_fx.ADOPTIONS) | {"RUB", "ISK"}

    def test_no_symbol_has_a_gap(self) -> None:
        for symbol in FX_ALL.symbols:
            rows = np.flatnonzero(np.isfinite(column(FX_ALL, symbol)))
            assert len(rows) == rows[-1] - rows[0] + 1, symbol

    @pytest.mark.parametrize(
        ("symbol", "last_day", "last_fixing", "irrevocable_rate", "settled"),
        [
            ("SIT", "2006-12-29", 239.64, 239.640, "2007-01-02"),
            ("CYP", "2007-12-31", 0.585274, 0.585274, "2008-01-02"),
            ("MTL", "2007-12-31", 0.4293, 0.429300, "2008-01-02"),
            ("SKK", "2008-12-31", 30.126, 30.1260, "2009-01-02"),
            ("EEK", "2010-12-31", 15.6466, 15.6466, "2011-01-03"),
            ("LVL", "2013-12-31", 0.702804, 0.702804, "2014-01-02"),
            ("LTL", "2014-12-31", 3.4528, 3.45280, "2015-01-02"),
            ("HRK", "2022-12-30", 7.5365, 7.53450, "2023-01-02"),
            ("BGN", "2025-12-31", 1.9558, 1.95583, "2026-01-02"),
        ],
    )
    def test_an_adopter_settles_at_its_irrevocable_rate(
        self, symbol: str, last_day: str, last_fixing: float, irrevocable_rate: float, settled: str
    ) -> None:
        assert FX_ALL.delistings is not None
        payment = FX_ALL.delistings[:, FX_ALL.symbols.index(symbol)]
        bar = FX_ALL.dates.index(settled)
        assert np.flatnonzero(np.isfinite(payment)).tolist() == [bar]
        assert quoted(FX_ALL, symbol)[-1] == last_day == FX_ALL.dates[bar - 1]
        assert column(FX_ALL, symbol)[bar - 1] == 1.0 / last_fixing
        assert payment[bar] == last_fixing / irrevocable_rate - 1.0
        assert abs(payment[bar]) < 3e-4

    def test_only_the_adopters_settle(self) -> None:
        assert FX_ALL.delistings is not None
        columns = np.nonzero(np.isfinite(FX_ALL.delistings))[1].tolist()
        assert sorted(FX_ALL.symbols[column] for column in columns) == sorted(ecb_fx.ADOPTIONS)

    @pytest.mark.parametrize(
        ("symbol", "day", "new_per_old", "adjusted_return"),
        [("TRY", "2005-01-03", 1e-6, 1836200 / 1.815 * 1e-6 - 1), ("RON", "2005-07-01", 1e-4, 0.0)],
    )
    def test_a_redenomination_is_a_split_of_one_symbol(
        self, symbol: str, day: str, new_per_old: float, adjusted_return: float
    ) -> None:
        assert FX_ALL.splits is not None
        splits = FX_ALL.splits[:, FX_ALL.symbols.index(symbol)]
        bar = FX_ALL.dates.index(day)
        assert np.flatnonzero(splits != 1.0).tolist() == [bar]
        assert splits[bar] == new_per_old
        close = column(FX_ALL, symbol)
        assert close[bar] * splits[bar] / close[bar - 1] - 1.0 == pytest.approx(adjusted_return, abs=1e-12)
        assert abs(adjusted_return) < 0.012

    def test_only_the_redenominations_split(self) -> None:
        assert FX_ALL.splits is not None
        assert np.count_nonzero(FX_ALL.splits != 1.0) == 2

    def test_rub_is_suspended_after_2022_03_01(self) -> None:
        assert quoted(FX_ALL, "RUB")[-1] == "2022-03-01"
        assert column(FX_ALL, "RUB")[FX_ALL.dates.index("2022-03-01")] == 1.0 / 117.201

    def test_isk_is_two_symbols_132_percent_apart(self) -> None:
        assert quoted(FX_ALL, "ISK")[-1] == "2008-12-09"
        assert quoted(FX_ALL, "ISK2018")[0] == "2018-02-01"
        before = column(FX_ALL, "ISK")[FX_ALL.dates.index("2008-12-09")]
        after = column(FX_ALL, "ISK2018")[FX_ALL.dates.index("2018-02-01")]
        assert after / before - 1.0 == pytest.approx(1.32, abs=5e-3)

    def test_the_managed_currencies_are_those_with_a_year_under_1_percent_volatility(self) -> None:
        assert FX_ALL.splits is not None
        calm = set()
        for symbol, close, splits in zip(FX_ALL.symbols, FX_ALL.close.T, FX_ALL.splits.T, strict=True):
            returns = close[1:] * splits[1:] / close[:-1] - 1.0
            years = np.lib.stride_tricks.sliding_window_view(returns[np.isfinite(returns)], 256)
            if years.std(axis=1, ddof=1).min() * np.sqrt(256) < 0.01:
                calm.add(symbol)
        assert calm == ecb_fx.MANAGED

    def test_shorting_try_without_carry_shows_a_sharpe_near_0_9(self) -> None:
        assert FX_ALL.splits is not None
        splits = FX_ALL.splits[1:, FX_ALL.symbols.index("TRY")]
        close = column(FX_ALL, "TRY")
        assert sharpe(1.0 - close[1:] * splits / close[:-1], 256) == pytest.approx(0.86, abs=5e-3)

    def test_a_list_of_symbols_starts_at_its_first_fixing_in_the_given_order(self) -> None:
        panel = ecb_fx.panel(["INR", "BRL"])
        assert panel.symbols == ["INR", "BRL"]
        assert (panel.dates[0], panel.dates[-1]) == ("2008-01-02", "2026-10-30")
        assert np.array_equal(panel.close[:, 1], column(FX_ALL, "BRL")[-len(panel.dates) :])

    def test_a_list_ends_with_the_last_settlement_only_if_all_have_settled(self) -> None:
        assert ecb_fx.panel(["SIT", "CYP"]).dates[-1] == "2008-01-02"
        assert ecb_fx.panel(["SIT", "RUB"]).dates[-1] == "2026-10-30"

    def test_the_notices_match_the_symbols(self) -> None:
        assert len(FX.notices) == 2
        assert any("no interest carry" in notice for notice in FX.notices)
        assert any("shorts off" in notice for notice in FX_ALL.notices)
        assert any("EEK" in notice for notice in FX_ALL.notices)
        assert not any("HKD" in notice for notice in ecb_fx.panel(["HKD", "DKK"]).notices)


class TestUsTreasury:
    def test_the_file_has_6816_days_of_11_tenors(self) -> None:
        dates, tenors, yields = us_treasury.par_yields()
        assert yields.shape == (6816, 11) == (len(dates), len(tenors))
        assert (dates[0], dates[-1]) == ("1990-01-02", "2017-03-29")
        assert (yields == 0.0).sum(axis=0).tolist() == [90, 19, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        assert np.nanmin(yields) == 0.0
        assert 0.09 < np.nanmax(yields) < 0.1

    def test_the_major_universe_has_an_index_on_every_bar(self) -> None:
        assert UST.symbols == ["UST1Y", "UST2Y", "UST3Y", "UST5Y", "UST7Y", "UST10Y"]
        assert UST.close.shape == (6816, 6)
        assert np.isfinite(UST.close).all()
        assert (UST.close[0] == 100.0).all()

    @pytest.mark.parametrize(("year", "expected"), [(1994, -0.0730), (2008, 0.2046), (2013, -0.0851)])
    def test_the_10_year_has_its_published_annual_returns(self, year: int, expected: float) -> None:
        assert calendar_year_return("UST10Y", year) == pytest.approx(expected, abs=5e-5)

    def test_holding_bonds_has_a_sharpe_of_0_5_to_0_7_over_bills(self) -> None:
        excess = simple_returns(UST.close) - UST.risk_free[1:, None]
        assert [round(sharpe(one, 250), 2) for one in excess.T] == [0.74, 0.63, 0.57, 0.51, 0.49, 0.48]

    @pytest.mark.parametrize(
        ("symbol", "first", "last"),
        [
            ("UST1M", "2001-07-31", "2017-03-29"),
            ("UST3M", "1990-01-02", "2017-03-29"),
            ("UST20Y", "1993-10-01", "2017-03-29"),
            ("UST30Y", "1990-01-02", "2002-02-15"),
            ("UST30Y2006", "2006-02-09", "2017-03-29"),
        ],
    )
    def test_an_index_starts_at_100_and_has_no_gap(self, symbol: str, first: str, last: str) -> None:
        dates = quoted(UST_ALL, symbol)
        assert (dates[0], dates[-1]) == (first, last)
        rows = slice(UST_ALL.dates.index(first), UST_ALL.dates.index(last) + 1)
        assert dates == UST_ALL.dates[rows]
        assert column(UST_ALL, symbol)[rows.start] == 100.0

    def test_no_return_of_the_30_year_spans_its_gap_of_994_days(self) -> None:
        gone, back = (UST_ALL.dates.index(day) for day in ("2002-02-15", "2006-02-09"))
        assert back - gone - 1 == 994
        for symbol in ("UST30Y", "UST30Y2006"):
            returns = simple_returns(column(UST_ALL, symbol))
            assert np.isnan(returns[gone:back]).all()
            assert np.nanmax(np.abs(returns)) < 0.06

    def test_a_bond_at_an_unchanged_yield_earns_that_yield(self) -> None:
        y, delta = np.array([0.04, 0.08]), np.array([0.5, 0.5])
        assert us_treasury.bond_return(y, y, delta, 10) == pytest.approx([0.02, 0.04], abs=1e-15)

    def test_a_bond_return_follows_the_published_formula(self) -> None:
        y0, y1, delta = np.array([0.05, 0.09]), np.array([0.051, 0.085]), np.array([3.0, 1.0]) / 365.25
        v = (1 + y1 / 2) ** (-2 * 30)
        expected = (1 + y1 / 2) ** (2 * delta) * (y0 * (1 - v) / y1 + v) - 1
        assert us_treasury.bond_return(y0, y1, delta, 30) == pytest.approx(expected, abs=1e-14)

    def test_a_bond_at_a_yield_of_zero_is_worth_its_coupons_and_principal(self) -> None:
        assert us_treasury.bond_return(np.array([0.03]), np.zeros(1), np.array([0.01]), 5) == pytest.approx([0.15])

    def test_a_bill_earns_its_yield_to_maturity(self) -> None:
        assert us_treasury.bill_return(np.array([0.04]), np.array([0.5]), np.array([0.25]), 0.25) == pytest.approx(
            [0.01], abs=1e-15
        )

    def test_the_risk_free_rate_is_known_when_the_bar_begins(self) -> None:
        _, tenors, yields = us_treasury.par_yields()
        y0 = yields[:-1, tenors.index("3month")]
        days = np.diff(np.array(UST.dates, dtype="datetime64[D]")).astype(float)
        assert UST.risk_free[1:] == pytest.approx(y0 * days / 365.25, rel=0.021)
        assert UST.risk_free.min() == 0.0
        assert np.prod(1.0 + UST.risk_free) ** (250 / 6815) - 1.0 == pytest.approx(0.0288, abs=5e-5)

    def test_a_list_that_starts_late_has_the_risk_free_rate_of_its_own_bars(self) -> None:
        panel = us_treasury.panel(["UST1M"])
        assert panel.dates[0] == "2001-07-31"
        assert panel.risk_free[0] == 0.0
        assert np.array_equal(panel.risk_free[1:], UST.risk_free[1 - len(panel.dates) :])


class TestLoad:
    @pytest.mark.parametrize(
        ("universe", "panel"),
        [
            ("major", FX),
            ("all", FX_ALL),
            (["TRY", "CYP"], ecb_fx.panel(["TRY", "CYP"])),
            ("major", UST),
            ("all", UST_ALL),
        ],
        ids=["ecb-fx major", "ecb-fx all", "ecb-fx list", "us-treasury major", "us-treasury all"],
    )
    def test_a_dataset_has_the_arrays_of_its_panel(self, universe: str | list[str], panel: Panel) -> None:
        dataset = oo.data.load(panel.name, universe)
        assert (dataset.name, dataset.periods_per_year) == (panel.name, panel.periods_per_year)
        assert list(dataset.dates) == panel.dates
        assert list(dataset.symbols) == panel.symbols
        assert set(panel.notices) <= set(dataset.notices)
        assert np.array_equal(dataset.close, panel.close, equal_nan=True)
        assert np.array_equal(dataset.risk_free, panel.risk_free)
        for received, expected in [(dataset.splits, panel.splits), (dataset.delistings, panel.delistings)]:
            assert (received is None) == (expected is None)
            assert expected is None or np.array_equal(received, expected, equal_nan=True)

    def test_the_default_universe_is_major(self) -> None:
        for name in oo.data.names():
            default, major, everything = (oo.data.load(name, *universe) for universe in ((), ("major",), ("all",)))
            assert default.fingerprint == major.fingerprint != everything.fingerprint

    def test_a_description_matches_the_data(self) -> None:
        assert oo.data.names() == ["ecb-fx", "us-treasury"]
        described = oo.data.describe("ecb-fx")
        assert (described["first_date"], described["last_date"]) == ("1999-01-04", "2026-10-30")
        assert described["n_bars"] == 7126
        assert described["universes"] == {"major": FX.symbols, "all": FX_ALL.symbols}
        assert oo.data.describe("us-treasury")["currency"] == "USD"

    @pytest.mark.parametrize(
        ("name", "universe", "message"),
        [
            ("ecb", None, "unknown_dataset: a dataset must be one of ecb-fx, us-treasury; received 'ecb'"),
            (
                "ecb-fx",
                "USD",
                "argument_invalid: `universe` must be `major` or `all`, or a list of symbols; received 'USD'",
            ),
            ("ecb-fx", [], "symbol_invalid: `universe` must name at least one symbol; received an empty list"),
            ("ecb-fx", ["USD", "TRL"], r"symbol_invalid: `universe\[1\]` must be one of USD, JPY, .*; received 'TRL'"),
            ("ecb-fx", ["USD", "USD"], r"duplicate_symbol: `universe\[1\]` must be named once; received 'USD' again"),
            ("us-treasury", ["10year"], r"symbol_invalid: `universe\[0\]` must be one of UST1M, .*; received '10year'"),
        ],
    )
    def test_an_unknown_name_is_refused_with_the_known_ones(
        self, name: str, universe: str | list[str] | None, message: str
    ) -> None:
        with pytest.raises(oo.OpenOutcryError, match=message):
            oo.data.load(name, universe)
