"""Who remembers a market is found, in the arm that says how, and who does not is rarely taken for one who does."""

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
from openoutcry.audits.contamination import Design, Verdict, check, spread
from openoutcry.audits.contamination.arms import Place, jobs_of
from openoutcry.audits.contamination.findings import adjusted
from openoutcry.audits.contamination.paired_differences import MIN_BARS, SAME, difference_of
from openoutcry.audits.contamination.permuted_twins import reordered, twin
from openoutcry.audits.contamination.planted_agents import Memoriser
from openoutcry.harness import AgentError, Launcher, Session
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec
from openoutcry.scoring import multiple_testing

pytestmark = pytest.mark.once

Array = NDArray[np.float64]
FX = oo.data.load("ecb-fx").head(1_300)
WINDOWS = spread(FX, 2, 70)
QUICK = Design(n_repeats=1, n_twins=3, n_draws=500, seed=0)
ALIKE = ("equal-weight", "momentum", "mean-reversion", "inverse-volatility")
MARKETS = settings(max_examples=count(200, 12))


def market_of(seed: int, n_days: int = 120) -> oo.Dataset:
    """Return a market with opens, volume, dividends and splits, in which every symbol always trades."""
    spec = ScenarioSpec("hard", n_symbols=4, n_days=n_days, late_listings=0.0, delisting_rate=0.0, halt_rate=0.0)
    return Scenario(spec, seed, split="test").dataset()


# Twins


@MARKETS
@given(seed=st.integers(0, 2**32 - 1), block_bars=st.floats(1.0, 40.0))
def test_every_bar_is_in_a_twin_once(seed: int, block_bars: float) -> None:
    bars = reordered(np.random.default_rng(seed), 7, 90, block_bars)
    assert sorted(bars.tolist()) == list(range(7, 90))


def test_blocks_are_as_long_as_they_should_be() -> None:
    for block_bars in (1.0, 5.0, 20.0):
        bars = reordered(np.random.default_rng(1), 0, 20_000, block_bars)
        kept = float(np.mean(np.diff(bars) == 1))
        assert kept == pytest.approx(1.0 - 1.0 / block_bars, abs=0.01)


@MARKETS
@given(seed=st.integers(0, 2**32 - 1))
def test_a_twin_moves_as_its_bars_do_and_is_the_market_before(seed: int) -> None:
    market, start = market_of(seed % 50), 30
    sources = reordered(np.random.default_rng(seed), start + 1, market.n_bars, 5.0)
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


def test_who_always_holds_the_same_earns_the_same_by_the_bar_that_moved_it() -> None:
    market = market_of(1)
    design = Design(n_repeats=1, n_twins=4, seed=0)
    verdict = check(lambda _: {"orders": []}, market, [(30, 120)], design)
    assert verdict.name.is_rounding
    assert verdict.path.is_rounding
    held = np.full((market.n_bars, 4), 0.25)
    rules = oo.CostModel.zero()
    named = oo.run_backtest(market, held, (30, 120), rules).returns
    sources = reordered(np.random.default_rng(2), 31, 120, 5.0)
    returns = oo.run_backtest(twin(market, 30, sources), held, (30, 120), rules).returns
    by_source = np.empty(89)
    by_source[sources - 31] = returns
    # The first bar of either begins with cash; and what is rebalanced at an open has drifted since the one before.
    apart = np.abs(by_source - named)
    apart[[0, sources[0] - 31]] = 0.0
    assert apart.max() < 0.02 * named.std()


def test_pairing_by_the_bar_that_moved_it_takes_the_noise_of_the_market_out() -> None:
    verdict = check("equal-weight", FX, WINDOWS, QUICK)
    noise = np.concatenate([each.named[0] for each in verdict.tracks]).std() / sqrt(verdict.n_bars)
    assert verdict.path.standard_error is not None
    assert verdict.path.standard_error < 0.05 * noise
    assert verdict.found == ()


# The interval


