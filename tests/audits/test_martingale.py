"""No bot profits on martingale prices, and the test of the gate keeps its size for every strategy."""

from __future__ import annotations

import dataclasses
import json
from functools import partial

import numpy as np
import pytest
from builders import count, dates_of
from numpy.typing import NDArray
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.audits.martingale import SETTINGS, Market, Setting, Training, check, market_of, p_values
from openoutcry.audits.martingale.account_simulation import simulate
from openoutcry.audits.martingale.evolution_strategy import OBJECTIVES, network_policy, train_network
from openoutcry.audits.martingale.martingale_markets import KINDS, WARM_UP
from openoutcry.audits.martingale.rule_bots import BOTS, bot_weights, table_policy
from openoutcry.cli.commands import app
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
QUICK = Training(generations=6, population=12, n_markets=6, n_bars=30)
FREE = next(each for each in SETTINGS if each.name == "free")


def test_no_bot_profits_under_any_setting() -> None:
    verdict = check(n_markets=count(400, 16), n_bars=count(250, 100), training=Training() if count(1, 0) else QUICK)
    assert [f"{row.setting}: {row.bot}" for row in verdict.failures] == []
    assert {row.setting for row in verdict.rows} == {setting.name for setting in SETTINGS}


def test_every_cost_and_limit_has_a_setting() -> None:
    costs, limits = oo.CostModel.zero(), oo.Limits.off()
    for name in ("fee_bps", "slippage_bps", "slippage_jitter", "impact_bps", "financing_bps", "cash_bps", "borrow_bps"):
        assert any(getattr(each.costs, name) != getattr(costs, name) for each in SETTINGS), name
    for name in ("max_weight", "max_gross", "allow_short", "max_participation", "maintenance_margin"):
        assert any(getattr(each.limits, name) != getattr(limits, name) for each in SETTINGS), name
    assert {each.market for each in SETTINGS} == set(KINDS)


def test_the_excess_over_the_profit_of_positions_equals_minus_the_costs() -> None:
    chosen = [each for each in SETTINGS if each.name in {"fee", "default"}]
    verdict = check(chosen, n_markets=6, n_bars=40, training=QUICK)
    paid = {(row.setting, row.bot): row.excess_bps for row in verdict.rows}
    assert paid["fee", "in-and-out"] == pytest.approx(-10.0, rel=1e-9)
    # 2 bp of half-spread, and 1 bp of commission on the traded price.
    assert paid["default", "in-and-out"] == pytest.approx(-3.0, abs=1e-3)


def test_every_kind_of_market_has_the_same_drawn_closes() -> None:
    drawn, wide, closes, actions = (market_of(3, split="test", n_bars=60, kind=kind) for kind in KINDS)
    assert wide.dataset.n_symbols > 8
    assert not closes.dataset.has_opens
    assert np.array_equal(drawn.closes, closes.closes)
    assert np.array_equal(drawn.closes, actions.closes)
    for name in ("dividends", "splits", "delistings", "tradable"):
        assert getattr(drawn.dataset, name) is None
        assert getattr(actions.dataset, name) is not None
    assert not np.array_equal(market_of(3, split="train", n_bars=60).closes, drawn.closes)


def test_dividends_and_splits_leave_total_returns_unchanged() -> None:
    market = market_of(2, split="test", n_bars=120, kind="actions")
    dataset = market.dataset
    assert dataset.dividends is not None
    assert dataset.splits is not None
    basis = np.cumprod(dataset.splits, axis=0)
    paid = np.cumsum(dataset.dividends * basis / dataset.splits, axis=0)
    whole = dataset.close * basis + paid
    listed = np.isfinite(whole)
    assert (basis != 1.0).any()
    assert (paid > 0.0).any()
    assert not listed.all()
    assert np.allclose(whole[listed], market.closes[listed], rtol=1e-12, atol=0.0)


def test_losses_beyond_the_nav_count() -> None:
    markets = [market_of(seed, split="test", n_bars=60) for seed in range(20)]
    staked = dataclasses.replace(FREE, limits=oo.Limits.off(), gross=60.0)
    tally = simulate(markets, staked, len(BOTS), table_policy(bot_weights(markets), staked)).summed()
    held = [bot.name for bot in BOTS].index("hold-all")
    assert tally.n_ruined[held] > 0
    # A return is at least -1, so the sum of returns omits the loss beyond the NAV.
    uncounted = sum(play_alone(markets, staked, held))
    assert tally.gain[held] < uncounted - 0.1


