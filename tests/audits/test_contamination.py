"""The contamination test finds planted memories in the right arms and rarely flags clean agents."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import openoutcry as oo
from openoutcry.audits.contamination import Design, Verdict, check, spread_windows
from openoutcry.audits.contamination.arms import WindowMarket, jobs_of
from openoutcry.audits.contamination.findings import adjusted
from openoutcry.audits.contamination.paired_differences import MIN_BARS, SAME, difference_of
from openoutcry.audits.contamination.permuted_twins import permuted_bars, twin
from openoutcry.audits.contamination.planted_agents import Memoriser
from openoutcry.harness import AgentError, Launcher, Session
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec
from openoutcry.scoring import multiple_testing

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
FX = oo.data.load("ecb-fx").head(1_300)
WINDOWS = spread_windows(FX, 2, 70)
QUICK = Design(n_repeats=1, n_twins=3, n_draws=500, seed=0)
RETURN_BASED = ("equal-weight", "momentum", "mean-reversion", "inverse-volatility")
MARKETS = settings(max_examples=count(200, 12))


def market_of(seed: int, n_days: int = 120) -> oo.Dataset:
    """Return a market with opens, volume, dividends and splits, in which every symbol trades on every bar."""
    spec = ScenarioSpec("hard", n_symbols=4, n_days=n_days, late_listings=0.0, delisting_rate=0.0, halt_rate=0.0)
    return Scenario(spec, seed, split="test").dataset()


# Twins


@MARKETS
@given(seed=st.integers(0, 2**32 - 1), block_bars=st.floats(1.0, 40.0))
def test_a_twin_contains_every_bar_once(seed: int, block_bars: float) -> None:
    bars = permuted_bars(np.random.default_rng(seed), 7, 90, block_bars)
    assert sorted(bars.tolist()) == list(range(7, 90))


def test_blocks_have_the_requested_mean_length() -> None:
    for block_bars in (1.0, 5.0, 20.0):
        bars = permuted_bars(np.random.default_rng(1), 0, 20_000, block_bars)
        kept = float(np.mean(np.diff(bars) == 1))
        assert kept == pytest.approx(1.0 - 1.0 / block_bars, abs=0.01)


@MARKETS
@given(seed=st.integers(0, 2**32 - 1))
def test_a_twin_has_the_returns_of_its_source_bars_and_the_unchanged_market_before(seed: int) -> None:
    market, start = market_of(seed % 50), 30
    sources = permuted_bars(np.random.default_rng(seed), start + 1, market.n_bars, 5.0)
    made = twin(market, start, sources)
    assert (made.symbols, made.dates) == (market.symbols, market.dates)
    assert made.close[: start + 1].tobytes() == market.close[: start + 1].tobytes()
    moved = slice(start + 1, None)
    for name in ("close", "open", "high", "low", "dividends"):
        was, now = getattr(market, name), getattr(made, name)
        np.testing.assert_allclose(
            now[moved] / made.close[start:-1], was[sources] / market.close[sources - 1], rtol=1e-12, atol=0.0
        )
    assert np.array_equal(made.splits[moved], market.splits[sources])
    traded = (market.volume * market.close)[sources]
    np.testing.assert_allclose((made.volume * made.close)[moved], traded, rtol=1e-12)
    np.testing.assert_allclose(made.close[-1], market.close[-1], rtol=1e-10)


def test_constant_weights_earn_the_same_on_a_source_bar_in_both_arms() -> None:
    market = market_of(1)
    design = Design(n_repeats=1, n_twins=4, seed=0)
    verdict = check(lambda _: {"orders": []}, market, [(30, 120)], design)
    assert verdict.name.is_rounding
    assert verdict.path.is_rounding
    held = np.full((market.n_bars, 4), 0.25)
    rules = oo.CostModel.zero()
    named = oo.run_backtest(market, held, (30, 120), rules).returns
    sources = permuted_bars(np.random.default_rng(2), 31, 120, 5.0)
    returns = oo.run_backtest(twin(market, 30, sources), held, (30, 120), rules).returns
    by_source = np.empty(89)
    by_source[sources - 31] = returns
    # The first bar of each path starts with cash, and positions drift between rebalancing at opens.
    apart = np.abs(by_source - named)
    apart[[0, sources[0] - 31]] = 0.0
    assert apart.max() < 0.02 * named.std()


def test_pairing_by_source_bar_removes_market_noise() -> None:
    verdict = check("equal-weight", FX, WINDOWS, QUICK)
    noise = np.concatenate([each.named[0] for each in verdict.returns]).std() / sqrt(verdict.n_bars)
    assert verdict.path.standard_error is not None
    assert verdict.path.standard_error < 0.05 * noise
    assert verdict.found == ()


# The interval


def test_the_p_value_equals_that_of_the_mean_test_in_scoring() -> None:
    rng = np.random.default_rng(5)
    noise = rng.standard_normal(400) * 0.01
    series = noise + 0.5 * np.concatenate([[0.0], noise[:-1]]) + 0.001
    ours = difference_of(series, [200, 200], 0.05, 8_000, 1)
    theirs = multiple_testing.mean_test(series, [200, 200], seed=1, n_draws=8_000, block_length=ours.block_length)
    assert ours.block_length == pytest.approx(multiple_testing.block_length(series, windows=[200, 200]))
    assert ours.mean == pytest.approx(theirs.mean)
    assert ours.p_value == pytest.approx(theirs.p_value, abs=0.015)


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        (0.03, 0.04, (0.04, 0.04)),
        (0.02, 0.5, (0.04, 0.5)),
        (0.5, 0.02, (0.5, 0.04)),
        (0.6, 0.7, (0.7, 0.7)),
        (0.03, 0.03, (0.03, 0.03)),
        (None, 0.04, (None, 0.04)),
        (None, None, (None, None)),
    ],
)
def test_hochberg_adjustment_does_not_penalize_two_small_p_values(
    name: float | None, path: float | None, expected: tuple[float | None, float | None]
) -> None:
    assert adjusted(name, path) == expected


@pytest.mark.parametrize("autocorrelation", [0.0, 0.4])
def test_the_interval_has_its_nominal_error_rate(autocorrelation: float) -> None:
    n, wrong, low = count(4_000, 100), 0, 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        noise = rng.standard_t(4, 253)
        series = noise[1:] + autocorrelation * noise[:-1]
        found = difference_of(series, [126, 126], 0.05, 400, seed)
        assert found.p_value is not None
        assert found.low is not None
        wrong += found.p_value <= 0.05
        low += found.low > 0.0
    most = 0.075 if autocorrelation else 0.06
    assert wrong / n <= most + 2.6 * sqrt(most * (1.0 - most) / n)
    # Both are the same test, except for the rank of the quantile.
    assert abs(wrong - low) <= 0.01 * n


def test_an_undefined_value_has_a_reason() -> None:
    same = difference_of(np.full(200, 1e-12), [200], 0.05, 500, 0)
    assert (same.p_value, same.low, same.undefined["p_value"]) == (None, None, SAME)
    short = difference_of(np.arange(10.0), [10], 0.05, 500, 0)
    assert short.mean == 4.5
    assert short.undefined["low"] == f"at least {MIN_BARS} bars in total are required; received 10"
    verdict = check("random", FX, [(100, 130)], QUICK)
    assert verdict.found == ()
    assert verdict.not_judged is not None
    assert "cannot be judged: at least" in verdict.sentence


# Which agents are found


@pytest.mark.parametrize("agent", RETURN_BASED)
def test_an_agent_that_uses_only_returns_earns_the_same_on_masked_data(agent: str) -> None:
    verdict = check(agent, FX, WINDOWS, QUICK)
    assert verdict.name.is_rounding
    assert verdict.adjusted["name"] is None
    assert abs(verdict.name.mean) < 1e-12
    assert "it earns the same on masked data, up to rounding" in verdict.sentence or "path" in verdict.found


def test_the_effect_grows_with_recall_and_is_found() -> None:
    worth = []
    for recall in np.linspace(0.0, 1.0, count(9, 3)).tolist():
        verdict = check(Memoriser(FX, recall), FX, WINDOWS, QUICK)
        worth.append((verdict.name.mean, verdict.path.mean))
        assert verdict.found == (("name", "path") if recall else ())
        assert verdict.conclusion == ("contaminated" if recall else "not_found")
        assert verdict.is_contaminated == bool(recall)
    names, paths = zip(*worth, strict=True)
    assert list(names) == sorted(names)
    assert list(paths) == sorted(paths)


@pytest.mark.parametrize(
    ("memory", "found"),
    [("date", ("name", "path")), ("price", ("name", "path")), ("returns", ("path",)), ("return", ("path",))],
)
def test_each_memory_is_found_by_the_arm_that_hides_its_cue(memory: str, found: tuple[str, ...]) -> None:
    verdict = check(Memoriser(FX, 0.5, memory), FX, WINDOWS, QUICK)
    assert verdict.found == found
    assert verdict.exit_code == {2: 1, 1: 3}[len(found)]
    assert verdict.n_twins_below == QUICK.n_twins


def test_a_memory_of_annual_returns_is_found_by_name_alone() -> None:
    # Full calendar years, because a twin of parts of two years mixes them.
    years = [(f"{year}-01-01", f"{year + 1}-01-01") for year in range(2000, 2004)]
    verdict = check(Memoriser(FX, 1.0, "drift"), FX, years, QUICK)
    assert verdict.found == ("name",)


def test_masking_names_alone_does_not_hide_dates() -> None:
    market = market_of(3)

    def by_date(observation: dict[str, object]) -> dict[str, object]:
        bar = market.dates.index(str(observation["date"])) if observation["date"] in market.dates else None
        rises = bar is not None and market.close[bar + 1].sum() > market.close[bar].sum()
        shown = [each["symbol"] for each in observation["symbols"]]  # type: ignore[attr-defined]
        weight = 1.0 / len(shown) if rises else 0.0
        return {"orders": [{"symbol": symbol, "action": "buy", "target_weight": weight} for symbol in shown]}

    found = {
        level: check(by_date, market, [(20, 120)], Design(n_twins=3, n_draws=500, masking=level, seed=0))
        for level in ("names", "full")
    }
    assert {level: each.found for level, each in found.items()} == {"names": ("path",), "full": ("name", "path")}
    assert "recognition of the path by data that masking level `names` keeps" in found["names"].sentence


# Experiment


class Counted(Launcher):
    """A launcher that counts its starts."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.answer, self.starts = answer, 0

    @property
    def name(self) -> str:
        return "counted"

    def start(self) -> Session:
        self.starts += 1
        return Once(self.answer)