def test_the_p_value_is_that_of_the_field() -> None:
    rng = np.random.default_rng(5)
    noise = rng.standard_normal(400) * 0.01
    series = noise + 0.5 * np.concatenate([[0.0], noise[:-1]]) + 0.001
    ours = difference_of(series, [200, 200], 0.05, 8_000, 1)
    theirs = multiple_testing.mean_test(series, [200, 200], seed=1, n_draws=8_000, block_length=ours.block_length)
    assert ours.block_length == pytest.approx(multiple_testing.block_length(series, windows=[200, 200]))
    assert ours.mean == pytest.approx(theirs.mean)
    assert ours.p_value == pytest.approx(theirs.p_value, abs=0.015)


@pytest.mark.parametrize(
    ("name", "path", "told"),
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
def test_two_tests_that_agree_are_not_made_to_pay_for_each_other(
    name: float | None, path: float | None, told: tuple[float | None, float | None]
) -> None:
    assert adjusted(name, path) == told


@pytest.mark.parametrize("autocorrelation", [0.0, 0.4])
def test_the_interval_errs_as_often_as_it_says(autocorrelation: float) -> None:
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
    # One test, said twice, but for the rank at which a quantile is taken.
    assert abs(wrong - low) <= 0.01 * n


def test_what_is_undefined_says_why() -> None:
    same = difference_of(np.full(200, 1e-12), [200], 0.05, 500, 0)
    assert (same.p_value, same.low, same.undefined["p_value"]) == (None, None, SAME)
    short = difference_of(np.arange(10.0), [10], 0.05, 500, 0)
    assert short.mean == 4.5
    assert short.undefined["low"] == f"at least {MIN_BARS} bars in all are required; received 10"
    verdict = check("random", FX, [(100, 130)], QUICK)
    assert verdict.found == ()
    assert verdict.complaint is not None
    assert "cannot be judged: at least" in verdict.sentence


# Who is found


@pytest.mark.parametrize("agent", ALIKE)
def test_who_looks_at_returns_alone_earns_the_same_in_disguise(agent: str) -> None:
    verdict = check(agent, FX, WINDOWS, QUICK)
    assert verdict.name.is_rounding
    assert verdict.adjusted["name"] is None
    assert abs(verdict.name.mean) < 1e-12
    assert "it earns the same in disguise, to rounding" in verdict.sentence or "path" in verdict.found


def test_who_remembers_more_is_worth_more_and_is_found() -> None:
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
def test_each_memory_is_found_by_the_arm_that_hides_what_it_recognises(memory: str, found: tuple[str, ...]) -> None:
    verdict = check(Memoriser(FX, 0.5, memory), FX, WINDOWS, QUICK)
    assert verdict.found == found
    assert verdict.exit_code == {2: 1, 1: 3}[len(found)]
    assert verdict.n_twins_below == QUICK.n_twins


def test_who_remembers_how_a_year_went_is_found_by_name_alone() -> None:
    # Whole years: in a twin of a part of two, some of a year would be in the other.
    years = [(f"{year}-01-01", f"{year + 1}-01-01") for year in range(2000, 2004)]
    verdict = check(Memoriser(FX, 1.0, "drift"), FX, years, QUICK)
    assert verdict.found == ("name",)


def test_a_disguise_of_names_alone_does_not_hide_dates() -> None:
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
    assert "recognises the path by what a disguise of names leaves" in found["names"].sentence


# How it is tried


class Counted(Launcher):
    """An agent of this process that is told of by its beginnings."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.answer, self.begun = answer, 0

    @property
    def name(self) -> str:
        return "counted"

    def begin(self) -> Session:
        self.begun += 1
        return Once(self.answer)


class Once(Session):
    """An agent that must not be asked by a second run."""

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
def test_every_run_is_by_an_agent_that_was_begun_for_it(n_jobs: int) -> None:
    agent, runs = Counted(lambda _: '{"orders":[]}'), []
    verdict = check(agent, FX, WINDOWS, QUICK, n_jobs=n_jobs, on_run=lambda: runs.append(1))
    assert agent.begun == len(runs) == len(WINDOWS) * QUICK.runs_a_window
    assert verdict.name.is_rounding
    assert "to rounding" in verdict.sentence


def test_the_arms_are_in_an_order_that_the_seed_fixes() -> None:
    places = [Place.of(FX, window, 20) for window in WINDOWS]
    orders = [[(job.window, job.arm, job.number) for job in jobs_of(places, Design(seed=seed))] for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
    assert len({arm for _, arm, _ in orders[0][:6]}) > 1


def test_two_disguises_of_a_window_differ_and_runs_of_it_as_it_is_do_not() -> None:
    jobs = jobs_of([Place.of(FX, WINDOWS[0], 20)], Design(n_repeats=2, n_twins=2, seed=0))
    markets = {(job.arm, job.number): job.market() for job in jobs}
    assert markets["named", 0] == markets["named", 1]
    assert markets["masked", 0] != markets["masked", 1]
    assert markets["twins", 0] != markets["twins", 1]
    start = WINDOWS[0][0]
    assert markets["named", 0].dates[:20] == FX.dates[start - 19 : start + 1]


def test_a_seed_that_is_not_given_is_drawn_and_told() -> None:
    first, second = Design(), Design()
    assert first.seed != second.seed
    assert first.to_dict()["seed"] == first.seed < 2**53


def test_the_same_seed_is_the_same_verdict() -> None:
    first, again, other = (check("random", FX, WINDOWS, Design(seed=seed, n_draws=500)).to_dict() for seed in (3, 3, 4))
    assert first == again
    assert first["means"] != other["means"]


def test_an_agent_that_fails_in_one_arm_is_not_judged_by_it() -> None:
    def dies(observation: str) -> str:
        if '"USD"' not in observation:
            raise AgentError("agent_died", "an agent must answer until its run ends; received its end")
        return '{"orders":[{"symbol":"USD","action":"buy","target_weight":1}]}'

    verdict = check(Counted(dies), FX, WINDOWS, QUICK)
    assert verdict.faults.keys() == {"masked"}
    assert sum(verdict.faults["masked"].values()) == verdict.n_bars
    assert verdict.found == ()
    assert verdict.complaint is not None
    assert "in the arm `masked`" in verdict.complaint


def test_news_are_left_out_of_every_arm_and_that_is_said() -> None:
    told = {"news": [("A", "2000-01-10", "A falls"), ("A", "2000-01-11", "A rises")]}
    dates = np.datetime_as_string(np.datetime64("2000-01-03") + np.arange(90)).tolist()
    close = np.exp(np.cumsum(np.random.default_rng(1).normal(0.0, 0.01, (90, 2)), axis=0))
    market = oo.Dataset.from_arrays(dates, ["A", "B"], close, **told)  # type: ignore[arg-type]
    seen: list[str] = []
    verdict = check(lambda shown: seen.append(str(shown)) or {"orders": []}, market, [(2, 90)], Design(1, 1, seed=0))
    assert verdict.notices == ("2 news items left out of every arm: a disguise cannot show them",)
    assert not any("falls" in text for text in seen)


# What is refused


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        ([], "at least one window is required; received none"),
        ([(20, 60), (40, 80)], "windows must share no return; received one to bar 60 and one from bar 40"),
        ([(20, 22)], "a window must have at least 3 bars; received 2"),
        ([(20, 99_999)], "window_invalid"),
    ],
)
def test_windows_that_cannot_be_tried_are_refused(windows: list[tuple[int, int]], told: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="window_invalid") as caught:
        check("momentum", FX, windows)
    assert told in str(caught.value)


def test_a_symbol_that_does_not_close_is_named() -> None:
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
def test_a_design_that_is_none_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(oo.OpenOutcryError, match=next(iter(given))):
        Design(**given)  # type: ignore[arg-type]


def test_jobs_are_for_agents_that_are_begun_for_each_run() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`n_jobs` must be 1 for an agent of this process; received 2"):
        check("momentum", FX, WINDOWS, n_jobs=2)


def test_windows_are_spread_from_the_first_full_lookback_to_the_end() -> None:
    spans = spread(FX, 4, 126)
    assert spans[0] == (19, 145)
    assert spans[-1][1] == FX.n_bars
    with pytest.raises(oo.OpenOutcryError, match="must be in the market; received 1300 bars"):
        spread(FX, 100, 126)
    assert isinstance(check("hold-cash", FX, spread(FX, 1, 3), Design(1, 1, seed=0)), Verdict)