def play_alone(markets: list[Market], setting: Setting, bot: int) -> list[float]:
    """Return the sum of the returns of a bot on each market, by the scalar environment."""
    totals = []
    for market in markets:
        weights = setting.gross * bot_weights([market], [BOTS[bot]])[:, 0, 0]
        env = oo.OpenOutcryEnv(
            dataset=market.dataset,
            window=(WARM_UP, market.dataset.n_bars),
            costs=setting.costs,
            limits=setting.limits,
        )
        env.reset(seed=0)
        total, bar, done = 0.0, 0, False
        while not done:
            _, reward, terminated, truncated, _ = env.step(weights[bar])
            # The reward of a ruin is -1, less the gains of the episode.
            total, bar, done = total + max(float(reward), -1.0), bar + 1, terminated or truncated
        totals.append(total)
    return totals


def market_with_edge(
    seed: int, *, split: str, n_bars: int, kind: str = "drawn", drift: float = 0.0, memory: float = 0.0
) -> Market:
    """Return a market that is not a martingale: it has drift or autocorrelated returns."""
    rng = np.random.default_rng([seed, len(split)])
    days = WARM_UP + n_bars + 1
    moved = 0.01 * rng.standard_normal((days, 4))
    for day in range(1, days):
        moved[day] += drift + memory * moved[day - 1]
    close = 100.0 * np.cumprod(1.0 + moved, axis=0)
    opens = np.vstack([close[:1], close[:-1]])
    dataset = oo.Dataset.from_arrays(dates_of(days), list("ABCD"), close, opens, volume=np.full(close.shape, 1e6))
    return Market(dataset, close, opens)


@pytest.mark.parametrize(
    ("edge", "bot"),
    [({"drift": 0.003}, "hold-all"), ({"memory": 0.25}, "long-short-1"), ({"memory": 0.25}, "evolution-strategy-gain")],
)
def test_a_gain_on_a_market_with_an_edge_is_detected(edge: dict[str, float], bot: str) -> None:
    verdict = check(
        [FREE], n_markets=24, n_bars=100, training=Training(generations=15), draw=partial(market_with_edge, **edge)
    )
    assert bot in {row.bot for row in verdict.failures if row.gain_bps > 0.0}
    assert {row.unexplained for row in verdict.rows} == {False}


def test_an_evolution_strategy_generalizes_to_unseen_markets() -> None:
    made = [
        [market_with_edge(seed, split=split, n_bars=100, memory=0.25) for seed in range(16)]
        for split in ("train", "test")
    ]
    train, fresh = made
    assert not np.array_equal(train[0].closes, fresh[0].closes)
    parameters = train_network(train, FREE, "gain", Training(generations=15), 0)[None]
    tally = simulate(fresh, FREE, 1, network_policy(parameters, len(fresh), FREE)).summed()
    assert p_values(tally.gain, tally.spread, both_ways=False)[0] < 1e-3
    again = train_network(train, FREE, "gain", Training(generations=15), 0)[None]
    assert np.array_equal(parameters, again)
    assert set(OBJECTIVES) == {"gain", "excess"}


def test_the_test_keeps_its_size_over_all_outcomes_of_coin_flips() -> None:
    """Enumerate the 16,384 outcomes of 14 flips, for constant and doubling stakes."""
    flips = 2 * (np.arange(2**14)[:, None] >> np.arange(14) & 1) - 1.0
    for doubles in (True, False):
        won, spread = np.zeros(len(flips)), np.zeros(len(flips))
        for flip in flips.T:
            stake = np.where(won > 0.0, 0.0, 0.1 - won) if doubles else np.full(len(flips), 0.1)
            won, spread = won + stake * flip, spread + stake**2
        for both_ways in (True, False):
            p = p_values(won, spread, both_ways=both_ways)
            for level in (0.5, 0.2, 0.05, 0.01):
                assert np.mean(p <= level) <= level
        assert doubles is bool(np.mean(won > 0.0) > 0.99)


def test_the_test_detects_a_gain_of_six_standard_errors() -> None:
    gain = np.array([0.0, 3.0, 6.0, -6.0, 60.0])
    for scale in (0.1, 10.0):
        p = p_values(scale * gain, np.full(5, scale**2), both_ways=False)
        assert (np.diff(p[[0, 1, 2, 4]]) <= 0.0).all()
        assert p[0] == p[3] == 1.0
        assert p[2] < 1e-5
        assert p_values(scale * gain, np.full(5, scale**2), both_ways=True)[3] < 1e-5


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ([FREE], {"n_markets": 3}, "`n_markets` must be at least 8; received 3"),
        ([FREE], {"n_bars": 40}, "`n_bars` must be at least 41; received 40"),
        ([], {}, "with distinct names; received none"),
        ([FREE, FREE], {}, "with distinct names; received free, free"),
    ],
)
def test_invalid_settings_are_refused(settings: list[Setting], arguments: dict[str, int], message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="argument_invalid") as caught:
        check(settings, **arguments)
    assert message in str(caught.value)


