"""Neither other markets, other streams, last digits nor the other symbols tell what a symbol does next.

Every statistic is held against its own values under permutation of days, and each attack first finds something that was
planted. Seeds are fixed: a chance of one in a thousand is the level of each test, and what was drawn stays below it.
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
# Volatility that stays, so that days can be permuted; and own moves alone, so that symbols have no factor in common.
STILL = {"swings": [{"half_life": 5.0, "sd": 0.0}] * 2, "own_swings": [{"half_life": 5.0, "sd": 0.0}] * 2}
OWN = {**STILL, "market_vol": 0.0, "sector_vol": 0.0, "n_symbols": 4, "n_days": N_DAYS}
# No symbol comes, goes or halts: every day has a return.
WHOLE = {"late_listings": 0.0, "delisting_rate": 0.0, "halt_rate": 0.0, "dividend_yield": 0.0, "split_above": 0.0}


def returns(name: str, seed: int, split: str = "train", **changes: object) -> Array:
    """Return log returns, shape `(n_days - 1, n_symbols)`."""
    spec = ScenarioSpec(name, **(WHOLE | changes))
    return np.diff(np.log(Scenario(spec, seed, split=split).dataset().close), axis=0)


def ranks(table: Array) -> Array:
    """Return each column as its centred ranks, of unit length: heavy tails do not speak louder."""
    placed = table.argsort(axis=0).argsort(axis=0) - (len(table) - 1) / 2.0
    return np.asarray(placed / np.sqrt((placed**2).sum(axis=0)))


def strongest(a: Array, b: Array, reach: int = 2) -> float:
    """Return the largest correlation of any columns of two tables of ranks, in size, within some days of each other."""
    n, lags = len(a) - 2 * reach, range(-reach, reach + 1)
    return float(max(np.abs(a[reach : reach + n].T @ b[reach + lag : reach + lag + n]).max() for lag in lags))


def chance(a: Array, b: Array, statistic: Callable[[Array, Array], float], n: int) -> float:
    """Return how often permuted days of `b` give a statistic of ranks as large; 1 / (n + 1) at least."""
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
def test_markets_of_neighbouring_seeds_and_splits_are_not_alike(
    one: tuple[int, str], other: tuple[int, str], of: Callable[[Array], Array]
) -> None:
    a, b = (of(returns("hard", *each, **OWN)) for each in (one, other))
    assert chance(a, b, strongest, N_PERMUTED) > LEVEL


def test_markets_of_one_key_and_two_specs_are_alike() -> None:
    # Streams depend on the key alone: a key is for one market, and `docs/scenarios.md` says so.
    a, b = returns("hard", 5, **OWN), returns("hard", 5, **OWN, own_vol=0.4, tick=0.05)
    assert chance(a, b, strongest, N_PERMUTED) < LEVEL
    assert strongest(ranks(a), ranks(b)) > 0.7


@pytest.mark.parametrize("of", SIZES, ids=["returns", "sizes"])
@pytest.mark.parametrize("symbol", [0, 1, 2])
def test_symbols_of_one_key_share_no_noise(symbol: int, of: Callable[[Array], Array]) -> None:
    own = of(returns("hard", 8, **OWN))
    assert chance(own[:, [symbol]], own[:, symbol + 1 :], strongest, N_PERMUTED) > LEVEL


def test_the_streams_of_market_sectors_and_symbols_share_no_noise() -> None:
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


def test_volume_noise_tells_nothing_of_later_returns() -> None:
    spec = ScenarioSpec("hard", **(WHOLE | OWN))
    data = Scenario(spec, 10).dataset()
    volume, moves = np.diff(np.log(data._core.column("volume")), axis=0), np.diff(np.log(data.close), axis=0)
    assert chance(volume[:-1], moves[1:], lambda a, b: strongest(a, b, 0), N_PERMUTED) > LEVEL


def digits(close: Array, volume: Array) -> list[npt.NDArray[np.int64]]:
    """Return what the last digits and bits of a day's numbers are, a table each."""
    ticks, shares = np.round(close * 100.0).astype(np.int64), volume.astype(np.int64)
    mantissa = np.ascontiguousarray(close).view(np.int64)
    return [ticks % 10, ticks % 16, ticks // 10 % 10, shares % 2, shares % 16, shares % 10, mantissa % 16,
            ticks % 4 * 4 + shares % 4]  # fmt: skip


