"""Test the recipes of examples/: their markets, their rules, the committed results and the page that shows them."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openoutcry as oo

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import recipe_markets as recipes  # noqa: E402
import recipe_report as report  # noqa: E402

PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
RESULTS: dict[str, Any] = json.loads((ROOT / "docs" / "recipes.json").read_text(encoding="utf-8"))
TRADED = {name: found for name, found in RESULTS.items() if found["edge"] != report.CONTROL and not found["undone"]}
CONTROLS = {name: found for name, found in RESULTS.items() if found["edge"] == report.CONTROL}
CHANGED_FROM = 150


@cache
def unseen(name: str) -> list[oo.Dataset]:
    return recipes.unseen_markets(recipes.EDGES[name])


@pytest.mark.parametrize("name", recipes.EDGES)
def test_markets_and_rules_are_those_of_the_committed_results(name: str) -> None:
    edge = recipes.EDGES[name]
    ratios = recipes.sharpe(recipes.play(edge, unseen(name), edge.rule))
    stated = [found for found in RESULTS.values() if found["edge"] == name]
    assert {found["digest"] for found in stated} == {edge.digest()}
    assert edge.digest() in PAGE
    for found in stated:
        assert found["rule"]["value"] == pytest.approx(ratios.mean(), rel=0.0, abs=1e-9)
    assert edge.text in PAGE


def changed(edge: recipes.Edge, market: oo.Dataset) -> oo.Dataset:
    """Return the market with other prices from `CHANGED_FROM` on."""
    factor = np.ones((market.n_bars, 1))
    factor[CHANGED_FROM:, 0] = np.exp(np.random.default_rng(3).normal(0.0, 0.05, market.n_bars - CHANGED_FROM))
    tables = {"close": market.close * factor}
    if edge.family == "pairs":
        tables |= {name: getattr(market, name) * factor for name in ("open", "high", "low")}
    tables["close"][CHANGED_FROM:, 0] *= 1.03
    for name in ("high", "low"):
        if name in tables:
            tables[name] = (np.maximum if name == "high" else np.minimum)(tables[name], tables["close"])
    return edge.with_features(oo.Dataset.from_arrays(market.dates, market.symbols, periods_per_year=252.0, **tables))


@pytest.mark.parametrize("name", recipes.EDGES)
def test_no_observation_and_no_rule_reads_a_later_bar(name: str) -> None:
    edge = recipes.EDGES[name]
    seen: list[list[Any]] = []

    def watched(observation: Any) -> Any:
        weights = edge.rule(observation)
        seen[-1].append(np.concatenate([observation, weights], axis=1))
        return weights

    market = edge.markets(1, CHANGED_FROM + 20, split="validation")[0]
    for each in (market, changed(edge, market)):
        seen.append([])
        recipes.play(edge, [each], watched, window=(60, CHANGED_FROM + 20))
    one, other = (np.concatenate(rows) for rows in seen)
    known = CHANGED_FROM - 60
    # The last row was decided at the close before the first changed bar.
    assert np.array_equal(one[:known], other[:known])
    assert not np.array_equal(one[known], other[known])


def test_a_feature_reads_no_later_bar() -> None:
    edge = recipes.EDGES["pairs"]
    market = edge.markets(1, 200, split="validation")[0]
    assert market.with_features({f"checked_{name}": function for name, function in edge.features}).n_bars == 200
    with pytest.raises(oo.OpenOutcryError, match="later"):
        market.with_features({"leak": lambda each: np.append(recipes.spread(each)[1:], 0.0)})


@pytest.mark.parametrize("name", [name for name, edge in recipes.EDGES.items() if edge.plant])
def test_a_planted_return_depends_only_on_noise_until_its_bar(name: str) -> None:
    edge = recipes.EDGES[name]
    assert edge.plant is not None
    noise = np.random.default_rng(1).normal(0.0, 0.01, (100, 3, edge.n_symbols))
    other = noise.copy()
    other[60:] += 0.01
    before = noise.copy()
    edge.plant(noise, edge.strength)
    edge.plant(other, edge.strength)
    assert np.array_equal(noise[:60], other[:60])
    assert not np.array_equal(noise[:60], before[:60])


def test_the_sharpe_ratio_of_cash_is_undefined() -> None:
    ratios = recipes.sharpe(np.array([[0.0, 0.0], [0.01, 0.03]]))
    assert np.isnan(ratios[0])
    assert ratios[1] == pytest.approx(2.0 * 252.0**0.5)
    assert recipes.interval(ratios[None]) == {"value": None, "low": None, "high": None}


def test_intervals_resample_seeds_and_markets() -> None:
    draw = np.random.default_rng(0)
    seeds, markets = draw.normal(0.0, 1.0, (40, 1)), draw.normal(0.0, 1.0, (1, 60))
    found = recipes.interval(seeds + markets)
    width = 2 * 1.96 * (seeds.var() / 40 + markets.var() / 60) ** 0.5
    assert found["high"] - found["low"] == pytest.approx(width, rel=0.05)
    assert recipes.interval(2.0 * np.ones((3, 1)) * markets, markets[0])["low"] == pytest.approx(2.0)


def test_every_result_has_five_seeds_that_end_where_their_curves_end() -> None:
    assert len(TRADED) == 10
    assert len(CONTROLS) == 3
    for found in RESULTS.values():
        assert [curve[-1][1] for curve in found["curves"]] == found["seeds"]
        assert len(found["seeds"]) == len(found["seconds"]) == 5
        assert np.mean(found["seeds"]) == pytest.approx(found["sharpe"]["value"], abs=1e-4)


def test_recipes_reach_four_fifths_of_their_rule_and_nothing_is_learnt_on_martingales() -> None:
    short = {name: found["ratio"]["value"] for name, found in TRADED.items() if found["ratio"]["value"] < 0.8}
    assert short == {}
    for found in CONTROLS.values():
        assert found["before_costs"]["low"] <= 0.0 <= found["before_costs"]["high"]
        assert found["gain"]["low"] <= 0.0 <= found["gain"]["high"]


def test_the_page_states_the_shares_of_a_better_hedge() -> None:
    edge = recipes.EDGES["pairs"]
    better = recipes.sharpe(recipes.play(edge, unseen("pairs"), recipes.HEDGED)).mean()
    ppo, sac = (RESULTS[name]["sharpe"]["value"] / better for name in ("ppo-pairs", "sac-pairs"))
    assert f"Sharpe ratio of {better:.2f}; the recipes reach {ppo:.0%} (PPO) and {sac:.0%} (SAC) of that one" in PAGE


def test_the_page_and_the_picture_show_the_committed_results() -> None:
    for table in (report.edge_table, report.control_table, report.choice_table):
        assert table(RESULTS) in PAGE
    picture = (ROOT / "docs" / "images" / "recipes.svg").read_text(encoding="utf-8")
    for found in (*TRADED.values(), *CONTROLS.values()):
        assert f">{found['algorithm']} {found['sharpe']['value']:.2f}<" in picture