class Once(Session):
    """A session that fails if a second run uses it."""

    def __init__(self, decide: Callable[[str], str]) -> None:
        self._decide, self._last = decide, ""

    def answer(self, observation: str) -> str:
        date = observation.partition('"date":')[2][:12]
        assert date > self._last
        self._last = date
        return self._decide(observation)

    def finish(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_every_run_starts_a_new_agent(n_jobs: int) -> None:
    agent, runs = Counted(lambda _: '{"orders":[]}'), []
    verdict = check(agent, FX, WINDOWS, QUICK, n_jobs=n_jobs, on_run=lambda: runs.append(1))
    assert agent.starts == len(runs) == len(WINDOWS) * QUICK.runs_a_window
    assert verdict.name.is_rounding
    assert "up to rounding" in verdict.sentence


def test_the_seed_determines_the_order_of_the_runs() -> None:
    places = [WindowMarket.cut(FX, window, 20) for window in WINDOWS]
    orders = [[(job.window, job.arm, job.number) for job in jobs_of(places, Design(seed=seed))] for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
    assert len({arm for _, arm, _ in orders[0][:6]}) > 1


def test_masked_copies_of_a_window_differ_and_named_ones_do_not() -> None:
    jobs = jobs_of([WindowMarket.cut(FX, WINDOWS[0], 20)], Design(n_repeats=2, n_twins=2, seed=0))
    markets = {(job.arm, job.number): job.market() for job in jobs}
    assert markets["named", 0] == markets["named", 1]
    assert markets["masked", 0] != markets["masked", 1]
    assert markets["twins", 0] != markets["twins", 1]
    start = WINDOWS[0][0]
    assert markets["named", 0].dates[:20] == FX.dates[start - 19 : start + 1]


def test_the_default_seed_is_random_and_reported() -> None:
    first, second = Design(), Design()
    assert first.seed != second.seed
    assert first.to_dict()["seed"] == first.seed < 2**53


def test_the_same_seed_gives_the_same_verdict() -> None:
    first, again, other = (check("random", FX, WINDOWS, Design(seed=seed, n_draws=500)).to_dict() for seed in (3, 3, 4))
    assert first == again
    assert first["means"] != other["means"]


def test_an_agent_with_many_faults_in_one_arm_is_not_judged() -> None:
    def dies(observation: str) -> str:
        if '"USD"' not in observation:
            raise AgentError("agent_died", "an agent must answer until its run ends; received its exit")
        return '{"orders":[{"symbol":"USD","action":"buy","target_weight":1}]}'

    verdict = check(Counted(dies), FX, WINDOWS, QUICK)
    assert verdict.faults.keys() == {"masked"}
    assert sum(verdict.faults["masked"].values()) == verdict.n_bars
    assert verdict.found == ()
    assert verdict.not_judged is not None
    assert "in the arm `masked`" in verdict.not_judged


def test_news_are_removed_from_every_arm_with_a_notice() -> None:
    items = {"news": [("A", "2000-01-10", "A falls"), ("A", "2000-01-11", "A rises")]}
    dates = np.datetime_as_string(np.datetime64("2000-01-03") + np.arange(90)).tolist()
    close = np.exp(np.cumsum(np.random.default_rng(1).normal(0.0, 0.01, (90, 2)), axis=0))
    market = oo.Dataset.from_arrays(dates, ["A", "B"], close, **items)  # type: ignore[arg-type]
    seen: list[str] = []
    verdict = check(lambda shown: seen.append(str(shown)) or {"orders": []}, market, [(2, 90)], Design(1, 1, seed=0))
    assert verdict.notices == ("2 news items removed from every arm: they cannot be masked",)
    assert not any("falls" in text for text in seen)


# Refusals


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        ([], "at least one window is required; received none"),
        ([(20, 60), (40, 80)], "windows must not overlap; received one to bar 60 and one from bar 40"),
        ([(20, 22)], "a window must have at least 3 bars; received 2"),
        ([(20, 99_999)], "window_invalid"),
    ],
)
def test_invalid_windows_are_refused(windows: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="window_invalid") as caught:
        check("momentum", FX, windows)
    assert message in str(caught.value)


