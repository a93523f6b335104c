"""Names of agents: every door of a backtest reads a strategy or a candidate in the same way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import openoutcry as oo
from openoutcry.agents import NAMES
from openoutcry.backtest.decision_makers import definition_of, named_agent
from openoutcry.backtest.strategies import LIBRARY, Strategy, from_json
from openoutcry.backtest.strategies.observing_agent import observing_agent
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.strategy_text import call_text, strategy_of_text, text_of_strategy
from openoutcry.scoring.baseline_board import run_board

pytestmark = pytest.mark.once

FX = oo.data.load("ecb-fx").select(["USD", "JPY", "GBP"]).between(5000, 5320)
CANDIDATE: dict[str, Any] = {
    "format": "openoutcry/candidate/v1",
    "strategy": "trend",
    "params": {"fast": 5, "slow": 65, "side": "long"},
    "market": {"name": "ecb-fx", "symbols": ["USD"], "last": "2020-01-01", "fingerprint": "0" * 64},
    "provenance": {"session_id": "s", "trial": "t"},
}


@pytest.mark.parametrize("name", LIBRARY)
def test_a_strategy_as_text_decides_as_its_agent_does_to_the_bit(name: str) -> None:
    strategy = LIBRARY[name]()
    text = f"{name}:" if name in NAMES else name
    run = oo.run_backtest(FX, text)
    agent = oo.run_backtest(FX, strategy.agent(FX.symbols), lookback=strategy.lookback)
    assert run.window == agent.window
    assert run.nav.tobytes() == agent.nav.tobytes()
    assert call_text("Blend", {}) == "Blend", "no dangling colon"
    assert (run.name, run.strategy) == (text_of_strategy(strategy), strategy.to_json())
    assert strategy_of_text(run.name) == strategy


def test_values_of_a_text_have_the_types_of_their_ranges() -> None:
    assert strategy_of_text("pairs:entry=2,window=60").params["entry"] == 2.0
    assert strategy_of_text("trend:fast=20,side=long-short").params == {
        "fast": 20,
        "slow": 200,
        "side": "long-short",
    }


@pytest.mark.parametrize(
    ("text", "slug", "part"),
    [
        ("trend:fast=20.0", "argument_invalid", "`fast` must be an integer from 2 to 60; received '20.0'"),
        ("trend:fast=True", "argument_invalid", "`fast` must be an integer"),
        ("trend:fast=999", "argument_invalid", "from 2 to 60; received 999"),
        ("trend:slow=66", "argument_invalid", "`slow` must be 65 plus a multiple of 5"),
        ("trend:side=short", "argument_invalid", "`side` must be among"),
        ("trend:fsat=3", "argument_invalid", "hint: `fast`"),
        ("trend:fast", "argument_invalid", "parameters of `trend` must be fast=2..60"),
        ("trend:fast=3,fast=4", "argument_invalid", "hint: omit one of the values of `fast`"),
        ("trend:fast=2_0", "argument_invalid", "hint: plain decimal digits, such as `fast=20`"),
        ("trend:fast=\uff12\uff10", "argument_invalid", "hint: plain decimal digits, such as `fast=20`"),
        ("trend:fast=\u0662\u0660", "argument_invalid", "`fast` must be an integer from 2 to 60"),
        ("trend:fast=+5", "argument_invalid", "hint: plain decimal digits, such as `fast=50`"),
        ("trend:fast=2e1", "argument_invalid", "hint: plain decimal digits"),
        ("trend:fast=" + "9" * 5000, "argument_invalid", "`fast` must be an integer from 2 to 60"),
        ("pairs:entry=2_0", "argument_invalid", "such as `entry=2.0`"),
        ("pairs:entry=.5", "argument_invalid", "`entry` must be a number from 1.0 to 4.0; received '.5'"),
        ("trend:fast=20,", "argument_invalid", "hint: `trend:fast=20`"),
        ("trend:fast=20,,slow=65", "argument_invalid", "hint: `trend:fast=20,slow=65`"),
        ("trend: fast = 20 , side=long", "argument_invalid", "no spaces; received ' fast = 20 , side=long'"),
        ("trend:side=long ", "argument_invalid", "hint: `trend:side=long`"),
        ("volatility-target:target=nan", "argument_invalid", "`target` must be a number"),
        ("trnd:fast=3", "unknown_agent", "hint: `trend:fast=3`"),
        ("tred", "unknown_agent", "hint: `trend`"),
        ("momentm", "unknown_agent", "hint: `momentum`"),
        ("unheard-of", "unknown_agent", "or a strategy: trend, mean-reversion:, momentum:, volatility-target"),
        ("no-such.json", "unknown_agent", "must be a candidate's file"),
    ],
)
def test_an_unknown_name_or_value_is_refused(text: str, slug: str, part: str) -> None:
    with pytest.raises(oo.OpenOutcryError) as raised:
        oo.run_backtest(FX, text)
    assert raised.value.slug == slug
    assert part in str(raised.value)


def test_a_name_of_both_is_the_baseline_which_is_another_rule_than_the_strategy() -> None:
    """Their identities must differ: a ranking that joined them would average two rules."""
    both = set(NAMES) & set(LIBRARY)
    assert both == {"momentum", "mean-reversion"}
    for name in both:
        window = (260, 320)
        baseline, strategy = (oo.run_backtest(FX, text, window) for text in (name, f"{name}:"))
        assert baseline.strategy is None
        assert baseline.nav.tobytes() == oo.run_backtest(FX, oo.agents.Baseline(name), window).nav.tobytes()
        assert not np.array_equal(baseline.decisions, strategy.decisions, equal_nan=True)


def test_a_strategy_of_the_user_runs_and_has_no_definition() -> None:
    class Half(Strategy):
        """Hold half of the account."""

        PARAM_RANGES: ClassVar[Ranges] = {}
        lookback = 1

        def weights(self, closes: Any) -> Any:
            return np.full(closes.shape[1], 0.5 / closes.shape[1])

    run = oo.run_backtest(FX, Half())
    assert run.strategy is None
    assert definition_of(Half()) is None
    assert np.nanmax(run.decisions) == 0.5 / FX.n_symbols


def test_the_content_and_the_file_of_a_candidate_are_its_strategy(tmp_path: Path) -> None:
    assert from_json(CANDIDATE) == LIBRARY["trend"](fast=5, slow=65)
    assert from_json(json.dumps(CANDIDATE)) == from_json(CANDIDATE)
    path = tmp_path / "found.json"
    path.write_text(json.dumps(CANDIDATE, indent=3))
    found = named_agent(str(path))
    path.write_text(json.dumps(dict(reversed(CANDIDATE.items()))))
    assert named_agent(str(path)).name == found.name, "the layout of the file does not matter"
    run = oo.run_backtest(FX, str(path), capture=True)
    assert run.record.agent_id == found.name
    assert found.candidate is not None
    assert found.name == f"trend:fast=5,slow=65,side=long (candidate {found.candidate.digest[:16]})"
    assert run.nav.tobytes() == oo.run_backtest(FX, "trend:fast=5,slow=65").nav.tobytes()
    path.write_text(json.dumps(CANDIDATE | {"params": {"fast": 6, "slow": 65}}))
    assert named_agent(str(path)).name != found.name


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"format": "openoutcry/candidate/v2"}, "`format` openoutcry/candidate/v1; received 'openoutcry/candidate/v2'"),
        ({"params": {"fast": 1}}, "`fast` must be an integer from 2 to 60"),
        ({"strategy": "trnd"}, "a strategy must be one of trend"),
        ({"params": None}, "`params`, an object"),
        ({"market": 3}, "`market` of a candidate must be an object"),
        ({"source": "import os"}, "received code; hint: `openoutcry.research.candidate_agents.load_candidate`"),
    ],
)
def test_an_invalid_candidate_or_code_is_refused_in_process(tmp_path: Path, change: dict[str, Any], part: str) -> None:
    path = tmp_path / "found.json"
    path.write_text(json.dumps(CANDIDATE | change))
    with pytest.raises(oo.OpenOutcryError) as raised:
        oo.run_backtest(FX, str(path))
    assert part in str(raised.value)


@pytest.mark.parametrize("text", ["", "[]", '{"a": NaN}', "[" * 5000, "\0"])
def test_a_file_that_is_no_candidate_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "found.json"
    path.write_text(text)
    with pytest.raises(oo.OpenOutcryError, match="a candidate must be"):
        oo.run_backtest(FX, str(path))


def test_a_sweep_takes_names_strategies_and_the_name_of_a_strategy_with_a_grid() -> None:
    window = (100, 300)
    listed = oo.run_sweep(FX, ["trend:fast=5,slow=65", LIBRARY["trend"](fast=10, slow=65)], window=window)
    grid = oo.run_sweep(FX, "trend", {"fast": [5, 10], "slow": [65]}, window=window)
    assert [run.nav.tobytes() for _, run in listed] == [run.nav.tobytes() for _, run in grid]
    assert [run.strategy for _, run in grid] == [run.strategy for _, run in listed]
    with pytest.raises(oo.OpenOutcryError, match="parameters must be among fast, slow, side"):
        oo.run_sweep(FX, "trend", {"quick": [5]}, window=window)


def test_a_board_runs_all_agents_over_one_window() -> None:
    board = run_board(FX, n_windows=2, names=["momentum", "trend:slow=65"])
    assert {entry.agent for entry in board.entries} == {"momentum", "trend:fast=50,slow=65,side=long", "buy-and-hold"}
    assert {entry.full_run.dates[0] for entry in board.entries} == {FX.dates[64]}


def eventful(n_bars: int = 120) -> oo.Dataset:
    """Return a market with splits, a halt, a late listing and a settlement."""
    rng = np.random.default_rng(5)
    close = 50.0 * np.cumprod(1.0 + 0.02 * rng.standard_normal((n_bars, 4)), axis=0)
    splits, delistings = np.ones(close.shape), np.full(close.shape, np.nan)
    for bar, symbol, ratio in ((40, 0, 2.0), (70, 0, 3.0), (71, 1, 0.1), (90, 0, 1.5)):
        splits[bar, symbol] = ratio
        close[bar:, symbol] /= ratio
    close[50:55, 1] = np.nan
    close[:30, 2] = np.nan
    delistings[100, 3] = close[99, 3]
    close[100:, 3] = np.nan
    dates = [str(date) for date in np.datetime64("2020-01-01") + np.arange(n_bars)]
    return oo.Dataset.from_arrays(dates, list("ABCD"), close, splits=splits, delistings=delistings)


class Means(Strategy):
    """Hold symbols above their mean close, by distance."""

    PARAM_RANGES: ClassVar[Ranges] = {}
    lookback = 60

    def weights(self, closes: Any) -> Any:
        means = np.zeros(closes.shape[1])
        known = np.isfinite(closes).all(axis=0)
        means[known] = closes[:, known].mean(axis=0)
        return np.where(known, np.clip(np.nan_to_num(closes[-1]) / np.where(known, means, 1.0) - 1.0, 0.0, 0.2), 0.0)


@pytest.mark.parametrize("shown", [2, 20, 60, 80])
def test_an_agent_that_stores_closes_decides_as_with_long_observations(shown: int) -> None:
    """Splits, halts, listings and settlements included, to the bit."""
    market = eventful()
    strategy, window = Means(), (0, market.n_bars)
    full = oo.run_backtest(market, strategy.agent(market.symbols), window, lookback=60)
    stored = oo.run_backtest(market, observing_agent(strategy, "means", market.symbols), window, lookback=shown)
    assert np.isfinite(full.decisions[59:]).any()
    assert full.decisions.tobytes() == stored.decisions.tobytes()
    assert full.nav.tobytes() == stored.nav.tobytes()


def test_an_agent_that_stores_closes_starts_again_with_an_earlier_date() -> None:
    market, strategy = eventful(), Means()
    agent = observing_agent(strategy, "means", market.symbols)
    runs = [oo.run_backtest(market, agent, (0, 90), lookback=5) for _ in range(2)]
    assert runs[0].decisions.tobytes() == runs[1].decisions.tobytes()
