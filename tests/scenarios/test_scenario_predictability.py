"""Other markets, other streams, last digits and other symbols do not predict the next return of a symbol.

Every statistic is compared with its distribution under permutation of days, and each attack first detects a planted
signal. Seeds are fixed, and the level of each test is 0.001.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from builders import count

from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

pytestmark = pytest.mark.once

Array = npt.NDArray[np.float64]
LEVEL = 0.001
N_DAYS = 1_001
# Constant volatility, so that days can be permuted; idiosyncratic returns only, so that symbols share no factor.
STILL = {"swings": [{"half_life": 5.0, "sd": 0.0}] * 2, "own_swings": [{"half_life": 5.0, "sd": 0.0}] * 2}
OWN = {**STILL, "market_vol": 0.0, "sector_vol": 0.0, "n_symbols": 4, "n_days": N_DAYS}
# No listings, settlements or halts: every day has a return.
WHOLE = {"late_listings": 0.0, "delisting_rate": 0.0, "halt_rate": 0.0, "dividend_yield": 0.0, "split_above": 0.0}


def returns(name: str, seed: int, split: str = "train", **changes: object) -> Array:
    """Return log returns, shape `(n_days - 1, n_symbols)`."""
    spec = ScenarioSpec(name, **(WHOLE | changes))
    return np.diff(np.log(Scenario(spec, seed, split=split).dataset().close), axis=0)


def ranks(table: Array) -> Array:
    """Return the centred ranks of each column, scaled to unit length. Ranks are robust to heavy tails."""
    placed = table.argsort(axis=0).argsort(axis=0) - (len(table) - 1) / 2.0
    return np.asarray(placed / np.sqrt((placed**2).sum(axis=0)))


def strongest(a: Array, b: Array, reach: int = 2) -> float:
    """Return the largest absolute correlation of columns of two rank tables, at lags up to `reach`."""
    n, lags = len(a) - 2 * reach, range(-reach, reach + 1)
    return float(max(np.abs(a[reach : reach + n].T @ b[reach + lag : reach + lag + n]).max() for lag in lags))


def chance(a: Array, b: Array, statistic: Callable[[Array, Array], float], n: int) -> float:
    """Return the permutation p-value of a rank statistic over days of `b`; at least 1 / (n + 1)."""
    rng, a, b = np.random.default_rng(0), ranks(a), ranks(b)
    found = statistic(a, b)
    return (1 + sum(statistic(a, b[rng.permutation(len(b))]) >= found for _ in range(n))) / (n + 1)


N_PERMUTED = count(5_000, 1_000)
SIZES = (np.asarray, np.abs)


@pytest.mark.parametrize("of", SIZES, ids=["returns", "sizes"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((5, "train"), (6, "train")),
        ((0, "train"), (1, "train")),
        ((5, "train"), (5, "test")),
        ((5, "validation"), (5, "test")),
        ((5, "train"), (5 + 2**32, "train")),
        ((5, "train"), (5 ^ 2**63, "train")),
    ],
)
def test_markets_of_neighbouring_seeds_and_splits_are_independent(
    one: tuple[int, str], other: tuple[int, str], of: Callable[[Array], Array]
) -> None:
    a, b = (of(returns("hard", *each, **OWN)) for each in (one, other))
    assert chance(a, b, strongest, N_PERMUTED) > LEVEL


def test_markets_of_one_key_and_two_specs_are_correlated() -> None:
    # Streams depend only on the key, so use a key for one market (`docs/scenarios.md`).
    a, b = returns("hard", 5, **OWN), returns("hard", 5, **OWN, own_vol=0.4, tick=0.05)
    assert chance(a, b, strongest, N_PERMUTED) < LEVEL
    assert strongest(ranks(a), ranks(b)) > 0.7


@pytest.mark.parametrize("of", SIZES, ids=["returns", "sizes"])
@pytest.mark.parametrize("symbol", [0, 1, 2])
def test_symbols_of_one_key_have_independent_noise(symbol: int, of: Callable[[Array], Array]) -> None:
    own = of(returns("hard", 8, **OWN))
    assert chance(own[:, [symbol]], own[:, symbol + 1 :], strongest, N_PERMUTED) > LEVEL


def test_streams_of_market_sectors_and_symbols_are_independent() -> None:
    shape = {**STILL, "beta_spread": 0.0, "n_sectors": 2, "n_symbols": 2, "n_days": N_DAYS}
    parts = {
        "market": {"sector_vol": 0.0, "own_vol": 0.0},
        "sector": {"market_vol": 0.0, "own_vol": 0.0},
        "own": {"market_vol": 0.0, "sector_vol": 0.0},
    }
    tables = [returns("hard", 9, **(shape | part)) for part in parts.values()]
    for place, table in enumerate(tables):
        for other in tables[place + 1 :]:
            assert chance(table, other, strongest, N_PERMUTED) > LEVEL
    assert chance(tables[0], tables[0] + tables[2], strongest, N_PERMUTED) < LEVEL


def test_volume_noise_does_not_predict_returns() -> None:
    spec = ScenarioSpec("hard", **(WHOLE | OWN))
    data = Scenario(spec, 10).dataset()
    volume, moves = np.diff(np.log(data._core.column("volume")), axis=0), np.diff(np.log(data.close), axis=0)
    assert chance(volume[:-1], moves[1:], lambda a, b: strongest(a, b, 0), N_PERMUTED) > LEVEL


def digits(close: Array, volume: Array) -> list[npt.NDArray[np.int64]]:
    """Return the last digits and bits of the values of each day, one table each."""
    ticks, shares = np.round(close * 100.0).astype(np.int64), volume.astype(np.int64)
    mantissa = np.ascontiguousarray(close).view(np.int64)
    return [ticks % 10, ticks % 16, ticks // 10 % 10, shares % 2, shares % 16, shares % 10, mantissa % 16,
            ticks % 4 * 4 + shares % 4]  # fmt: skip


def digit_t_statistic(feature: npt.NDArray[np.int64], later: Array) -> float:
    """Return the t-statistic, in the second half, of the mean next return by digit of the first half.

    Each day is one observation, because symbols are correlated.
    """
    half = len(later) // 2
    shown, paid = feature[:half].reshape(-1), later[:half].reshape(-1)
    counts = np.bincount(shown, minlength=16)
    table = np.bincount(shown, weights=paid, minlength=16) / np.maximum(counts, 1)
    gains = (np.sign(table - np.median(table[counts > 0]))[feature[half:]] * later[half:]).mean(axis=1)
    return float(gains.mean() / gains.std() * np.sqrt(len(gains)))


def earned(close: Array, volume: Array) -> Array:
    moves = np.diff(np.log(close), axis=0)
    later = np.sign(moves - np.median(moves, axis=1, keepdims=True))
    return np.array([digit_t_statistic(feature[:-1], later) for feature in digits(close, volume)])


# Two-sided at 0.001 over eight tables: 3.9 standard errors.
MOST = 3.9


@pytest.mark.parametrize("name", ["calm", "hard", "extreme"])
def test_last_digits_do_not_predict_the_next_return(name: str) -> None:
    for seed in range(count(20, 3)):
        data = Scenario(ScenarioSpec(name, **WHOLE), seed, split="test").dataset()
        found = earned(data.close, np.asarray(data._core.column("volume")))
        assert np.abs(found).max() < MOST, (seed, found)


def test_last_digits_of_a_linear_congruence_do_predict() -> None:
    # Low bits of a linear congruence have short periods. Here volume shows them, and the next bit is the next sign.
    states = np.empty((2_000, 20), np.int64)
    states[0] = np.arange(20) * 7_919 + 1
    for day in range(1, len(states)):
        states[day] = (states[day - 1] * 1_103_515_245 + 12_345) % 2**31
    signs = np.where(states % 16 < 8, 1.0, -1.0)
    close = np.round(100.0 * np.exp(np.cumsum(0.01 * signs * (1.0 + states / 2**32), axis=0)), 2)
    assert np.abs(earned(close, 1e6 + states % 4_096)).max() > 10.0


def unexplained(known: Array, hidden: Array, half: int) -> tuple[Array, Array]:
    """Return the residuals of the baseline forecast, with betas of the first half.

    The baseline forecast of a symbol is the least-squares fit on the other symbols of the same day.
    """

    def left(of: Array, by: Array) -> Array:
        basis = np.column_stack([np.ones(len(by)), by])
        return np.asarray(of - basis @ np.linalg.lstsq(basis[:half], of[:half], rcond=None)[0])

    others = [left(known[:, i], np.delete(known, i, axis=1)) for i in range(known.shape[1])]
    return np.column_stack(others), left(hidden, known)


def attack_p_value(known: Array, hidden: Array, lags: tuple[int, ...] = (1, -1)) -> float:
    """Return the p-value of the attacker's fit of the hidden second half, beyond the baseline forecast.

    The attacker knows all prices of the other symbols, including later ones. The features of the ridge regression are
    the residuals of the other symbols at `lags`, their absolute values, and the last two residuals of the hidden
    symbol.
    """
    half = len(hidden) // 2
    others, rest = unexplained(known, hidden, half)
    around = [np.roll(others, lag, axis=0) for lag in lags]
    own = [np.roll(rest, lag)[:, None] for lag in (1, 2)]
    clues = ranks(np.hstack([*around, *map(np.abs, around), *own]))[2:-1]
    target = ranks(rest[2:-1, None])
    half -= 2
    gram = clues[:half].T @ clues[:half]
    weights = np.linalg.solve(gram + np.trace(gram) / len(gram) * np.eye(len(gram)), clues[:half].T @ target[:half])
    guess = clues[half:] @ weights
    return chance(guess, target[half:], lambda a, b: float((a * b).sum()), N_PERMUTED)


@pytest.mark.parametrize("name", ["calm", "hard", "extreme"])
@pytest.mark.parametrize("symbol", [0, 7, 19])
def test_nineteen_symbols_and_the_first_half_do_not_predict_the_second_half(name: str, symbol: int) -> None:
    table = returns(name, 21, "validation")
    assert attack_p_value(np.delete(table, symbol, axis=1), table[:, symbol]) > LEVEL


def test_the_same_day_does_not_either_where_least_squares_are_optimal() -> None:
    # With heavy tails and changing volatility they are not, and ranks of the same day predict better.
    none = {"rate": 0.0, "mean": 0.0, "sd": 0.0}
    gaussian = {**STILL, "degrees": 64, "own_degrees": 64, "market_jumps": none, "own_jumps": none, "tick": 1e-4}
    plain, heavy = returns("extreme", 21, "validation", **gaussian), returns("extreme", 21, "validation")
    for symbol in (0, 7, 19):
        assert attack_p_value(np.delete(plain, symbol, axis=1), plain[:, symbol], (1, 0, -1)) > LEVEL
    assert attack_p_value(np.delete(heavy, 0, axis=1), heavy[:, 0], (0,)) <= LEVEL


def test_a_planted_signal_in_another_symbol_is_detected() -> None:
    table = returns("hard", 21, "validation")
    hidden, rng = table[:, 19].copy(), np.random.default_rng(0)
    # A tenth of the variance is the idiosyncratic return of another symbol on the previous day.
    others, rest = unexplained(table[:, :19], hidden, len(hidden) // 2)
    clue = np.roll(others[:, 3], 1)
    hidden += clue * rest.std() / clue.std() / 3.0 * (1.0 + 0.1 * rng.standard_normal(len(hidden)))
    assert attack_p_value(table[:, :19], hidden) <= LEVEL
