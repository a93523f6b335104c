"""Intervals, comparisons, difficulty adjustment and calibration, against simulation and other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from arena_seasons import forecast_table
from builders import Array, count
from scipy import stats

from openoutcry import openoutcry_py as native
from openoutcry.arena import scoring
from openoutcry.arena.scoring import Parameters, ScoreInputs
from openoutcry.arena.scoring.forecast_calibration import wilson

pytestmark = pytest.mark.once

SEED = 20_260_509
RATE = "0.4"
N_SEASONS = count(1_000, 150)


def draw_forecasts(
    rng: np.random.Generator, noise: list[float], n_markets: int, share: float = 1.0
) -> tuple[Array, Array]:
    """Return forecasts, shape `(n_agents, n_markets)`, NaN for none, and outcomes, shape `(n_markets,)`.

    The logits of the true probabilities are normal, and each agent observes them with its own noise.
    """
    logit = rng.normal(-0.4, 1.2, n_markets)
    seen = logit + np.array(noise)[:, None] * rng.normal(size=(len(noise), n_markets))
    probabilities = 1.0 / (1.0 + np.exp(-seen))
    probabilities[rng.random(probabilities.shape) > share] = np.nan
    return probabilities, rng.random(n_markets) < 1.0 / (1.0 + np.exp(-logit))


def season(
    rng: np.random.Generator, noise: list[float], n_markets: int, share: float = 1.0, **rules: int
) -> ScoreInputs:
    probabilities, outcomes = draw_forecasts(rng, noise, n_markets, share)
    return forecast_table(probabilities, outcomes, RATE, **rules)


def within(n_held: int, n: int, expected: float) -> bool:
    """Return whether a number of covering intervals is plausible at the 0.1 % level."""
    return stats.binom.cdf(n_held, n, expected) > 0.0005 and stats.binom.sf(n_held - 1, n, expected) > 0.0005


def test_intervals_have_their_nominal_coverage() -> None:
    #
    """93 to 97 % of seasons, for the Brier score and for skill."""
    rng = np.random.default_rng(SEED)
    noise = [0.0, 0.5, 1.5]
    probabilities, outcomes = draw_forecasts(rng, noise, 2_000_000)
    truth = np.mean((probabilities.round(6) - outcomes) ** 2, axis=1)
    n_covered = np.zeros((2, len(noise)))
    for _ in range(N_SEASONS):
        rows = sorted(scoring.score(season(rng, noise, 300)).rows, key=lambda row: row.slug)
        for agent, row in enumerate(rows):
            n_covered[0, agent] += row.brier_low <= truth[agent] <= row.brier_high
            skill = 1.0 - truth[agent] / 0.24
            n_covered[1, agent] += row.brier_skill_score_low <= skill <= row.brier_skill_score_high
    print(f"seed {SEED}: {n_covered / N_SEASONS}")
    if N_SEASONS >= 1_000:
        assert np.all((n_covered / N_SEASONS >= 0.93) & (n_covered / N_SEASONS <= 0.97)), n_covered
    assert all(within(int(each), N_SEASONS, 0.945) for each in n_covered.flat), n_covered


def test_p_values_of_equally_skilled_agents_are_uniform() -> None:
    #
    rng = np.random.default_rng(SEED + 1)
    p_values, shares = [], []
    for seed in range(count(2_000, 300)):
        forecasts = scoring.select(season(rng, [0.6, 0.6], 120, 0.9, seed=seed))
        found = scoring.compare(forecasts, "agent-0000", "agent-0001")
        p_values.append(found.p_value)
        shares.append(found.p_better)
    for values in (p_values, shares):
        found = stats.kstest(values, "uniform")
        print(f"seed {SEED + 1}: {found}")
        assert found.pvalue > 0.001


def test_a_better_agent_is_detected_in_either_order() -> None:
    forecasts = scoring.select(season(np.random.default_rng(SEED + 2), [0.0, 2.0], 400))
    found = scoring.compare(forecasts, "agent-0000", "agent-0001")
    other = scoring.compare(forecasts, "agent-0001", "agent-0000")
    assert (found.n_markets, found.p_value, found.p_better) == (400, 1 / 2_000, 1.0)
    assert found.low < found.difference < found.high < 0.0
    assert (other.difference, other.p_value, other.p_better) == (-found.difference, found.p_value, 0.0)


def test_a_comparison_uses_common_markets_and_reports_too_few_of_them() -> None:
    probabilities = np.full((2, 30), np.nan)
    probabilities[0, :20], probabilities[1, 11:] = 0.25, 0.5
    forecasts = scoring.select(forecast_table(probabilities, np.zeros(30, dtype=bool), RATE))
    found = scoring.compare(forecasts, "agent-0000", "agent-0001")
    assert (found.n_markets, found.difference, found.reason) == (9, None, "too_few_markets")
    enough = scoring.compare(
        scoring.select(forecast_table(probabilities, np.zeros(30, dtype=bool), RATE, min_markets=9)),
        "agent-0000",
        "agent-0001",
    )
    assert enough.difference == 0.0625 - 0.25
    with pytest.raises(ValueError, match="received 'nobody'"):
        scoring.compare(forecasts, "agent-0000", "nobody")


def test_the_sign_flip_p_value_equals_the_exact_one() -> None:
    """Against scipy's exact permutation test."""
    rng = np.random.default_rng(SEED + 3)
    for seed in range(5):
        differences = rng.integers(-100, 140, 14)
        exact = stats.permutation_test(
            (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
        ).pvalue
        found = native.paired_forecasts(differences, n_draws=200_000, seed=seed)[3]
        assert found == pytest.approx(exact, abs=0.006)


def test_intervals_equal_those_of_a_numpy_bootstrap() -> None:
    #
    """Markets are drawn with all their forecasts."""
    rng = np.random.default_rng(SEED + 4)
    probabilities, outcomes = draw_forecasts(rng, [0.2, 0.8, 1.4], 150, 0.7)
    made = forecast_table(probabilities, outcomes, RATE, n_draws=20_000)
    rows = sorted(scoring.score(made).rows, key=lambda row: row.slug)
    losses = (probabilities.round(6) - outcomes) ** 2
    counts = rng.multinomial(150, np.full(150, 1 / 150), 20_000).astype(float)
    sums, n = counts @ np.nan_to_num(losses).T, counts @ (~np.isnan(probabilities)).T.astype(float)
    briers, skills = sums / n, 1.0 - sums / n / 0.24
    ranks = 1 + np.sum(skills[:, None, :] > skills[:, :, None], axis=2)
    spread = briers.std(axis=0)
    for agent, row in enumerate(rows):
        low, high = np.quantile(briers[:, agent], [0.025, 0.975])
        assert row.brier_low == pytest.approx(low, abs=spread[agent] / 15)
        assert row.brier_high == pytest.approx(high, abs=spread[agent] / 15)
        assert row.brier_skill_score_low == pytest.approx(1 - high / 0.24, abs=spread[agent] / 15 / 0.24)
        assert row.p_best == pytest.approx(np.mean(ranks[:, agent] == 1), abs=0.02)
        assert row.p_top == row.p_best
        assert row.p_rank == pytest.approx(np.mean(ranks[:, agent] <= row.rank), abs=0.02)
        assert row.rank_low <= row.rank <= row.rank_high


def test_agents_with_too_few_markets_have_no_interval_and_no_rank_probability() -> None:
    probabilities = np.full((3, 40), 0.5)
    probabilities[0, 9:], probabilities[0, :9] = np.nan, 0.0
    rows = scoring.score(forecast_table(probabilities, np.zeros(40, dtype=bool), RATE)).rows
    assert (rows[0].rank, rows[0].brier) == (1, 0.0)
    assert (rows[0].brier_low, rows[0].p_best, rows[0].reasons["p_best"]) == (None, None, "too_few_markets")
    assert [row.p_best for row in rows[1:]] == [0.5, 0.5]


def test_the_seed_determines_the_resamples_and_is_on_the_board() -> None:
    probabilities, outcomes = draw_forecasts(np.random.default_rng(SEED + 5), [0.2, 0.8], 60)
    one, same, other = (scoring.score(forecast_table(probabilities, outcomes, RATE, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert one.rows[0].brier_low != other.rows[0].brier_low
    assert one.to_json()["parameters"]["seed"] == 1


def dummies(agent: Array, market: Array, loss: Array) -> Array:
    """Return least-squares agent effects with market effects, shifted to the mean loss."""
    design = np.zeros((len(loss), int(agent.max()) + int(market.max()) + 2))
    design[np.arange(len(loss)), agent] = 1.0
    design[np.arange(len(loss)), int(agent.max()) + 1 + market] = 1.0
    effects = np.linalg.lstsq(design, loss, rcond=None)[0][: int(agent.max()) + 1]
    return effects - effects[agent].mean() + loss.mean()


@pytest.mark.parametrize("seed", range(count(50, 8)))
def test_the_difficulty_adjustment_equals_least_squares_with_dummies(seed: int) -> None:
    #
    rng = np.random.default_rng(SEED + 100 + seed)
    probabilities, outcomes = draw_forecasts(rng, list(rng.uniform(0.0, 2.0, 12)), 60, 0.4)
    probabilities[:, 0] = 0.5
    forecasts = scoring.select(forecast_table(probabilities, outcomes, RATE))
    expected = dummies(forecasts.agent, forecasts.market, forecasts.loss / 10**12)
    rows = sorted(scoring.board(forecasts).rows, key=lambda row: row.slug)
    assert [row.brier_adjusted for row in rows] == pytest.approx(expected, abs=1e-10)


def test_skipping_hard_markets_improves_skill_but_not_the_adjusted_score() -> None:
    #
    """The purpose of the adjustment."""
    rng = np.random.default_rng(SEED + 6)
    logit = np.repeat([0.0, 5.0], 100)
    probabilities = np.tile(1.0 / (1.0 + np.exp(-logit)), (3, 1))
    outcomes = rng.random(200) < probabilities[0]
    probabilities[0, :100], probabilities[0, 100:] = np.nan, 0.9
    rows = {row.slug[-1]: row for row in scoring.score(forecast_table(probabilities, outcomes, RATE)).rows}
    assert rows["0"].brier_skill_score > rows["1"].brier_skill_score
    assert rows["0"].brier_adjusted > rows["1"].brier_adjusted


def test_agents_that_share_no_market_are_not_compared() -> None:
    probabilities = np.full((3, 30), np.nan)
    probabilities[0, :10], probabilities[1:, 10:] = 0.5, 0.5
    rows = {
        row.slug[-1]: row for row in scoring.score(forecast_table(probabilities, np.zeros(30, dtype=bool), RATE)).rows
    }
    assert (rows["0"].brier_adjusted, rows["0"].reasons["brier_adjusted"]) == (None, "not_connected")
    assert (rows["0"].peer_score, rows["0"].reasons["peer_score"]) == (None, "no_peer")
    assert rows["1"].brier_adjusted == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 9, 50, 4_000])
def test_wilson_intervals_equal_those_of_scipy(n: int) -> None:
    #
    for true in {0, 1, n // 3, n - 1, n}:
        expected = stats.binomtest(true, n).proportion_ci(0.95, method="wilson")
        assert wilson(true, n) == pytest.approx((expected.low, expected.high), rel=1e-12, abs=1e-15)


def test_bins_are_tenths_and_the_last_includes_one() -> None:
    #
    probabilities = np.array([[0.0, 0.099999, 0.1, 0.3, 0.7, 0.899999, 0.9, 1.0]])
    (row,) = scoring.score(forecast_table(probabilities, np.ones(8, dtype=bool), RATE)).rows
    assert [each.n for each in row.calibration.bins] == [2, 1, 0, 1, 0, 0, 0, 1, 1, 2]
    last, empty = row.calibration.bins[-1], row.calibration.bins[2]
    assert (last.low, last.high, last.mean_forecast, last.observed) == (0.9, 1.0, 0.95, 1.0)
    assert (empty.mean_forecast, empty.observed, empty.observed_low) == (None, None, None)
    parts = row.calibration
    assert parts.binned_brier == pytest.approx(parts.reliability - parts.resolution + parts.uncertainty)


def test_a_certain_but_wrong_forecast_has_a_bounded_log_score() -> None:
    #
    """Clipped to 0.001."""
    (row,) = scoring.score(forecast_table(np.array([[1.0]]), np.array([False]), RATE)).rows
    assert row.log_score == pytest.approx(np.log(0.001), rel=1e-15)
    assert Parameters().log_clip == "0.001"
