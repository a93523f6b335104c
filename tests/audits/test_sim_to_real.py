"""The experiment of examples/sim_to_real.py follows its design, and its page has the committed results."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count
from numpy.typing import NDArray

import openoutcry as oo
from openoutcry.audits.realism import panel_of
from openoutcry.audits.realism.stylized_facts import autocorrelation
from openoutcry.scenarios.scenario import Scenario

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import sim_to_real as script  # noqa: E402

Array = NDArray[np.float64]
QUICK = script.arguments(["--quick"])
PAGE = (ROOT / "docs" / "sim-to-real.md").read_text(encoding="utf-8")
COMMITTED = json.loads((ROOT / "docs" / "sim-to-real.json").read_text(encoding="utf-8"))


class RecordedPlay:
    """Records the calls of `play`: market, bars and number of members."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[oo.Dataset, tuple[int, int], int]] = []
        self._play: Callable[..., Array] = script.play
        monkeypatch.setattr(script, "play", self)

    def __call__(self, world: Any, window: tuple[int, int], members: Array) -> Array:
        self.calls.append((world.dataset, window, len(members)))
        return self._play(world, window, members)


@pytest.fixture(scope="module")
def quick() -> tuple[dict[str, Any], RecordedPlay]:
    with pytest.MonkeyPatch.context() as patch:
        played = RecordedPlay(patch)
        return script.experiment(QUICK), played


def test_the_experiment_is_deterministic(quick: tuple[dict[str, Any], RecordedPlay]) -> None:
    assert script.experiment(QUICK) == quick[0]


def test_every_arm_has_the_same_budget(quick: tuple[dict[str, Any], RecordedPlay]) -> None:
    _, played = quick
    training = [call for call in played.calls if call[2] == QUICK.population]
    spent: dict[str, int] = {}
    for dataset, (start, end), n_members in training:
        arm = "real" if "USD" in dataset.symbols else "gaussian" if "G0" in dataset.symbols else "tier"
        spent[arm] = spent.get(arm, 0) + (end - start - 1) * n_members
    each = len(script.TASKS) * QUICK.seeds * QUICK.generations * QUICK.population * QUICK.bars
    assert spent == dict.fromkeys(script.ARMS, each)


def test_training_and_test_days_do_not_overlap(quick: tuple[dict[str, Any], RecordedPlay]) -> None:
    _, played = quick
    split = "2015-01-01"
    real = [(dataset, window, n) for dataset, window, n in played.calls if "USD" in dataset.symbols]
    trained = [dataset.dates[-1] for dataset, _, n in real if n == QUICK.population]
    judged = [dataset.dates[start] for dataset, (start, _), n in real if n != QUICK.population]
    assert len(judged) == len(script.TASKS)
    assert max(trained) < split <= min(judged)


def test_months_and_half_years_divide_the_test_period() -> None:
    market = script.markets_of(None)["ecb-fx"]
    (_, split), (start, end) = script.ranges(market)
    assert split == start
    assert (end - start - 1) % script.BLOCK == script.BLOCK % script.MONTH == 0
    assert market.dataset.n_bars - end < script.BLOCK


def test_no_feature_depends_on_a_later_bar() -> None:
    market, bar = Scenario("hard", 3).dataset(), 700
    whole, cut = script.world_of(market), script.world_of(market.head(bar))
    n = bar - script.LOOKBACK
    for name in ("symbols", "index", "known"):
        assert np.array_equal(getattr(whole, name)[:n], getattr(cut, name))
    assert whole.known.any()
    assert not whole.known.all()


def test_no_feature_depends_on_the_level_of_prices() -> None:
    market = oo.data.load("ecb-fx").head(600)
    scales = 2.0 ** np.arange(market.n_symbols)
    scaled = oo.Dataset.from_arrays(
        market.dates, market.symbols, market.close * scales, periods_per_year=market.periods_per_year
    )
    assert np.array_equal(script.world_of(market).symbols, script.world_of(scaled).symbols)


def clustering(returns: Array) -> float:
    return float(np.median([autocorrelation(np.abs(each[np.isfinite(each)]), 1) for each in returns.T]))


