"""Statistics of a run page against independent formulas, and the page of a recorded run."""

from __future__ import annotations

import html
import json
import re
import shlex
from functools import cache
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from explaining_agent import Outspoken
from scipy.stats import binomtest
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.report.run_report import full_view_of
from openoutcry.report.run_statistics import calibration_of, rolling_of, skill_of
from openoutcry.report.run_trace import trace_of
from openoutcry.scoring.null_agents import (
    LEVELS,
    fan_label,
    n_agents_of,
    nav_quantiles,
    outside_share,
    random_weights,
)

pytestmark = pytest.mark.once


@cache
def recorded() -> oo.Run:
    data = oo.data.load("ecb-fx")
    return oo.run_backtest(data, Outspoken(every=5), (100, 700), name="outspoken", capture=True)


def test_the_rolling_sharpe_ratio_covers_one_year_and_has_a_standard_error() -> None:
    run = oo.run_backtest(oo.data.load("us-treasury"), "momentum", (100, 900))
    assert run.dataset.risk_free is not None
    rolling, periods = rolling_of(run), run.dataset.periods_per_year
    assert rolling
    excess = run.returns - run.dataset.risk_free[101:900]
    n = round(periods)
    assert rolling.n_returns == n
    assert np.isnan(rolling.sharpe[:n]).all()
    for bar in (n, 500, 799):
        last = excess[bar - n : bar]
        ratio = last.mean() / last.std(ddof=1)
        centred = last - last.mean()
        skew, kurtosis = (np.mean(centred**k) / np.mean(centred**2) ** (k / 2) for k in (3, 4))
        variance = 1.0 - skew * ratio + (kurtosis - 1.0) / 4.0 * ratio**2
        assert rolling.sharpe[bar] == pytest.approx(ratio * sqrt(periods), rel=1e-10)
        assert rolling.error[bar] == pytest.approx(sqrt(periods * variance / (n - 1)), rel=1e-10)


def test_the_rolling_window_of_a_short_run_is_half_of_it_or_none() -> None:
    data = oo.data.load("ecb-fx")
    half = rolling_of(oo.run_backtest(data, "momentum", (100, 201)))
    assert half
    assert half.n_returns == 50
    assert rolling_of(oo.run_backtest(data, "momentum", (100, 130))) is None


def test_only_several_trials_deflate_the_sharpe_ratio() -> None:
    alone, chosen = skill_of(recorded()), skill_of(recorded(), 46)
    assert alone
    assert chosen
    assert alone.values["dsr"] == alone.values["psr"] == chosen.values["psr"]
    assert chosen.values["dsr"] < alone.values["dsr"]  # type: ignore[operator]
    assert "min_btl" not in alone.values
    assert chosen.values["min_btl"] is None
    assert "no track record is long enough" in chosen.reasons["min_btl"]


def test_undefined_skill_statistics_have_a_reason() -> None:
    cash = skill_of(oo.run_backtest(oo.data.load("ecb-fx"), "hold-cash", (20, 60)))
    assert cash
    assert cash.values["dsr"] is cash.values["min_trl"] is None
    assert "varying returns" in cash.reasons["dsr"]
    # Over a varying risk-free rate, the Sharpe ratio of cash measures the rate.
    assert skill_of(oo.run_backtest(oo.data.load("us-treasury"), "hold-cash", (20, 400))) is None


def test_a_page_says_in_words_that_constant_returns_have_no_sharpe_ratio(tmp_path: Path) -> None:
    run = oo.run_backtest(oo.data.load("ecb-fx"), "hold-cash", (20, 60))
    page = Path(run.report(tmp_path / "cash.html")).read_text(encoding="utf-8")
    assert "<li id=" in page
    assert ">undefined: the returns are constant</li>" in page
    assert "The deflated Sharpe ratio is undefined: the returns are constant." in page
    assert "received constant returns" not in page
    assert run.undefined["sharpe"] == "varying returns are required; received constant returns"


