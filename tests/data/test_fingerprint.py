"""Test fingerprints of datasets: sliced, pickled, changed and generated from a seed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from builders import Array, dates_of

import openoutcry as oo

nan = np.nan
TABLES = ("close", "open", "high", "low", "volume", "dividends", "splits", "tradable", "delistings")
N_BARS, SYMBOLS = 5, ("A", "B", "C")
DAY_0, DAY_1 = dates_of(2)


def columns() -> dict[str, Any]:
    """Return every column of a dataset, with no neutral values."""
    rng = np.random.default_rng(1)
    shape = (N_BARS, len(SYMBOLS))
    price = rng.uniform(10.0, 20.0, shape)
    close, delistings = price.copy(), np.full(shape, nan)
    close[1, 0], close[4, 2], delistings[4, 2] = nan, nan, 0.25
    return {
        "dates": dates_of(N_BARS),
        "symbols": list(SYMBOLS),
        "close": close,
        "open": price * 1.01,
        "high": price * 1.05,
        "low": price * 0.95,
        "volume": rng.uniform(1e3, 1e6, shape),
        "dividends": rng.uniform(0.1, 0.5, shape),
        "splits": rng.uniform(0.5, 2.0, shape),
        "tradable": rng.random(shape) < 0.5,
        "delistings": delistings,
        "risk_free": rng.uniform(0.0, 1e-4, N_BARS),
        "periods_per_year": 250.0,
        "fundamentals": [
            ("A", dates_of(2)[1], "eps", 1.5),
            ("B", dates_of(1)[0], "eps", -1.0),
            ("A", "1999-12-31", "pe", 9.0),
        ],
        "news": [("C", dates_of(3)[2], "late"), ("C", dates_of(1)[0], "early"), ("A", "1999-12-31", "old")],
    }


def made(**changes: Any) -> oo.Dataset:
    return oo.Dataset.from_arrays(**(columns() | changes), name="all columns", notices=("made up",))


def changed_cells() -> dict[str, dict[str, Any]]:
    """Return one change per cell of every table, each smaller than any tolerance."""
    changes = {}
    for name in (*TABLES, "risk_free"):
        table = columns()[name]
        for cell in np.ndindex(table.shape):
            other = table.copy()
            if name == "tradable":
                other[cell] = not table[cell]
            elif np.isnan(table[cell]):  # a filled gap; a settlement moves with the close that it excludes
                other[cell] = 15.0
                if name == "delistings" or cell == (4, 2):
                    continue
            else:
                other[cell] = np.nextafter(table[cell], np.inf)
            changes[f"{name}{cell}"] = {name: other}
    return changes


def changed_fields() -> dict[str, dict[str, Any]]:
    given = columns()
    news, dates = given["news"], given["dates"]
    without = {f"no {name}": {name: None} for name in (*TABLES[1:], "risk_free")}
    items = {}
    for name, others in (("fundamentals", ["C", "1999-12-30", "roe", 7.0]), ("news", ["B", "1999-12-30", "other"])):
        for i, item in enumerate(given[name]):
            for place, other in enumerate(others):
                changed = (*item[:place], other, *item[place + 1 :])
                items[f"{name} {i} {place}"] = {name: [*given[name][:i], changed, *given[name][i + 1 :]]}
    nothing_known: dict[str, Any] = {"fundamentals": [], "news": []}
    return {
        **without,
        **items,
        "no numbers": {"fundamentals": []},
        "no news": {"news": []},
        "nothing known": nothing_known,
        "news twice": {"news": [*news, news[0]]},
        "one name": nothing_known | {"symbols": ["A", "B", "D"]},
        "names exchanged": nothing_known | {"symbols": ["B", "A", "C"]},
        "names moved over": nothing_known | {"symbols": ["A", "BC", "D"]},
        "last date": {"dates": [*dates[:-1], "2001-01-01"]},
        "first date": {"dates": ["1999-01-01", *dates[1:]]},
        "bars a year": {"periods_per_year": 251.0},
        "columns exchanged": {"high": given["open"], "open": given["high"]},
    }


def test_any_change_of_a_cell_field_or_symbol_changes_the_fingerprint() -> None:
    changes = changed_cells() | changed_fields()
    prints = {what: made(**change).fingerprint for what, change in changes.items()}
    prints["as it was"] = made().fingerprint
    assert len(changes) > 150
    by_print: dict[str, list[str]] = {}
    for what, fingerprint in prints.items():
        by_print.setdefault(fingerprint, []).append(what)
    assert [names for names in by_print.values() if len(names) > 1] == []
    assert all(len(fingerprint) == 64 for fingerprint in by_print)


def test_nan_payloads_and_item_order_do_not_change_the_fingerprint() -> None:
    close = columns()["close"]
    for payload in (0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001):
        other = close.view(np.uint64).copy()
        other[np.isnan(close)] = payload
        assert made(close=other.view(np.float64)).fingerprint == made().fingerprint
    items = {name: columns()[name][::-1] for name in ("fundamentals", "news")}
    assert made(**items).fingerprint == made().fingerprint
    assert made() != object()


def test_name_and_notices_do_not_change_the_fingerprint() -> None:
    assert made() == oo.Dataset.from_arrays(**columns())


def same_columns(received: oo.Dataset, expected: dict[str, Any], rows: Any, places: list[int]) -> None:
    for name in TABLES:
        np.testing.assert_array_equal(getattr(received, name), expected[name][rows][:, places])
    np.testing.assert_array_equal(received.risk_free, expected["risk_free"][rows])
    assert received.periods_per_year == expected["periods_per_year"]
    assert (received.name, received.notices) == ("all columns", ("made up",))


def test_select_returns_symbols_in_the_given_order_with_all_their_data() -> None:
    chosen = made().select(["C", "A"])
    assert (chosen.symbols, chosen.n_bars) == (("C", "A"), N_BARS)
    same_columns(chosen, columns(), slice(None), [2, 0])
    of_them = {name: [item for item in columns()[name] if item[0] != "B"] for name in ("fundamentals", "news")}
    cut = {name: columns()[name][:, [2, 0]] for name in TABLES} | of_them | {"symbols": ["C", "A"]}
    assert chosen.fingerprint == made(**cut).fingerprint
    assert made().select(list(SYMBOLS)) == made()
    for symbols, wrong in ((["A", "Z"], "received Z"), ([], "1 symbol"), (["A", "A"], "twice")):
        with pytest.raises(oo.OpenOutcryError, match=wrong):
            made().select(symbols)


def test_head_returns_the_first_bars() -> None:
    first = made().head(3)
    assert first.dates == tuple(dates_of(3))
    same_columns(first, columns(), slice(3), [0, 1, 2])
    assert made().head(N_BARS) == made()
    for n_bars in (1, N_BARS + 1):
        with pytest.raises(oo.OpenOutcryError, match="n_bars"):
            made().head(n_bars)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_dataset_round_trips_through_pickle(protocol: int) -> None:
    for dataset in (made(), oo.Dataset.synthetic(2, 30, 1), oo.data.load("us-treasury")):
        back = pickle.loads(pickle.dumps(dataset, protocol))
        assert (back, back.fingerprint) == (dataset, dataset.fingerprint)
        assert (back.name, back.notices, repr(back)) == (dataset.name, dataset.notices, repr(dataset))


@pytest.mark.parametrize(
    "rules", [oo.CostModel(), oo.CostModel.zero(), oo.Limits(), oo.Limits.off(), oo.Window(3, "2001-01-01")]
)
def test_costs_limits_and_windows_round_trip_through_pickle(rules: Any) -> None:
    back = pickle.loads(pickle.dumps(rules))
    assert (back, repr(back), hash(back)) == (rules, repr(rules), hash(rules))


def tables_of(dataset: oo.Dataset) -> dict[str, Array]:
    return {name: getattr(dataset, name) for name in TABLES if getattr(dataset, name) is not None}


def test_the_synthetic_market_never_changes() -> None:
    dataset = oo.Dataset.synthetic(4, 120, 7)
    assert dataset.fingerprint == "a344080f05414eae0ed03923795026cf41b36c25bd544e471348a4c8f009138b"
    assert dataset.close[:2].tolist() == [[122.99, 152.61, 190.66, 67.3], [122.81, 153.93, 190.74, 67.61]]
    assert set(tables_of(dataset)) == {"close", "open", "high", "low", "volume"}
    assert dataset.dates[:6] == ("2000-01-03", "2000-01-04", "2000-01-05", "2000-01-06", "2000-01-07", "2000-01-10")


def test_more_symbols_or_days_do_not_change_existing_values() -> None:
    long = oo.Dataset.synthetic(9, 300, 7)
    for n_symbols, n_days in ((1, 2), (4, 120), (9, 299), (3, 300)):
        cut = oo.Dataset.synthetic(n_symbols, n_days, 7)
        assert cut == long.select(long.symbols[:n_symbols]).head(n_days)


@pytest.mark.parametrize("seed", [0, 1, 7, 2**64 - 1])
def test_synthetic_prices_lie_on_the_tick_and_within_their_bar(seed: int) -> None:
    tables = tables_of(oo.Dataset.synthetic(20, 1_000, seed))
    volume = tables.pop("volume")
    assert (volume == np.floor(volume)).all()
    assert volume.min() >= 1.0
    for prices in tables.values():
        assert prices.min() >= 0.01
        assert (prices == np.round(prices * 100.0) / 100.0).all()
    assert (tables["high"] >= np.maximum(tables["open"], tables["close"])).all()
    assert (tables["low"] <= np.minimum(tables["open"], tables["close"])).all()
    returns = np.diff(np.log(tables["close"]), axis=0)
    assert 0.005 < returns.std() < 0.03
    assert abs(np.corrcoef(returns[:-1].ravel(), returns[1:].ravel())[0, 1]) < 0.03


def test_synthetic_markets_differ_by_seed_and_symbol() -> None:
    closes = [oo.Dataset.synthetic(3, 50, seed).close.T for seed in (0, 1, 2**32, 2**63)]
    assert len({column.tobytes() for close in closes for column in close}) == 12


def test_an_empty_synthetic_market_is_refused() -> None:
    for n_symbols, n_days in ((0, 120), (4, 1), (4, 0)):
        with pytest.raises(oo.OpenOutcryError, match="dataset_too_small"):
            oo.Dataset.synthetic(n_symbols, n_days, 0)
    for seed in (-1, 2**64):
        with pytest.raises(oo.OpenOutcryError, match="`seed` must be an integer from 0"):
            oo.Dataset.synthetic(4, 120, seed)
