"""Series with labels are aligned by them or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import openoutcry as oo
from openoutcry.scoring import multiple_testing, skill
from openoutcry.scoring.scorer import submit_returns

MONTHS = pd.date_range("2010-01-31", periods=120, freq="ME")
RETURNS = pd.Series(np.random.default_rng(3).normal(0.008, 0.04, 120), MONTHS)
OTHER = pd.Series(np.random.default_rng(4).normal(0.008, 0.04, 120), MONTHS)


def facts(board: Any) -> Any:
    return repr(board)


def test_the_index_of_returns_is_their_dates() -> None:
    dated = oo.score({"a": RETURNS}, benchmark=OTHER)
    stated = oo.score({"a": RETURNS.to_numpy()}, benchmark=OTHER.to_numpy(), dates=[f"{d:%Y-%m-%d}" for d in MONTHS])
    assert facts(dated) == facts(stated)
    assert facts(dated) != facts(oo.score({"a": RETURNS.to_numpy()}, benchmark=OTHER.to_numpy(), periods_per_year=252))


@pytest.mark.parametrize(
    "call",
    [
        lambda one, two: oo.score({"a": one}, benchmark=two),
        lambda one, two: oo.score({"a": one, "b": two}),
        lambda one, two: oo.score(one, cash=two),
        lambda one, two: submit_returns("a", one, benchmark=two),
        lambda one, two: skill.regress(one, two),
        lambda one, two: skill.tracking(one, two, 12.0),
        lambda one, two: skill.break_even_bps(one, two.abs(), one.abs()),
        lambda one, two: skill.at_cost(one, two.abs(), one.abs(), 1.0),
        lambda one, two: multiple_testing.sharpe_difference(one, two, periods_per_year=12.0, seed=0),
    ],
    ids=["benchmark", "field", "cash", "submit", "regress", "tracking", "break_even_bps", "at_cost", "difference"],
)
@pytest.mark.parametrize("other", [OTHER[::-1], OTHER.shift(freq="D"), OTHER[:60]], ids=["reversed", "late", "short"])
def test_series_with_other_labels_are_refused(call: Any, other: pd.Series) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"the index of `.*` must be that of `.*hint: reindex") as refused:
        call(RETURNS, other)
    assert refused.value.slug == "shape_mismatch"


def test_dates_that_are_not_the_index_are_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="`dates` must be the index of the returns"):
        oo.score(RETURNS, dates=[f"{d:%Y-%m-%d}" for d in OTHER.shift(freq="D").index])


def test_a_frame_of_agents_is_not_taken_for_seeds() -> None:
    frame = pd.DataFrame({"a": RETURNS, "b": OTHER})
    with pytest.raises(oo.OpenOutcryError, match="hint: pass a mapping"):
        oo.score(frame)
    assert oo.score({name: frame[name] for name in frame}) is not None


def test_null_agents_have_the_labels_of_the_returns() -> None:
    with pytest.raises(oo.OpenOutcryError, match="the index of `luck_floor null` must be that of `a`"):
        oo.score({"a": RETURNS}, luck_floor={"null": OTHER[::-1]})
