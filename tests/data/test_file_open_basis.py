"""Test that opens on another basis than the closes are refused, and honest opens are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import openoutcry as oo

N = 240
DAYS = pd.DatetimeIndex(pd.bdate_range("2020-01-01", periods=N), name="date")
Prices = npt.NDArray[np.float64]


def bars(seed: int = 0, overnight: float = 0.006, intraday: float = 0.01, n: int = N) -> pd.DataFrame:
    """Return opens and closes of a random walk, as traded, without dividends or splits."""
    rng = np.random.default_rng(seed)
    steps = np.column_stack([rng.normal(0.0, overnight, n), rng.normal(0.0, intraday, n)])
    prices = 100.0 * np.exp(np.cumsum(steps.reshape(-1)).reshape(n, 2))
    days = pd.DatetimeIndex(pd.bdate_range("2020-01-01", periods=n), name="date")
    return pd.DataFrame({"open": prices[:, 0], "close": prices[:, 1]}, index=days).round(2)


def with_range(frame: pd.DataFrame, width: float = 0.004) -> pd.DataFrame:
    high, low = frame.max(axis=1) * (1 + width), frame.min(axis=1) * (1 - width)
    return frame.assign(high=high.round(2), low=low.round(2))


def factors(*steps: tuple[int, float], n: int = N) -> Prices:
    """Return factors of closes that are adjusted for events: bar and factor."""
    factor = np.ones(n)
    for bar, size in steps:
        factor[:bar] *= size
    return factor


def plain(frame: pd.DataFrame, symbol: str = "A") -> pd.DataFrame:
    """Return rows of the plain long form, next to a correct symbol."""
    parts = [frame.assign(symbol=symbol), bars(99).assign(symbol="Z")]
    return (
        pd.concat(parts)
        .reset_index()[["date", "symbol", "close", "open"]]
        .assign(date=lambda rows: rows["date"].dt.strftime("%Y-%m-%d"))
    )


def read(frame: pd.DataFrame, door: str, folder: Path) -> oo.Dataset:
    if door == "one symbol":
        return oo.Dataset.from_csv(frame.rename(columns=str.title).to_csv(), symbol="A")
    if door == "file":
        (folder / "A.csv").write_text(plain(frame).to_csv(index=False))
        return oo.Dataset.from_csv(folder / "A.csv")
    return (
        oo.Dataset.from_csv(plain(frame).to_csv(index=False)) if door == "text" else oo.Dataset.from_frame(plain(frame))
    )


DOORS = ["one symbol", "file", "text", "frame"]
EVENTS = {
    "dividends each quarter": factors(*((bar, 0.993) for bar in (60, 120, 180))),
    "one dividend of half a percent": factors((200, 0.995)),
    "a large dividend late": factors((230, 0.92)),
    "a dividend early": factors((40, 0.97)),
    "a split": factors((120, 0.25)),
    "a reverse split": factors((120, 10.0)),
    "prices adjusted forwards": 1.0 / factors((120, 0.97)) * 0.97,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("event", EVENTS)
def test_opens_as_traded_next_to_adjusted_closes_are_refused(event: str, door: str, tmp_path: Path) -> None:
    frame = bars()
    adjusted = frame.assign(close=(frame.close * EVENTS[event]).round(4))
    with pytest.raises(oo.OpenOutcryError, match="opens must be adjusted as the closes are; received opens of A") as e:
        read(adjusted, door, tmp_path)
    assert e.value.slug == "value_invalid"
    assert str(e.value).count("hint:") == 1
    # Closes as traded next to adjusted opens have the same fault.
    with pytest.raises(oo.OpenOutcryError, match="opens must be adjusted as the closes are"):
        read(frame.assign(open=frame.open * EVENTS[event]), door, tmp_path)


def test_the_refusal_says_how_far_the_opens_are_and_where() -> None:
    frame = bars()
    frame["close"] *= factors((N, 0.97))
    with pytest.raises(oo.OpenOutcryError) as caught:
        oo.Dataset.from_csv(frame.to_csv(), symbol="A")
    message = str(caught.value)
    assert "opens of A that are 3.1 % above the close before and as much above the close of their bar" in message
    assert "the median of 239 bars from 2020-01-02 to 2020-12-01" in message
    assert "hint: adjust opens, highs and lows as the closes are" in message


@pytest.mark.parametrize("adjusted", ["none", "split", "total"])
def test_stated_prices_with_such_opens_are_read_with_a_notice(adjusted: str) -> None:
    frame = bars()
    frame["close"] *= factors((N, 0.97))
    dataset = oo.Dataset.from_csv(frame.to_csv(), symbol="A", adjusted=adjusted)
    assert any("opens must be adjusted as the closes are" in notice for notice in dataset.notices)


def test_arrays_with_such_opens_have_a_notice() -> None:
    frame = bars()
    dates = [f"{day:%Y-%m-%d}" for day in DAYS]
    close = (frame.close * factors((120, 0.95))).to_numpy()
    dataset = oo.Dataset.from_arrays(dates, ["A"], close[:, None], open=frame.open.to_numpy()[:, None])
    assert any("opens must be adjusted as the closes are" in notice for notice in dataset.notices)
    right = oo.Dataset.from_arrays(dates, ["A"], frame.close.to_numpy()[:, None], open=frame.open.to_numpy()[:, None])
    assert not [notice for notice in right.notices if "opens must" in notice]


def has_fault(dataset: oo.Dataset) -> bool:
    return dataset._core.open_basis_fault() is not None


def test_honest_opens_are_read() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 600))
        frame = bars(seed, float(rng.choice([0.0005, 0.003, 0.02, 0.1])), float(rng.choice([0.001, 0.01, 0.05])), n)
        frame["close"] = frame.close.clip(lower=0.01)
        frame["open"] = frame.open.clip(lower=0.01)
        text = frame.to_csv()
        assert not has_fault(oo.Dataset.from_csv(text, symbol="A")), seed


@pytest.mark.parametrize("seed", range(20))
def test_prices_of_a_few_ticks_are_read(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Opens at the ask and closes at the bid, one tick apart, of an asset of a few ticks.
    middle = np.maximum(2, 3 + np.cumsum(rng.choice([-1, 0, 0, 0, 1], N)))
    frame = pd.DataFrame({"open": (middle + 1) * 1e-4, "close": middle * 1e-4}, index=DAYS)
    assert not has_fault(oo.Dataset.from_csv(frame.to_csv(), symbol="A"))
    frame = pd.DataFrame({"open": middle * 0.01, "close": (middle + rng.choice([-1, 0, 1], N)) * 0.01}, index=DAYS)
    assert not has_fault(oo.Dataset.from_csv(frame.to_csv(), symbol="A"))


@pytest.mark.parametrize("drift", [-0.01, -0.002, 0.002, 0.01])
def test_a_market_that_moves_by_night_only_is_read(drift: float) -> None:
    rng = np.random.default_rng(1)
    night, day = rng.normal(drift, 0.012, N), rng.normal(-drift / 4, 0.012, N)
    prices = 100.0 * np.exp(np.cumsum(np.column_stack([night, day]).reshape(-1)).reshape(N, 2))
    frame = pd.DataFrame({"open": prices[:, 0], "close": prices[:, 1]}, index=DAYS)
    assert not has_fault(oo.Dataset.from_csv(frame.to_csv(), symbol="A"))


def test_synthetic_markets_and_a_payer_of_each_week_are_read() -> None:
    for seed in range(30):
        assert not has_fault(oo.Dataset.synthetic(8, 300, seed))
    frame = bars()
    paid = np.full(N, 0.4)
    # Each bar falls by its dividend at the open.
    frame -= np.cumsum(paid)[:, None] * 0.2
    weeks = pd.date_range("2015-01-02", periods=N, freq="7D")
    rows = frame.set_index(pd.DatetimeIndex(weeks, name="Date")).assign(Dividend=paid * 0.2)
    assert not has_fault(oo.Dataset.from_csv(rows.to_csv(), symbol="A", adjusted="split"))


def test_splits_and_dividends_of_the_file_are_on_the_basis_of_the_closes() -> None:
    frame, split, paid = bars(), np.ones(N), np.zeros(N)
    split[120], paid[60] = 4.0, 1.0
    traded = frame / factors((120, 0.25))[:, None]
    rows = plain(traded)
    rows["split"] = np.append(split, np.ones(N))
    rows["dividend"] = np.append(paid, np.zeros(N))
    assert not has_fault(oo.Dataset.from_csv(rows.to_csv(index=False)))


FACTOR = factors((60, 0.999), (120, 0.998))
NAMES = {"Yahoo": ("Close", "Adj Close"), "EODHD": ("Close", "Adjusted_close"), "Tiingo": ("close", "adjClose")}


def vendor(names: tuple[str, str] = NAMES["Yahoo"], **columns: Prices) -> pd.DataFrame:
    """Return bars as traded next to a close that is adjusted for dividends."""
    frame = with_range(bars())
    rows = pd.DataFrame({name.title(): frame[name] for name in ("open", "high", "low")}, index=frame.index)
    rows[names[0]], rows[names[1]] = frame.close, frame.close * FACTOR
    return rows.assign(**columns)


@pytest.mark.parametrize("names", NAMES)
def test_an_adjusted_close_that_is_chosen_scales_the_other_prices(names: str) -> None:
    frame = vendor(NAMES[names])
    total = oo.Dataset.from_csv(frame.to_csv(), symbol="A", adjusted="total")
    for source in (frame.to_csv(), frame):
        door = oo.Dataset.from_csv if isinstance(source, str) else oo.Dataset.from_frame
        chosen = door(source, symbol="A", columns={"close": NAMES[names][1]})
        assert chosen.fingerprint == total.fingerprint
        assert chosen.open is not None
        np.testing.assert_allclose(chosen.open[:, 0], frame.Open * FACTOR)
        np.testing.assert_array_equal(chosen.close[:, 0], frame[NAMES[names][1]])


@pytest.mark.parametrize("adjusted", ["none", "split"])
def test_an_adjusted_close_that_is_stated_to_be_something_else_is_refused(adjusted: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r'must be total for the close .* hint: adjusted="total"'):
        oo.Dataset.from_csv(vendor().to_csv(), symbol="A", columns={"close": "Adj Close"}, adjusted=adjusted)


def test_an_adjusted_close_without_other_prices_is_read_as_it_is() -> None:
    frame = vendor()[["Close", "Adj Close"]]
    dataset = oo.Dataset.from_csv(frame.to_csv(), symbol="A", columns={"close": "Adj Close"})
    np.testing.assert_array_equal(dataset.close[:, 0], frame["Adj Close"])


def test_columns_that_are_all_adjusted_are_read_as_they_are() -> None:
    frame = vendor()
    for name in ("Open", "High", "Low"):
        frame[f"Adj. {name}"] = frame[name] * FACTOR
    frame = frame.rename(columns={"Adj Close": "Adj. Close"})
    columns = {role: f"Adj. {role.title()}" for role in ("open", "high", "low", "close")}
    dataset = oo.Dataset.from_csv(frame.to_csv(), symbol="A", columns=columns)
    assert dataset.open is not None
    np.testing.assert_array_equal(dataset.open[:, 0], frame["Adj. Open"])


@pytest.mark.parametrize("columns", [None, {"close": "Adj Close"}])
def test_an_adjusted_close_does_not_pay_its_dividends_again(columns: dict[str, str] | None) -> None:
    paid = np.where(np.isin(np.arange(N), (60, 120)), 0.15, 0.0)
    frame = vendor(Dividends=paid)[["Adj Close", "Dividends"]]
    dataset = oo.Dataset.from_csv(frame.to_csv(), symbol="A", columns=columns)
    assert dataset.dividends is None
    assert any("the close 'Adj Close' is taken as adjusted for splits and dividends" in n for n in dataset.notices)
    assert oo.Dataset.from_csv(frame.to_csv(), symbol="A", columns=columns, adjusted="split").dividends is not None
    with pytest.raises(oo.OpenOutcryError, match="must be total or split for the close 'Adj Close'"):
        oo.Dataset.from_csv(frame.to_csv(), symbol="A", columns=columns, adjusted="none")