def test_confidence_is_compared_with_the_close_of_the_fill_bar() -> None:
    run = recorded()
    texts = run.record.decisions[0]
    found = calibration_of(trace_of(run, texts), run.dataset.symbols)
    columns = (run.trades[name].tolist() for name in ("bar", "symbol", "price"))
    prices = {(bar, symbol): price for bar, symbol, price in zip(*columns, strict=True)}
    stated, outcomes = [], []
    for bar, text in enumerate(texts, 101):
        for order in json.loads(text)["orders"]:
            if (price := prices.get((bar, order["symbol"]))) is not None:
                close = run.dataset.close[bar, run.dataset.symbols.index(order["symbol"])]
                stated.append(order["confidence"])
                outcomes.append(order["target_weight"] * (close / price - 1.0) > 0.0)
    assert found.n_stated == found.n_orders == len(stated) > 500
    assert found.brier == pytest.approx(np.mean((np.array(stated) - outcomes) ** 2), rel=1e-12)
    assert found.brier_always_base == pytest.approx(np.mean(outcomes) * (1.0 - np.mean(outcomes)), rel=1e-12)
    for each in found.bins:
        inside = [hit for one, hit in zip(stated, outcomes, strict=True) if each.low <= one < each.high]
        assert each.n_orders == len(inside)
        if inside:
            wilson = binomtest(sum(inside), len(inside)).proportion_ci(0.95, method="wilson")
            assert each.interval == pytest.approx((wilson.low, wilson.high), abs=1e-12)


def test_hold_and_close_orders_and_faults_are_excluded_from_calibration() -> None:
    data = oo.data.load("ecb-fx")
    symbol = data.symbols[0]

    def agent(observation: dict[str, object]) -> dict[str, object]:
        action = "close" if observation["portfolio"] else "buy"
        order = {"symbol": symbol, "action": action, "target_weight": 0.5, "confidence": 0.6}
        return {"orders": [order]}

    run = oo.run_backtest(data, agent, (100, 140), capture=True)
    texts = run.record.decisions[0]
    bought = sum(json.loads(text)["orders"][0]["action"] == "buy" for text in texts)
    found = calibration_of(trace_of(run, texts), data.symbols)
    assert found.n_stated == found.n_orders == bought
    silent = calibration_of(trace_of(run, texts, dict.fromkeys(range(len(texts)), "timeout")), data.symbols)
    assert (silent.n_orders, silent.brier) == (0, None)


def test_random_agents_match_gross_exposure_short_share_and_turnover_of_the_run() -> None:
    data = oo.data.load("ecb-fx")
    run = oo.run_backtest(data, Outspoken(every=5), (100, 700))
    lots = [oo.run_backtest(data, table, (100, 700)) for table in random_weights(run, 40)]
    held = run.weights[1:]
    short = -held[held < 0.0].sum() / np.abs(held).sum()
    drawn = np.concatenate([lot.weights[1:] for lot in lots])
    assert np.abs(drawn).sum(axis=1).mean() == pytest.approx(np.abs(held).sum(axis=1).mean(), rel=0.05)
    assert -drawn[drawn < 0.0].sum() / np.abs(drawn).sum() == pytest.approx(short, abs=0.05)
    assert np.mean([lot.turnover.sum() for lot in lots]) == pytest.approx(run.turnover.sum(), rel=0.15)
    # All agents differ, and the same seed gives the same agents.
    assert len({lot.nav[-1] for lot in lots}) == 40
    again = random_weights(run, 40)
    assert all(np.array_equal(a.decisions, b[100:699], equal_nan=True) for a, b in zip(lots, again, strict=True))


def test_random_agents_do_not_hold_a_symbol_before_it_is_listed() -> None:
    close = np.cumprod(1.0 + np.random.default_rng(3).normal(0.0, 0.01, (80, 2)), axis=0)
    close[:60, 1] = np.nan
    dates = [str(np.datetime64("2020-01-01") + k) for k in range(80)]
    run = oo.run_backtest(
        oo.Dataset.from_arrays(dates, ["A", "B"], close, periods_per_year=252.0), "equal-weight", (20, 80)
    )
    tables = list(random_weights(run, 20))
    assert all(not np.nan_to_num(table[:60, 1]).any() for table in tables)
    # The weight of the unlisted B goes to A: the agent holds its full NAV, or cash on the first bar.
    first = np.array([table[20, 0] for table in tables])
    assert ((first == 0.0) | (np.abs(first - 1.0) < 0.01)).all()
    assert first.any()
    assert any(np.nan_to_num(table[60:, 1]).any() for table in tables)


def test_nav_quantiles_are_those_of_separate_runs_and_a_long_run_has_fewer_agents() -> None:
    data = oo.data.load("ecb-fx")
    run = oo.run_backtest(data, Outspoken(every=5), (100, 200))
    alone = np.stack([oo.run_backtest(data, table, (100, 200)).nav for table in random_weights(run, 11)])
    fan = nav_quantiles(run, 11)
    assert all(np.array_equal(fan[level], np.quantile(alone, level, axis=0)) for level in LEVELS)
    bars = 250_000
    dates = np.datetime64("2020-01-01T00:00") + np.arange(bars) * np.timedelta64(1, "m")
    long = oo.Dataset.from_arrays(dates, ["A"], np.linspace(100.0, 200.0, bars)[:, None])
    assert n_agents_of(run) == 200
    assert n_agents_of(oo.run_backtest(long, "hold-cash")) == 80