def test_the_gaussian_twin_has_the_volatility_and_correlation_of_a_tier_without_clustering() -> None:
    for tier in ("hard", "fx"):
        market = Scenario(tier, 5).dataset()
        returns = panel_of(market).returns
        returns = returns[:, np.isfinite(returns).sum(axis=0) >= 250]
        twin = panel_of(script.gaussian_of(market, 0.0, np.random.default_rng(0))).returns
        # The standard error of a deviation over 2,520 draws is 1.4 %.
        np.testing.assert_allclose(twin.std(axis=0), np.nanstd(returns, axis=0), rtol=0.06)
        full = np.isfinite(returns).all(axis=0)
        ours, theirs = np.corrcoef(twin[:, full].T), np.corrcoef(returns[:, full].T)
        assert np.abs(ours - theirs).max() < 0.1
        assert clustering(returns) > 0.08
        assert abs(clustering(twin)) < 0.02


def test_the_twin_has_the_requested_drift() -> None:
    market, drift = Scenario("hard", 5).dataset(), 0.002
    twin = np.expm1(panel_of(script.gaussian_of(market, drift, np.random.default_rng(0))).returns)
    mean = twin.mean(axis=1)
    assert abs(mean.mean() - drift) < 3.0 * mean.std() / len(mean) ** 0.5


def sums_of(returns: Array) -> Array:
    return np.asarray(script.sums_of(returns, 0.1, 252.0))


def test_metrics_equal_those_of_the_engine() -> None:
    fx = oo.data.load("ecb-fx")
    run = oo.run_backtest(fx, "equal-weight", (100, 100 + 4 * script.BLOCK + 1))
    whole = script.sums_of(run.returns[:, None], 0.1, 256.0).sum(axis=1)
    years = len(run.returns) / 256.0
    assert script.measured("growth", whole, 256.0)[0] == pytest.approx(np.log(run.nav[-1]) / years)
    # The engine divides the variance by n - 1.
    assert script.measured("sharpe", whole, 256.0)[0] == pytest.approx(run.metrics["sharpe"], rel=2e-3)


def test_the_miss_of_the_target_volatility_is_a_mean_over_months() -> None:
    days = np.tile([1.0, -1.0], script.BLOCK // 2)[:, None]
    twice, right = 0.2 / 252**0.5 * days, 0.1 / 252**0.5 * days
    for returns, expected in ((right, 0.0), (twice, np.log(2.0)), (twice / 4.0, np.log(2.0))):
        assert script.measured("miss", sums_of(returns).sum(axis=1), 252.0)[0] == pytest.approx(expected)


def test_an_interval_of_constant_returns_is_a_point() -> None:
    one, other = (sums_of(np.full((5 * script.BLOCK, 4), each)) for each in (0.002, 0.001))
    value, low, high = script.interval("growth", one, other, 252.0, 50)
    assert value == pytest.approx(252.0 * np.log(1.002 / 1.001))
    assert (low, high) == (pytest.approx(value), pytest.approx(value))


@pytest.mark.parametrize(("between_seeds", "between_days"), [(5e-4, 1e-4), (0.0, 3e-3), (1e-4, 1e-3)])
def test_an_interval_has_its_nominal_coverage(between_seeds: float, between_days: float) -> None:
    n_seeds, n_days, n_trials, gain = 12, 12 * script.BLOCK, count(600, 150), 2e-4
    hits = 0
    for trial in range(n_trials):
        rng = np.random.default_rng(trial)
        market = 0.005 * rng.standard_normal((n_days, 1))
        # The arms differ by seed, by day, and by their interaction.
        differs = between_seeds * rng.standard_normal(n_seeds) + between_days * rng.standard_normal((n_days, 1))
        differs = gain + differs + 1e-4 * rng.standard_normal((n_days, n_seeds))
        sums = sums_of(np.expm1(market + differs)), sums_of(np.expm1(np.repeat(market, n_seeds, axis=1)))
        _, low, high = script.interval("growth", *sums, 252.0, 300)
        hits += low <= 252.0 * gain <= high
    # With twelve seeds or blocks, a percentile interval covers 92 to 95 % of the time.
    assert 0.88 <= hits / n_trials <= 0.99


@pytest.mark.parametrize("task", script.TASKS)
def test_the_page_has_the_committed_tables(task: str) -> None:
    assert script.table(COMMITTED, task) in PAGE


def test_the_committed_results_follow_the_design() -> None:
    given = script.arguments([])
    settings = {name: value for name, value in vars(given).items() if name not in ("stocks", "quick")}
    assert COMMITTED["settings"] == settings
    assert set(COMMITTED["markets"]) == {"ecb-fx", "stocks"}
    for market in COMMITTED["markets"].values():
        assert market["trained_before"][1] < market["judged"][0]
        assert all(len(task["seeds"]["tier"]) == given.seeds for task in market["tasks"].values())
