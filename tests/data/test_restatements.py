"""Restatements: an observation shows the newest version available at its time, never a later one."""

from __future__ import annotations

import json
from math import nan
from typing import Any

import numpy as np
import pytest
from builders import count, dates_of
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.data.snapshots.restatements import Fundamental, Report, as_known, rebased, restatements

pytestmark = pytest.mark.once

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
            # Independent of the order of versions: the newest version of the newest known period.
            for report in sorted((each for each in reports if each.available_at <= date), key=lambda each: each[3]):
                same = [each for each in reports if each[0] == report[0] and each[2:4] == report[2:4]]
                newest = max((each for each in same if each.available_at <= date), key=lambda each: each.available_at)
                name = report.name if periods == "latest" else f"{report.name}@{report.period}"
                expected[report.symbol][name] = newest.value
            assert shown == expected, bar
            text = env.step('{"orders":[]}')[0]


def test_a_restatement_of_an_older_period_does_not_replace_the_latest_value() -> None:
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


def test_conflicting_values_and_unknown_modes_are_refused() -> None:
    reports = [Report("A", "2000-02-01", "eps", "1999-Q4", value) for value in (1.0, 2.0)]
    with pytest.raises(oo.OpenOutcryError, match=r"must have one value at 2000-02-01; received 1\.0, 2\.0") as refused:
        as_known(reports)
    assert refused.value.slug == "value_invalid"
    with pytest.raises(oo.OpenOutcryError, match="`periods` must be latest or each"):
        as_known([], "all")


def shown_at(market: oo.Dataset) -> list[dict[str, dict[str, Any]]]:
    """Return the fundamentals in the observations of each symbol, bar by bar."""
    end = market.n_bars
    rules = {"costs": oo.CostModel.zero(), "limits": oo.Limits.off(), "lookback": 2, "seed": 0}
    env = oo.TradingEnv.from_dataset(market._core, window=(0, end), **rules)
    texts = [env.reset(), *(env.step('{"orders":[]}')[0] for _ in range(end - 1))]
    return [{each["symbol"]: each for each in json.loads(text)["symbols"]} for text in texts]


def split_market(splits: Any, fundamentals: list[Fundamental]) -> oo.Dataset:
    """Return a market of two symbols with constant value, adjusted for their splits."""
    close = 100.0 / np.cumprod(np.where(np.isnan(splits), 1.0, splits), axis=0)
    return oo.Dataset.from_arrays(dates_of(12), ["A", "B"], close, splits=splits, fundamentals=fundamentals)


def test_splits_do_not_adjust_published_fundamentals() -> None:
    splits = np.ones((12, 2))
    splits[4, 0] = 4.0
    dates = dates_of(12)
    eps = [("A", dates[2], "eps", 5.0)]
    as_published = [each["A"] for each in shown_at(split_market(splits, eps))]
    assert [each["close_history"][-1] for each in as_published] == [100.0] * 4 + [25.0] * 8
    assert [each.get("fundamentals") for each in as_published] == [None] * 2 + [{"eps": 5.0}] * 10
    known = rebased(eps, split_market(splits, []), per_share=["eps"])
    assert known == [("A", dates[2], "eps", 5.0), ("A", dates[4], "eps", 1.25)]
    on_basis = [each["A"] for each in shown_at(split_market(splits, known))]
    ratios = [each["close_history"][-1] / each["fundamentals"]["eps"] for each in on_basis[2:]]
    assert ratios == [20.0] * 10