def test_the_share_of_runs_without_skill_outside_the_fan_is_that_of_draws() -> None:
    draws = np.random.default_rng(0).normal(size=(20_000, 81))
    for n_agents in (24, 80):
        low, high = np.quantile(draws[:, 1 : n_agents + 1], (LEVELS[0], LEVELS[-1]), axis=1)
        measured = ((draws[:, 0] < low) | (draws[:, 0] > high)).mean()
        assert outside_share(n_agents) == pytest.approx(measured, abs=0.01)
    assert outside_share(200) < 0.11
    assert "(about 17% of runs without skill end outside)" in fan_label(24)
    assert "outside" not in fan_label()


def test_nav_quantiles_are_ordered_and_empty_for_a_run_without_positions() -> None:
    run = recorded()
    fan = nav_quantiles(run, 30)
    assert tuple(fan) == LEVELS
    assert (np.diff(np.stack(list(fan.values())), axis=0) >= 0.0).all()
    assert nav_quantiles(oo.run_backtest(run.dataset, "hold-cash", (20, 60))) == {}


def verify_command(page: str) -> list[str]:
    found = re.search(r"<code>(openoutcry replay [^<]+)</code>", page)
    assert found
    return shlex.split(html.unescape(found[1]))


def digest_of(page: str) -> str:
    found = re.search(r"<code>([0-9a-f]{64})</code>", page)
    assert found
    return found[1]


@pytest.mark.parametrize("suffix", [".json", ".jsonl.zst"])
def test_the_command_on_a_page_verifies_its_run(tmp_path: Path, suffix: str) -> None:
    record, page = tmp_path / f"my run{suffix}", tmp_path / "run.html"
    options = ["--data", "ecb-fx:USD,JPY", "--agent", "momentum", "--window", "100:400"]
    done = CliRunner().invoke(app, ["run", *options, "--record", str(record), "--report", str(page), "--trials", "20"])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    replayed = CliRunner().invoke(app, verify_command(text)[1:])
    assert replayed.exit_code == 0, replayed.output
    assert f"verified {digest_of(text)}" in replayed.output
    assert oo.RunRecord.load(record).in_sample_trials == 20
    assert "after 21 trials" in text


@pytest.mark.parametrize("universe", [None, "all", ["USD", "CHF"]])
def test_a_saved_record_is_verified_by_the_name_of_its_market(tmp_path: Path, universe: list[str] | str | None) -> None:
    run = oo.run_backtest(oo.data.load("ecb-fx", universe), "momentum", (100, 200), capture=True)
    run.record.save(tmp_path / "run.json")
    run.report(tmp_path / "run.html", record=tmp_path / "run.json")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert digest_of(text) == run.record.digest
    assert CliRunner().invoke(app, verify_command(text)[1:]).exit_code == 0


def test_the_command_names_a_data_file_and_its_periods_per_year(tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    rows = np.cumprod(1.0 + np.random.default_rng(1).normal(0.0, 0.02, 60))
    days = np.datetime64("2021-01-01") + np.arange(60)
    prices.write_text("date,A\n" + "".join(f"{day},{row:.6f}\n" for day, row in zip(days, rows, strict=True)))
    run = oo.run_backtest(oo.Dataset.from_csv(prices, 300.0), "momentum", capture=True)
    run.record.save(tmp_path / "run.json")
    run.report(tmp_path / "run.html", record=tmp_path / "run.json", data=str(prices))
    command = verify_command((tmp_path / "run.html").read_text(encoding="utf-8"))
    assert command[-2:] == ["--periods-per-year", "300.0"]
    assert CliRunner().invoke(app, command[1:]).exit_code == 0


def test_without_a_record_file_a_page_shows_the_digest_but_no_command(tmp_path: Path) -> None:
    run = recorded()
    run.report(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert digest_of(text) == run.record.digest
    assert "openoutcry replay" not in text
    bare = oo.run_backtest(run.dataset, "momentum", (100, 200))
    bare.report(tmp_path / "bare.html")
    assert '<div class="check">' not in (tmp_path / "bare.html").read_text(encoding="utf-8")
    with pytest.raises(oo.OpenOutcryError, match="`n_trials` must be"):
        bare.report(tmp_path / "bare.html", n_trials=0)


def test_a_recorded_run_shows_every_section() -> None:
    view = full_view_of(recorded())
    assert view.fan
    assert view.trace
    assert view.rolling
    assert view.skill
    assert view.calibration
