"""Boards against the same scores said decision by decision in exact ratios (R-43 to R-53)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import arena_oracle as oracle
import pytest
from arena_seasons import season
from hypothesis import given, settings
from hypothesis import strategies as st
from support import count

from openoutcry.arena import scoring
from openoutcry.arena.scoring import Facts, Parameters

N_SEASONS = count(2_000, 60)
EXACT = (
    "brier",
    "brier_provisional",
    "brier_skill_score",
    "brier_skill_score_paired",
    "brier_skill_score_vs_50",
    "coverage",
    "peer_score",
    "roi",
    "roi_at_touch",
)
SAME = ("slug", "n_scored", "n_provisional", "n_positions", "n_peer", "skill_reference")


def nearest(value: Fraction | None) -> float | None:
    """Return the float that is nearest to an exact ratio."""
    return None if value is None else value.numerator / value.denominator


def agree(row: scoring.Row, expected: dict[str, Any]) -> None:
    for name in SAME:
        assert getattr(row, name) == expected[name], name
    for name in EXACT:
        assert getattr(row, name) == nearest(expected[name]), name
    assert row.log_score == (None if expected["log_score"] is None else pytest.approx(expected["log_score"], rel=1e-13))
    parts = expected["murphy"]
    made = row.calibration
    for name in ("reliability", "resolution", "uncertainty", "ece"):
        assert getattr(made, name) == (None if parts is None else nearest(parts[name])), name
    assert made.binned_brier == (None if parts is None else nearest(parts["binned"]))


@settings(max_examples=N_SEASONS, deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from([None, None, "iran", "israel"]), st.sampled_from(["none", "kalshi_taker"])
)
def test_a_board_says_what_the_oracle_says_to_the_bit(seed: int, theater: str | None, fee_model: str) -> None:
    """R-43 to R-53, and the order of R-33 and R-34."""
    facts = season(seed, parameters=Parameters(min_markets=2, fee_model=fee_model))
    found = scoring.score(facts, theater)
    expected = oracle.board(facts, theater)
    assert [row.slug for row in found.rows] == [row["slug"] for row in expected]
    for row, exact in zip(found.rows, expected, strict=True):
        agree(row, exact)
    platform = [each for each in oracle.counted(facts) if each["settled"]]
    for each in found.references:
        rate, source, n = oracle.reference(facts, platform, each.theater)
        assert (each.exact, each.source, each.n) == (rate, source, n)


@settings(max_examples=count(500, 30), deadline=None)
@given(st.integers(0, 2**32))
def test_each_theater_of_an_agent_is_what_the_oracle_says_of_its_board(seed: int) -> None:
    """R-31 and R-49: a market is in every theater that it names, and all are measured by that theater's rate."""
    facts = season(seed)
    exact = {name: {row["slug"]: row for row in oracle.board(facts, name)} for name in ("iran", "israel", "yemen")}
    for row in scoring.score(facts).rows:
        found = {each.theater: each for each in row.per_theater}
        assert set(found) == {name for name, rows in exact.items() if rows[row.slug]["n_scored"]}
        for name, each in found.items():
            expected = exact[name][row.slug]
            assert (each.n, each.brier) == (expected["n_scored"], nearest(expected["brier"]))
            assert each.brier_skill_score == nearest(expected["brier_skill_score"])
            assert each.reference_source == expected["skill_reference"]


def shuffled(facts: Facts, seed: int) -> Facts:
    rng = random.Random(seed)
    names = ("agents", "snapshots_us", "quotes", "decisions", "resolutions", "base_rates")
    return replace(facts, **{name: rng.sample(getattr(facts, name), len(getattr(facts, name))) for name in names})


@settings(max_examples=count(500, 30), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_facts_in_any_order_give_the_same_bits(seed: int, order: int) -> None:
    facts = season(seed)
    assert repr(scoring.score(shuffled(facts, order)).to_json()) == repr(scoring.score(facts).to_json())


def test_the_random_seasons_hold_what_they_are_for() -> None:
    """Every source of a rate, every state of a market, provisional and suspended agents do occur."""
    sources: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for seed in range(60):
        facts = season(seed)
        made = scoring.score(facts)
        sources.update(each.source for each in made.references)
        for row in made.rows:
            seen.update(
                name
                for name, holds in (
                    ("provisional", row.provisional),
                    ("suspended", row.suspended),
                    ("no position", row.n_scored > 0 and row.roi is None),
                    ("differs at the touch", row.roi != row.roi_at_touch),
                    ("nothing scored", row.n_scored == 0),
                    ("mixed", row.skill_reference == "mixed"),
                    ("partial", row.coverage is not None and 0 < row.coverage < 1),
                )
                if holds
            )
        for market_id in {each.market_id for each in facts.quotes}:
            seen[oracle.settlement(facts, market_id)[0]] += 1
    assert set(sources) == {
        "platform_theater",
        "historical_theater",
        "historical_blend",
        "platform_global",
        "always_50",
    }
    assert len(seen) == 11, seen
    assert min(seen.values()) > 2, seen