def test_the_command_passes_the_engine() -> None:
    chosen = [word for name in ("default", "free") for word in ("--setting", name)]
    words = ["martingale", "--markets", "8", "--bars", "50", "--generations", "2", *chosen]
    passed = CliRunner().invoke(app, words)
    assert passed.exit_code == 0, passed.output
    assert "no bot profits" in passed.output
    result = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert result["passed"] is True
    assert {row["setting"] for row in result["rows"]} == {"default", "free"}
    assert len(result["rows"]) == 2 * (len(BOTS) + len(OBJECTIVES))
    assert "doubling" in CliRunner().invoke(app, [*words, "--every"]).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--setting", "nothing"], "must be one of free"), (["--markets", "2"], "`--markets` must be at least 8")],
)
def test_the_command_refuses_invalid_arguments(arguments: list[str], message: str) -> None:
    refused = CliRunner().invoke(app, ["martingale", *arguments])
    assert isinstance(refused.exception, oo.OpenOutcryError)
    assert message in str(refused.exception)


def independent(seed: int, n_symbols: int, n_bars: int) -> Market:
    """Return a martingale with independent symbols."""
    still = [{"half_life": 5.0, "sd": 0.0}] * 2
    spec = ScenarioSpec(
        "martingale", n_symbols=n_symbols, n_days=WARM_UP + n_bars + 1, market_vol=0.0, sector_vol=0.0, swings=still
    )
    dataset = Scenario(spec, seed, split="test").dataset()
    assert dataset.open is not None
    return Market(dataset, dataset.close, dataset.open)


def doubling(market: Market, aim: float, most: float) -> Array:
    """Return the weights of doubling strategies, one for each symbol, that stop once they have won `aim`.

    Each stakes the amount that a typical move would turn into `aim` plus all losses, at most `most`.
    """
    closes, opens = market.closes[WARM_UP:], market.opens[WARM_UP:]
    usual = np.std(np.diff(np.log(market.closes[:WARM_UP]), axis=0), axis=0)
    n_bars, n = closes.shape
    weights, nav, shares = np.zeros((n_bars, n, n)), np.ones(n), np.zeros(n)
    for bar in range(n_bars - 1):
        stake = np.where(nav >= 1.0 + aim, 0.0, np.minimum((1.0 + aim - nav) / usual / np.maximum(nav, 1e-9), most))
        stake = np.where(nav > 0.0, stake, 0.0)
        weights[bar] = np.diag(stake)
        wanted = stake * nav / closes[bar]
        nav = nav + shares * (opens[bar + 1] - closes[bar]) + wanted * (closes[bar + 1] - opens[bar + 1])
        shares = wanted
    return weights


def t_test(values: Array) -> Array:
    """Return the t statistic of the mean along the last axis."""
    spread = np.maximum(values.std(axis=-1, ddof=1), 1e-12)
    return values.mean(axis=-1) / spread * values.shape[-1] ** 0.5


@pytest.mark.parametrize(("most", "limits"), [(1.0, oo.Limits()), (20.0, oo.Limits.off())], ids=["gross 1", "gross 20"])
def test_a_doubling_strategy_does_not_break_the_test(
    most: float, limits: oo.Limits, capsys: pytest.CaptureFixture[str]
) -> None:
    """Doubling wins nearly every episode and loses everything in the rest, so a t-test reports skill."""
    n_symbols, n_bars, a_test = 40, 40, 20
    n_markets = count(500, 100)
    setting = Setting("doubling", limits=limits)
    gains, spreads, ruined = [], [], 0.0
    for first in range(0, n_markets, 20):
        markets = [independent(seed, n_symbols, n_bars) for seed in range(first, min(first + 20, n_markets))]
        weights = np.stack([doubling(market, 0.002, most) for market in markets], axis=2)
        tally = simulate(markets, setting, n_symbols, table_policy(weights, setting))
        gains.append(tally.gain.T.ravel())
        spreads.append(tally.spread.T.ravel())
        ruined += tally.n_ruined.sum()
    gain, spread = (np.concatenate(each).reshape(-1, a_test) for each in (gains, spreads))
    p = p_values(gain.sum(axis=1), spread.sum(axis=1), both_ways=False)
    alarms, student = np.mean(p < 0.05), np.mean(t_test(gain) > 1.729)
    with capsys.disabled():
        sample = f"{len(gain)} tests of {a_test} episodes, {np.mean(gain > 0):.0%} won, {ruined:.0f} ruined"
        print(f"\ndoubling at gross {most:g}: {sample}; false alarms at 5 %: {alarms:.1%}, of a t-test {student:.1%}")
    assert len(gain) >= 200
    assert alarms <= 0.05
    assert student > 0.1
    assert bool(ruined) is (most > 1.0)
