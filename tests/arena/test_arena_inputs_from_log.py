"""A board from the public log equals the board from the original inputs."""

from __future__ import annotations

from typing import Any

import pytest
from arena_exports import export
from arena_seasons import season
from builders import count

from openoutcry import OpenOutcryError
from openoutcry.arena import scoring

pytestmark = pytest.mark.once


@pytest.mark.parametrize("seed", range(count(200, 15)))
def test_the_log_and_the_revealed_decisions_give_the_same_board(seed: int) -> None:
    inputs = season(seed)
    made = scoring.read_score_inputs(**export(inputs), at_us=inputs.at_us, window=inputs.window)
    assert scoring.score(made) == scoring.score(inputs)


def test_unrevealed_decisions_do_not_count() -> None:
    inputs = season(3, window=None)
    made = export(inputs)
    made["opened"] = {}
    found = scoring.score(scoring.read_score_inputs(**made, at_us=inputs.at_us))
    assert {row.n_scored for row in found.rows} == {0}
    assert {row.coverage for row in found.rows} <= {0.0, None}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda made: made.update(base_rates=b"[ ]"), "base-rate table"),
        (lambda made: made["snapshots"].update({min(made["snapshots"]): b"{}"}), "the snapshot of"),
        (lambda made: made["snapshots"].clear(), "every snapshot"),
        (lambda made: made["records"].pop(), "`scoring` record"),
    ],
)
def test_files_that_do_not_match_the_log_are_refused(spoil: Any, message: str) -> None:
    made = export(season(5))
    spoil(made)
    with pytest.raises(OpenOutcryError, match=message):
        scoring.read_score_inputs(**made, at_us=0)