def looked_up(feature: npt.NDArray[np.int64], later: Array) -> float:
    """Return the t of what a table of the first half's mean next return by digit earns in the second half.

    Days are one observation each: their symbols move together.
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
    return np.array([looked_up(feature[:-1], later) for feature in digits(close, volume)])


# Two-sided at one in a thousand for eight tables: 3.9 standard errors and no more.
MOST = 3.9


@pytest.mark.parametrize("name", ["calm", "hard", "extreme"])
def test_last_digits_tell_nothing_of_the_next_return(name: str) -> None:
    for seed in range(count(20, 3)):
        data = Scenario(ScenarioSpec(name, **WHOLE), seed, split="test").dataset()
        found = earned(data.close, np.asarray(data._core.column("volume")))
        assert np.abs(found).max() < MOST, (seed, found)


def test_last_digits_of_a_congruence_would_tell() -> None:
    # The low bits of a congruence have short periods: here they are the volume's, and the next bit is the next sign.
    states = np.empty((2_000, 20), np.int64)
    states[0] = np.arange(20) * 7_919 + 1
    for day in range(1, len(states)):
        states[day] = (states[day - 1] * 1_103_515_245 + 12_345) % 2**31
    signs = np.where(states % 16 < 8, 1.0, -1.0)
    close = np.round(100.0 * np.exp(np.cumsum(0.01 * signs * (1.0 + states / 2**32), axis=0)), 2)
    assert np.abs(earned(close, 1e6 + states % 4_096)).max() > 10.0


def unexplained(known: Array, hidden: Array, half: int) -> tuple[Array, Array]:
    """Return what the honest forecast leaves of each, its betas being those of the first half.

    The honest forecast of a symbol is what the others did on the same day, by least squares.
    """

    def left(of: Array, by: Array) -> Array:
        basis = np.column_stack([np.ones(len(by)), by])
        return np.asarray(of - basis @ np.linalg.lstsq(basis[:half], of[:half], rcond=None)[0])

    others = [left(known[:, i], np.delete(known, i, axis=1)) for i in range(known.shape[1])]
    return np.column_stack(others), left(hidden, known)


def foretold(known: Array, hidden: Array, lags: tuple[int, ...] = (1, -1)) -> float:
    """Return how often chance explains the hidden second half as well as the attacker does, beyond the honest forecast.

    He knows every price of the others, later ones too, and fits a ridge on what is left of them the day before and the
    day after (`lags`), on the sizes of that, and on what was left of the hidden symbol in the two days before.
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
def test_nineteen_symbols_and_the_first_half_do_not_give_the_second_half(name: str, symbol: int) -> None:
    table = returns(name, 21, "validation")
    assert foretold(np.delete(table, symbol, axis=1), table[:, symbol]) > LEVEL


def test_nor_does_the_same_day_where_least_squares_are_the_best_forecast() -> None:
    # Where tails are heavy and volatility swings they are not, and ranks of the same day's moves do better than they.
    none = {"rate": 0.0, "mean": 0.0, "sd": 0.0}
    gaussian = {**STILL, "degrees": 64, "own_degrees": 64, "market_jumps": none, "own_jumps": none, "tick": 1e-4}
    plain, heavy = returns("extreme", 21, "validation", **gaussian), returns("extreme", 21, "validation")
    for symbol in (0, 7, 19):
        assert foretold(np.delete(plain, symbol, axis=1), plain[:, symbol], (1, 0, -1)) > LEVEL
    assert foretold(np.delete(heavy, 0, axis=1), heavy[:, 0], (0,)) <= LEVEL


def test_a_clue_in_another_symbol_would_be_found() -> None:
    table = returns("hard", 21, "validation")
    hidden, rng = table[:, 19].copy(), np.random.default_rng(0)
    # A tenth of the variance is another symbol's own move of the day before.
    others, rest = unexplained(table[:, :19], hidden, len(hidden) // 2)
    clue = np.roll(others[:, 3], 1)
    hidden += clue * rest.std() / clue.std() / 3.0 * (1.0 + 0.1 * rng.standard_normal(len(hidden)))
    assert foretold(table[:, :19], hidden) <= LEVEL
