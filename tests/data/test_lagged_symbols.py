"""Symbols with predictable returns: lagged copies, smoothed and bouncing prices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from builders import dates_of
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


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_a_lagged_copy_is_named_with_its_original_and_lag(lag: int) -> None:
    moves = noise()
    moves[lag:, 2] = moves[:-lag, 0]
    (found,) = lagged_symbols(market(moves))
    assert (found.leader, found.follower, found.lag, found.n_returns) == ("S0", "S2", lag, 400 - lag)
    assert found.correlation > 0.97
    (warning,) = lag_warnings(market(moves))
    assert warning.startswith(f"the returns of S2 follow those of S0 by {lag} bar")


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
    assert oo.score([record], dataset=dataset, config=config).caveats == (f"made: {warning}",)