def test_a_missing_close_is_refused_with_symbol_and_date() -> None:
    close = np.ones((40, 2))
    close[33, 1] = np.nan
    dates = np.datetime_as_string(np.datetime64("2000-01-03") + np.arange(40)).tolist()
    market = oo.Dataset.from_arrays(dates, ["A", "B"], close)
    with pytest.raises(oo.OpenOutcryError, match="received B without a close on 2000-02-05"):
        check("momentum", market, [(20, 40)])
    assert check("momentum", market, [(2, 30)], Design(1, 1, seed=0)).found == ()


@pytest.mark.parametrize(
    "given",
    [
        {"n_twins": 0},
        {"n_repeats": 0},
        {"block_bars": 0.5},
        {"block_bars": float("nan")},
        {"masking": "none"},
        {"level": 0.5},
        {"level": True},
        {"n_draws": 10},
        {"seed": -1},
        {"lookback": 0},
    ],
)
def test_an_invalid_design_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(oo.OpenOutcryError, match=next(iter(given))):
        Design(**given)  # type: ignore[arg-type]


def test_parallel_jobs_require_an_agent_that_is_started_for_each_run() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`n_jobs` must be 1 for an in-process agent; received 2"):
        check("momentum", FX, WINDOWS, n_jobs=2)


def test_windows_are_spread_from_the_first_full_lookback_to_the_end() -> None:
    spans = spread_windows(FX, 4, 126)
    assert spans[0] == (19, 145)
    assert spans[-1][1] == FX.n_bars
    with pytest.raises(oo.OpenOutcryError, match="and 19 bars before them; received 1300 bars"):
        spread_windows(FX, 100, 126)
    assert isinstance(check("hold-cash", FX, spread_windows(FX, 1, 3), Design(1, 1, seed=0)), Verdict)