PUBLISHED = st.lists(
    st.tuples(
        st.sampled_from("AB"),
        st.tuples(st.integers(0, 11), st.sampled_from(["", "T08:00:00", "T16:30:00"])),
        st.sampled_from(["eps", "eps@2000-Q1", "shares", "revenue"]),
        st.integers(-9, 9).map(float),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda item: item[:3],
)


@DRAWS
@given(items=PUBLISHED, splits=st.lists(st.sampled_from([1.0, 1.0, 1.0, 2.0, 0.5, nan]), min_size=24, max_size=24))
def test_rebased_values_are_on_the_share_basis_of_the_bar(items: list[Any], splits: list[float]) -> None:
    dates, ratios = dates_of(12), np.reshape(splits, (12, 2))
    published = [(symbol, dates[bar] + hour, name, value) for symbol, (bar, hour), name, value in items]
    names = {name.partition("@")[0] for _, _, name, _ in published}
    of = {"per_share": names & {"eps"}, "counts": names & {"shares"}}
    known = rebased(published, split_market(ratios, []), **of)
    assert set(published) <= set(known)
    whole = shown_at(split_market(ratios, known))
    for bar, seen in enumerate(whole):
        expected: dict[str, dict[str, float]] = {"A": {}, "B": {}}
        for symbol, (day, hour), name, value in sorted(items, key=lambda item: item[1]):
            if day + bool(hour) <= bar:
                # A split takes effect before its day begins, so values published on that day include it.
                factor = np.nanprod(ratios[day + 1 : bar + 1, "AB".index(symbol)])
                power = {"eps": -1, "shares": 1, "revenue": 0}[name.partition("@")[0]]
                expected[symbol][name] = value * factor**power
        assert {symbol: each.get("fundamentals", {}) for symbol, each in seen.items()} == expected, bar
    # The first seven days alone give the same result.
    early = [item for item in published if item[1][:10] <= dates[6]]
    stems = {name.partition("@")[0] for _, _, name, _ in early}
    none_later = np.where(np.arange(12)[:, None] <= 6, ratios, 1.0)
    known = rebased(early, split_market(none_later, []), **{key: each & stems for key, each in of.items()})
    assert shown_at(split_market(none_later, known))[:7] == whole[:7]


def test_an_intraday_report_before_a_split_bar_is_not_adjusted_twice() -> None:
    dates = [f"2000-01-{day:02}T{hour}:00:00" for day in (3, 4, 5) for hour in (10, 16)]
    splits = np.array([1.0, 1.0, 2.0, 1.0, 3.0, 1.0])[:, None]
    market = oo.Dataset.from_arrays(dates, ["A"], 8.0 / np.cumprod(splits, axis=0), splits=splits)
    old, morning = ("A", dates[0], "eps", 6.0), ("A", "2000-01-04T08:00:00", "eps", 1.5)
    assert rebased([morning, old], market, per_share="eps") == [morning, old, ("A", dates[4], "eps", 0.5)]
    assert rebased([old], market, per_share="eps") == [old, ("A", dates[2], "eps", 3.0), ("A", dates[4], "eps", 1.0)]
    assert rebased([old], market, counts="eps") == [old, ("A", dates[2], "eps", 12.0), ("A", dates[4], "eps", 36.0)]


@pytest.mark.parametrize(
    ("arguments", "slug", "words"),
    [
        ({"per_share": ["esp"]}, "argument_invalid", "`per_share` must name fundamentals, here eps; rec"),
        ({"per_share": ["eps"], "counts": ["eps"]}, "argument_invalid", "received 'eps' in both"),
        ({"per_share": ["eps"], "fundamentals": [("Z", "2000-01-01", "eps", 1.0)]}, "symbol_invalid", "received 'Z'"),
    ],
)
def test_an_unknown_name_or_symbol_is_refused(arguments: dict[str, Any], slug: str, words: str) -> None:
    given = {"fundamentals": [("A", "2000-01-01", "eps", 1.0)], "market": split_market(np.ones((12, 2)), [])}
    with pytest.raises(oo.OpenOutcryError, match=words) as refused:
        rebased(**(given | arguments))
    assert refused.value.slug == slug


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: as_known([("A", "2020", "eps", 1.0)]), r"`reports\[0\]` must be \(symbol, available_at, name, period"),
        (lambda: restatements([("A", "2020", "eps", None, 1.0)]), r"`reports\[0\]` must be .*; received \('A', '2020'"),
        (
            lambda: rebased([("A", "eps", 1.0)], split_market(np.ones((12, 2)), [])),
            r"`fundamentals\[0\]` must be \(sym",
        ),
    ],
)
def test_an_invalid_report_is_refused_with_its_index(make: Any, words: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=words) as refused:
        make()
    assert refused.value.slug == "value_invalid"
