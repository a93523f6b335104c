"""Boards equal an independent recomputation in exact ratios."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from arena_exports import export, write
from arena_score_oracle import log_score, murphy_decomposition
from arena_seasons import season
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st

from openoutcry.arena import rescoring, scoring
from openoutcry.arena.scoring import Parameters, ScoreInputs

pytestmark = pytest.mark.once

N_SEASONS = count(2_000, 60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("export")


@settings(max_examples=N_SEASONS, deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from([None, None, "iran", "israel"]), st.sampled_from(["none", "kalshi_taker"])
)
def test_a_board_equals_the_standalone_rescoring_to_the_bit(
    folder: Path, seed: int, theater: str | None, fee_model: str
) -> None:
    #
    """Scores, the ranking, and the scores by theater."""
    inputs = season(seed, parameters=Parameters(min_markets=2, fee_model=fee_model))
    found = scoring.score(inputs, theater)
    assert rescoring.faults(write(folder, export(inputs), found.to_json())) == []
    again = rescoring.Season(folder, inputs.at_us, inputs.window)
    assert [(each.exact, each.source, each.n) for each in found.references] == [
        (each.rate, each.source, each.n) for each in again.references.values()
    ]
    own = rescoring.Board(again, theater).own
    for row in found.rows:
        forecasts = [each for each in own[row.slug] if each.is_settled]
        expected = log_score(forecasts)
        assert row.log_score == (None if expected is None else pytest.approx(expected, rel=1e-13))
        for name, value in (murphy_decomposition(forecasts) or {}).items():
            assert getattr(row.calibration, name) == rescoring.to_float(value), name


def shuffled(inputs: ScoreInputs, seed: int) -> ScoreInputs:
    rng = random.Random(seed)
    names = ("agents", "snapshots_us", "quotes", "decisions", "resolutions", "base_rates")
    return replace(inputs, **{name: rng.sample(getattr(inputs, name), len(getattr(inputs, name))) for name in names})


@settings(max_examples=count(500, 30), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_the_order_of_the_inputs_changes_no_bit(seed: int, order: int) -> None:
    inputs = season(seed)
    assert repr(scoring.score(shuffled(inputs, order)).to_json()) == repr(scoring.score(inputs).to_json())


def test_the_random_seasons_contain_all_cases(folder: Path) -> None:
    """All sources of rates, all market states, and provisional and suspended agents occur."""
    sources: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for seed in range(60):
        inputs = season(seed)
        made = scoring.score(inputs)
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
        again = rescoring.Season(write(folder, export(inputs)), inputs.at_us, inputs.window)
        for market_id in again.quotes:
            records = again.results[market_id]
            seen[rescoring.resolve(records, inputs.at_us, 86_400_000_000).state if records else "open"] += 1
    assert set(sources) == {
        "platform_theater",
        "historical_theater",
        "historical_blend",
        "platform_global",
        "always_50",
    }
    assert len(seen) == 11, seen
    assert min(seen.values()) > 2, seen
