"""Restated numbers: an observation shows the newest version that was available, whatever came later."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import count, dates_of

import openoutcry as oo
from openoutcry.data.lanes import Report, as_known, restatements

DRAWS = settings(max_examples=count(400, 60))
REPORTS = st.lists(
    st.builds(
        Report,
        st.sampled_from("AB"),
        st.sampled_from(dates_of(12)),
        st.sampled_from(["eps", "roe"]),
        st.sampled_from(["2000-Q1", "2000-Q2", "2000-Q3"]),
        st.integers(-9, 9).map(float),
    ),
    max_size=30,
    unique_by=lambda report: report[:4],
)


@DRAWS
@given(reports=REPORTS)
def test_an_observation_shows_the_newest_version_that_was_available(reports: list[Report]) -> None:
    close = np.ones((12, 2))
    for periods in ("latest", "each"):
        known = as_known(reports, periods)
        market = oo.Dataset.from_arrays(dates_of(12), ["A", "B"], close, fundamentals=known)
        env = oo.TradingEnv.from_dataset(
            market._core, window=(0, 12), costs=oo.CostModel.zero(), limits=oo.Limits.off(), lookback=2, seed=0
        )
        text = env.reset()
        for bar, date in enumerate(dates_of(12)[:-1]):
            shown = {each["symbol"]: each.get("fundamentals", {}) for each in json.loads(text)["symbols"]}
            expected: dict[str, dict[str, float]] = {"A": {}, "B": {}}
            # By hand, without any order of versions: of what is known, the newest of the newest period.
            for report in sorted((each for each in reports if each.available_at <= date), key=lambda each: each[3]):
                same = [each for each in reports if each[0] == report[0] and each[2:4] == report[2:4]]
                newest = max((each for each in same if each.available_at <= date), key=lambda each: each.available_at)
                name = report.name if periods == "latest" else f"{report.name}@{report.period}"
                expected[report.symbol][name] = newest.value
            assert shown == expected, bar
            text = env.step('{"orders":[]}')[0]


def test_a_restatement_of_an_older_period_does_not_pass_for_the_latest_number() -> None:
    rows = [
        ("A", "2000-02-01", "eps", "1999-Q4", 1.0),
        ("A", "2000-05-01", "eps", "2000-Q1", 2.0),
        ("A", "2000-06-01", "eps", "1999-Q4", 0.5),
        ("A", "2000-07-01", "eps", "2000-Q1", 1.8),
    ]
    reports = [Report(*row) for row in rows]
    assert as_known(reports) == [
        ("A", "2000-02-01", "eps", 1.0),
        ("A", "2000-05-01", "eps", 2.0),
        ("A", "2000-07-01", "eps", 1.8),
    ]
    assert restatements(reports[::-1]) == [(reports[0], reports[2]), (reports[1], reports[3])]
    assert as_known([*reports, *reports]) == as_known(reports)


def test_two_values_of_one_moment_and_other_words_are_refused() -> None:
    reports = [Report("A", "2000-02-01", "eps", "1999-Q4", value) for value in (1.0, 2.0)]
    with pytest.raises(oo.OpenOutcryError, match=r"must have one value at 2000-02-01; received 1\.0, 2\.0") as refused:
        as_known(reports)
    assert refused.value.slug == "value_invalid"
    with pytest.raises(oo.OpenOutcryError, match="`periods` must be latest or each"):
        as_known([], "all")
