"""Symbols with predictable returns: lagged copies, smoothed and bouncing prices."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from builders import count, dates_of
from command_line import typed
from numpy.typing import NDArray

import openoutcry as oo
from openoutcry.data.lagged_symbols import lag_warnings, lagged_symbols

pytestmark = pytest.mark.once

Array = NDArray[np.float64]


def noise(n_bars: int = 400, n_symbols: int = 3, seed: int = 0) -> Array:
    return 0.01 * np.random.default_rng(seed).standard_normal((n_bars, n_symbols))


def market(moves: Array, **extra: object) -> oo.Dataset:
    close = 100.0 * np.exp(np.cumsum(np.vstack([np.zeros(moves.shape[1]), moves]), axis=0))
    symbols = [f"S{place}" for place in range(moves.shape[1])]
    return oo.Dataset.from_arrays(dates_of(len(close)), symbols, close, name="made", **extra)


def factor_moves(n_bars: int, n_symbols: int, common: float, seed: int) -> Array:
    """Return independent returns with a share of the variance in a common factor."""
    own, shared = noise(n_bars, n_symbols, seed), noise(n_bars, 1, seed + 10_000)
    moves: Array = np.sqrt(common) * shared + np.sqrt(1.0 - common) * own
    return moves


def storms(n_bars: int, seed: int) -> Array:
    """Return a volatility that changes slowly and multiplies heavy tails."""
    random = np.random.default_rng([seed, 3])
    log = np.zeros(n_bars)
    for bar, shock in enumerate(0.15 * random.standard_normal(n_bars - 1), 1):
        log[bar] = 0.97 * log[bar - 1] + shock
    scale: Array = (np.exp(log) / np.sqrt(random.chisquare(4.0, n_bars) / 4.0))[:, None]
    return scale


def basket_marks(moves: Array, n_bars: int, late: int, noisy: float, seed: int) -> Array:
    """Return the mean returns, averaged over bars, late, and with noise."""
    mark = np.convolve(moves.mean(axis=1), np.ones(n_bars) / n_bars)[: len(moves)]
    mark = np.concatenate([np.zeros(late), mark[: len(moves) - late]])
    random = np.random.default_rng([seed, 9])
    marked: Array = mark + noisy * mark.std() * random.standard_normal(len(moves))
    return marked


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_a_lagged_copy_is_named_with_its_original_and_lag(lag: int) -> None:
    moves = noise()
    moves[lag:, 2] = moves[:-lag, 0]
    (found,) = lagged_symbols(market(moves))
    assert (found.leader, found.follower, found.lag, found.n_returns) == ("S0", "S2", lag, 400 - lag)
    assert found.correlation > 0.97
    (warning,) = lag_warnings(market(moves))
    assert warning.startswith(f"the returns of S2 follow those of S0 by {lag} bar")


@pytest.mark.parametrize(("n_bars", "late", "noisy"), [(1, 1, 0.0), (1, 1, 1.5), (5, 1, 0.5), (5, 0, 2.0)])
def test_a_mark_of_a_lagged_basket_is_named_where_no_symbol_of_it_predicts_much(
    n_bars: int, late: int, noisy: float
) -> None:
    moves = noise(1_008, 20, seed=n_bars)
    moves[:, -1] = basket_marks(moves[:, :-1], n_bars, late, noisy, seed=n_bars)
    (found,) = lagged_symbols(market(moves))
    assert found.follower == "S19"
    if noisy != 0.5:
        assert (found.leader, found.lag) == ("", 5)
        (warning,) = lag_warnings(market(moves))
        assert warning.startswith("the returns of S19 follow a basket of the other symbols by 1 to 5 bars")


@pytest.mark.parametrize("is_calm", [True, False], ids=["normal", "clustered"])
@pytest.mark.parametrize("common", [0.0, 0.5, 0.9])
def test_a_market_without_memory_has_no_basket_and_hardly_a_pair(common: float, is_calm: bool) -> None:
    n_draws, n_named, n_baskets, n_markets = count(100, 2), 0, 0, 0
    for n_bars, n_symbols in ((252, 50), (504, 5), (1_008, 20), (1_008, 50)):
        for seed in range(n_draws):
            moves = factor_moves(n_bars, n_symbols, common, seed)
            found = lagged_symbols(market(moves if is_calm else moves * storms(n_bars, seed)))
            n_markets += 1
            n_named += found != []
            n_baskets += any(not each.leader for each in found)
    print(f"without memory, {common} common: {n_named} of {n_markets} named, {n_baskets} for a basket")
    assert n_baskets == 0
    # Few large returns decide a correlation if all symbols have them on the same bars.
    assert n_named <= (0 if is_calm else 1 + 0.02 * n_markets)


@pytest.mark.parametrize("common", [0.0, 0.5, 0.9])
def test_marks_of_a_lagged_or_averaged_basket_are_named_alone(common: float) -> None:
    n_draws, n_named, n_others, n_markets = count(20, 1), 0, 0, 0
    shapes = ((1, 1, 0.0), (1, 1, 1.0), (3, 0, 0.0), (5, 0, 0.0), (5, 1, 0.0), (5, 1, 0.5), (5, 0, 1.0))
    for n_symbols, (n_bars, late, noisy), seed in product((5, 10, 20), shapes, range(n_draws)):
        moves = factor_moves(1_008, n_symbols, common, seed)
        moves[:, -1] = basket_marks(moves[:, :-1], n_bars, late, noisy, seed)
        followers = {found.follower for found in lagged_symbols(market(moves))}
        n_markets += 1
        n_named += f"S{n_symbols - 1}" in followers
        n_others += bool(followers - {f"S{n_symbols - 1}"})
    print(f"baskets, {common} common: {n_named} of {n_markets} named, another symbol in {n_others}")
    assert (n_named, n_others) == (n_markets, 0)


def test_a_copy_six_bars_late_is_beyond_the_search() -> None:
    moves = noise()
    moves[6:, 2] = moves[:-6, 0]
    assert lagged_symbols(market(moves)) == []


def test_a_copy_with_twice_as_much_noise_is_found() -> None:
    moves = noise(2_000)
    moves[1:, 1] = moves[:-1, 0] + 2.0 * moves[1:, 1]
    (found,) = lagged_symbols(market(moves))
    # 1 / sqrt(5)
    assert found.correlation == pytest.approx(0.447, abs=0.05)


def test_smoothed_and_bouncing_prices_predict_themselves() -> None:
    moves = noise(2_000)
    steps = moves.copy()
    for bar in range(1, len(moves)):
        moves[bar, 0] = 0.6 * moves[bar - 1, 0] + 0.4 * steps[bar, 0]
    bounce = 0.01 * np.sign(np.random.default_rng(5).standard_normal(2_001))
    moves[:, 1] = 0.002 * steps[:, 1] / 0.01 + np.diff(bounce)
    smooth, bouncing = sorted(lagged_symbols(market(moves)), key=lambda each: each.follower)
    assert (smooth.leader, smooth.follower, smooth.lag) == ("S0", "S0", 1)
    assert smooth.correlation == pytest.approx(0.6, abs=0.06)
    assert (bouncing.leader, bouncing.follower) == ("S1", "S1")
    assert bouncing.correlation == pytest.approx(-0.5, abs=0.06)
    assert str(smooth).endswith("are its prices smoothed?")
    assert str(bouncing).endswith("are its prices bouncing between bid and ask?")


@pytest.mark.parametrize("seed", range(5))
def test_independent_returns_and_one_shared_jump_are_no_relation(seed: int) -> None:
    moves = noise(250, 20, seed)
    moves[100, 0], moves[101, 1] = 1.0, 1.0
    assert lagged_symbols(market(moves)) == []


def test_common_returns_on_the_same_bar_are_no_relation() -> None:
    moves = noise(1_000, 4, 2)
    assert lagged_symbols(market(moves[:, :1] + 0.1 * moves)) == []


def test_slowly_changing_interest_is_no_relation() -> None:
    rate = 1e-4 * (1.0 + np.sin(np.arange(2_000) / 300.0))
    moves = rate[:, None] + 1e-5 / 0.01 * noise(2_000)
    assert lagged_symbols(market(moves)) == []


@pytest.mark.parametrize("universe", ["major", "all"])
@pytest.mark.parametrize("name", oo.data.names())
def test_the_bundled_markets_have_no_such_symbol(name: str, universe: str) -> None:
    assert lag_warnings(oo.data.load(name, universe)) == ()


def test_missing_closes_splits_and_constant_prices_are_handled() -> None:
    moves = noise(600)
    moves[1:, 1] = moves[:-1, 0]
    moves[:, 2] = 0.0
    close = 100.0 * np.exp(np.cumsum(np.vstack([np.zeros(3), moves]), axis=0))
    close[50:60, 0], close[300:, :] = np.nan, close[300:, :] / 2.0
    splits = np.ones_like(close)
    splits[300] = 2.0
    dataset = oo.Dataset.from_arrays(dates_of(601), ["A", "B", "C"], close, splits=splits, name="gaps")
    (found,) = lagged_symbols(dataset)
    assert (found.leader, found.follower, found.n_returns) == ("A", "B", 599 - 11)
    assert found.correlation > 0.97
    assert lagged_symbols(market(noise(40))) == []
    assert lagged_symbols(market(noise(3, 2))) == []


def test_the_others_are_counted() -> None:
    moves = noise(400, 6)
    for place in range(1, 6):
        moves[1:, place] = moves[:-1, 0] + 0.001 * place * np.sign(moves[1:, place])
    warnings = lag_warnings(market(moves))
    assert len(warnings) == 4
    assert warnings[-1] == "2 other symbols have predictable returns"


def test_the_data_check_and_the_board_name_both_symbols(tmp_path: Path) -> None:
    moves = noise(400)
    moves[1:, 2] = moves[:-1, 0]
    dataset = market(moves)
    table = ["date,S0,S1,S2"]
    table += [
        ",".join([date, *map(repr, row)]) for date, row in zip(dataset.dates, dataset.close.tolist(), strict=True)
    ]
    (tmp_path / "prices.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    done = typed("data", "check", "prices.csv", "--json", cwd=tmp_path)
    (warning,) = json.loads(done.stdout)["warnings"]
    assert warning.startswith("the returns of S2 follow those of S0 by 1 bar (correlation 1.00")
    assert warning in typed("data", "check", "prices.csv", cwd=tmp_path).stdout
    record = oo.run_backtest(dataset, "equal-weight", (20, 400), capture=True).record
    config = {"draws": {"replicates": 9}}
    assert oo.score([record], dataset=dataset, config=config).caveats[0] == f"made: {warning}"
