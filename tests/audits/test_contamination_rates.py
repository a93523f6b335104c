"""False positive rates of the contamination test, and the tables of docs/contamination.md."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import comb, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count

import openoutcry as oo
from openoutcry.audits.contamination import Design, Verdict, check, spread_windows
from openoutcry.audits.contamination.planted_agents import CLEAN
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import contamination as script  # noqa: E402

LEVEL = 0.05
# A Python agent is ten times slower than a baseline.
DRAWS = {name: count(300, 40) for name in script.BASELINES} | {each: count(300, 6) for each in CLEAN}
PAGE = (ROOT / "docs" / "contamination.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "docs" / "contamination.json").read_text(encoding="utf-8"))


@cache
def verdicts(agent: Any) -> list[Verdict]:
    found = []
    for seed in range(DRAWS[agent]):
        spec = ScenarioSpec("martingale", n_symbols=4, n_days=148)
        market = Scenario(spec, seed, split="test").dataset()
        found.append(check(agent, market, spread_windows(market, 2, 64), Design(1, 4, n_draws=400, seed=seed)))
    return found


def most(n: int) -> int:
    """Return the maximum number of findings among `n` clean agents: the level plus 2.6 standard errors."""
    return int(LEVEL * n + 2.6 * sqrt(LEVEL * (1.0 - LEVEL) * n))


@pytest.mark.parametrize("agent", DRAWS, ids=lambda each: getattr(each, "__name__", each))
def test_a_clean_agent_is_found_at_most_at_the_level(agent: str | Callable[..., object]) -> None:
    found = verdicts(agent)
    assert sum(bool(each.found) for each in found) <= most(len(found))
    assert all(each.not_judged is None for each in found)


def test_all_clean_agents_together_are_found_at_most_at_the_level() -> None:
    found = [each for agent in DRAWS for each in verdicts(agent)]
    n, bound = len(found), most(len(found))
    assert sum(bool(each.found) for each in found) <= bound
    assert sum(each.is_contaminated for each in found) <= bound
    # The bound detects a rate of 25 %.
    missed = sum(comb(n, k) * 0.25**k * 0.75 ** (n - k) for k in range(bound + 1))
    assert missed < 1e-3


# Clean agents on markets with predictable returns


def test_a_trend_follower_is_found_by_path_alone_and_is_not_contaminated() -> None:
    market, windows = script.predictable_market(0, trend=0.002)
    verdict = check("momentum", market, windows, Design(1, 3, n_draws=400, seed=0))
    assert verdict.found == ("path",)
    assert (verdict.conclusion, verdict.exit_code, verdict.is_contaminated) == ("unclear", 3, False)
    assert verdict.to_dict()["conclusion"] == "unclear"
    assert verdict.sentence.startswith("momentum depends on the order of bars: it earns")
    assert "does not separate recognition of the path by its returns from following trends" in verdict.sentence


def test_an_agent_that_trades_only_known_names_is_found_by_name_alone_with_its_exposure() -> None:
    market, windows = script.predictable_market(0, drift=0.0008)
    verdict = check(script.Cautious(script.NAMES), market, windows, Design(1, 3, n_draws=400, seed=0))
    assert verdict.found == ("name",)
    assert (verdict.conclusion, verdict.exit_code, verdict.is_contaminated) == ("unclear", 3, False)
    assert verdict.gross == pytest.approx({"named": 1.0, "masked": 0.0, "twins": 1.0}, abs=0.01)
    assert verdict.sentence.startswith("cautious depends on real names: it earns")
    assert "its gross exposure is 1.00 of NAV in the named arm, 0.00 masked and 1.00 on twins" in verdict.sentence
    assert check("equal-weight", market, windows, Design(1, 3, n_draws=400, seed=0)).gross_note == ""


# Learning between runs


def test_an_agent_that_learns_between_runs_is_not_judged() -> None:
    market, windows = script.martingale_market(0, 1, 126)
    twice = check(script.Learner(), market, windows, Design(2, 3, n_draws=400, seed=0))
    assert twice.learning is not None
    assert twice.learning.mean > 0.0
    assert min(twice.adjusted.values(), key=lambda p: p or 1.0) <= LEVEL
    assert (twice.found, twice.conclusion) == ((), "not_judged")
    assert "the agent learns between runs" in twice.sentence
    once = check(script.Learner(), market, windows, Design(1, 3, n_draws=400, seed=0))
    assert (once.learning, once.conclusion) == (None, "not_found")


def test_prior_memorization_is_found_with_several_named_runs() -> None:
    market, windows = script.martingale_market(0, 1, 126)
    verdict = check(script.Memoriser(market, 0.5), market, windows, Design(3, 3, n_draws=400, seed=0))
    assert verdict.is_contaminated
    assert verdict.learning is not None
    assert verdict.learning.is_rounding


# Documentation


@pytest.mark.parametrize("name", script.TABLES)
def test_the_tables_of_the_page_equal_the_committed_results(name: str) -> None:
    assert script.format_table(name, RESULTS[name]) in PAGE


@pytest.mark.parametrize("name", script.TABLES)
def test_the_committed_results_have_a_row_for_each_experiment(name: str) -> None:
    assert [(title, label) for title, rows in RESULTS[name].items() for label in rows] == [
        (title, label) for title, label, _ in script.TABLES[name]()
    ]


def test_a_committed_row_is_reproduced() -> None:
    """Recompute one inexpensive row of the committed results."""
    (title, rows), n_draws = next(iter(RESULTS["clean"].items())), count(200, 20)
    row = rows["mean-reversion"]
    run = next(run for of, label, run in script.clean() if (of, label) == (title, "mean-reversion"))
    found = script.summary_row([run(draw) for draw in range(n_draws)])
    assert row["n_draws"] == 200
    if n_draws == 200:
        assert found == row
    assert found["path"] * n_draws <= row["path"] * 200


def test_no_committed_false_positive_rate_exceeds_the_level_by_more_than_two_standard_errors() -> None:
    rows = [row for table in RESULTS["clean"].values() for row in table.values()]
    assert len(rows) == 24
    for row in rows:
        assert row["n_draws"] >= 100
        assert row["either"] <= LEVEL + 2.0 * sqrt(LEVEL * (1.0 - LEVEL) / row["n_draws"])
        assert row["both"] <= row["either"]
    pooled = np.mean([row["either"] for row in rows])
    assert pooled <= LEVEL
    averages = re.search(r"On average they are found in (\S+) % of the draws, and by both in (\S+) %", PAGE)
    assert averages is not None
    both = np.mean([row["both"] for row in rows])
    assert averages.groups() == (f"{100.0 * pooled:.1f}", f"{100.0 * both:.1f}")


def test_windows_around_events_do_not_overlap() -> None:
    market = oo.data.load("ecb-fx")
    spans = sorted(script.around_events(market, 10))
    assert len(spans) == 10
    assert all(start >= end for (_, end), (start, _) in pairwise(spans))
    assert {end - start for start, end in spans} == {21}
    assert all(f"--window {start}:{end}" in PAGE for start, end in script.CRISES)
