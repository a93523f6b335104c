"""Rules of the Arena's scores in worked examples: which decision counts, rates, positions, ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from arena_seasons import DAY_US, HOUR_US, forecast_table, hour

from openoutcry import OpenOutcryError
from openoutcry.arena import scoring
from openoutcry.arena.scoring import Agent, BaseRate, Decision, Parameters, Quote, Resolution, ScoreInputs
from openoutcry.arena.scoring.paper_returns import fee
from openoutcry.arena.timestamps import parse_timestamp, season_of

pytestmark = pytest.mark.once

M = "kalshi:M"


def inputs(decisions: Sequence[Decision], resolutions: Sequence[Resolution], **changes: Any) -> ScoreInputs:
    """Return a season with one market M, open until hour 20, with a mid of 0.18."""
    quotes = [Quote(M, hour(n), hour(20), ("iran",), "0.18", "0.17", "0.19") for n in (0, 10)]
    slugs = {each.agent_slug for each in decisions} or {"a"}
    given = {
        "at_us": hour(200),
        "agents": [Agent(slug, hour(0)) for slug in slugs],
        "snapshots_us": [hour(0), hour(10)],
        "quotes": quotes,
        "decisions": decisions,
        "resolutions": resolutions,
    }
    return ScoreInputs(**given | changes)


def decision(
    p: str, at: int = 1, seq: int = 0, slug: str = "a", confidence: str | None = "0.9", cited: int = 0
) -> Decision:
    return Decision(seq, slug, M, hour(at), hour(cited), p, confidence)


def final(
    outcome: str | None = "yes", status: str = "finalized", at: int = 50, seq: int = 100, close_us: int | None = None
) -> Resolution:
    return Resolution(seq, M, status, outcome, hour(at), close_us)


def only(given: ScoreInputs) -> scoring.Row:
    (row,) = scoring.score(given).rows
    return row


def brier(given: ScoreInputs) -> float | None:
    return only(given).brier


@pytest.mark.parametrize(
    ("p", "outcome", "fee_due", "profit"),
    [("0.3", "yes", "2.87", "224.91"), ("0.04", "no", "0.63", "10.35")],
)
def test_the_protocols_example_positions_earn_the_stated_profit(
    p: str, outcome: str, fee_due: str, profit: str
) -> None:
    #
    row = only(inputs([decision(p)], [final(outcome)]))
    price = Fraction(18, 100) if outcome == "yes" else Fraction(82, 100)
    assert fee(price, Parameters()) == Fraction(fee_due)
    assert round(row.roi * 50, 2) == float(profit)
    assert row.n_positions == 1


def test_a_fee_is_rounded_up_to_its_step_and_fee_model_none_is_free() -> None:
    #
    assert fee(Fraction(1, 3), Parameters()) == Fraction("2.34")
    assert fee(Fraction(1, 3), Parameters(fee_step="0.0001")) == Fraction("2.3334")
    assert fee(Fraction(18, 100), Parameters()) == Fraction("2.87")
    assert fee(Fraction(1, 3), Parameters(fee_model="none")) == 0
    row = only(inputs([decision("0.3")], [final()], parameters=Parameters(fee_model="none")))
    assert row.roi == float(Fraction(50) / Fraction("0.18") / 50 - 1)


@pytest.mark.parametrize(
    ("p", "confidence", "n"),
    [
        ("0.23", "1", 0),
        ("0.230001", "1", 1),
        ("0.13", "1", 0),
        ("0.129999", "1", 1),
        ("0.9", "0.65", 1),
        ("0.9", "0.649999", 0),
        ("0.9", None, 0),
    ],
)
def test_a_position_requires_more_than_the_edge_and_at_least_the_confidence(
    p: str, confidence: str | None, n: int
) -> None:
    #
    """Strict, in exact decimals; 0.23 - 0.18 exceeds 0.05 in floats."""
    row = only(inputs([decision(p, confidence=confidence)], [final()]))
    assert row.n_positions == n
    assert (row.roi is None) == (n == 0)
    assert row.reasons.get("roi") == ("no_position" if n == 0 else None)


def test_the_price_is_from_the_last_snapshot_and_not_from_the_cited_one() -> None:
    #
    """An agent cannot trade at an old price after news."""
    quotes = [
        Quote(M, hour(0), hour(20), ("iran",), "0.18", "0.17", "0.19"),
        Quote(M, hour(10), hour(20), ("iran",), "0.5", "0.4", "0.6"),
    ]
    row = only(inputs([decision("0.9", at=10, cited=0)], [final()], quotes=quotes))
    assert row.roi == float(1 / Fraction("0.5") - 1 - Fraction("1.75") / 50)
    assert row.roi_at_touch == float(1 / Fraction("0.6") - 1 - Fraction("1.4") / 50)
    earlier = only(inputs([decision("0.9", at=9, cited=0)], [final()], quotes=quotes))
    assert earlier.roi > row.roi
    gone = only(inputs([decision("0.9", at=10)], [final()], quotes=quotes[:1]))
    assert gone.roi is None


def test_the_last_decision_up_to_the_cutoff_counts() -> None:
    #
    """Inclusive, by time of receipt and the cutoff known at that time."""
    decisions = [decision("0.9", at=20, seq=3), decision("0.5", at=5, seq=1), decision("0.1", at=21, seq=4)]
    assert brier(inputs(decisions, [final()])) == pytest.approx(0.01)
    later = [Quote(M, hour(0), hour(4), ("iran",)), Quote(M, hour(10), hour(20), ("iran",))]
    assert brier(
        inputs([decision("0.5", at=5, seq=1), decision("0.9", at=4)], [final()], quotes=later)
    ) == pytest.approx(0.01)


def test_a_decision_within_two_hours_of_the_actual_close_does_not_count() -> None:
    #
    decisions = [decision("0.9", at=12, seq=3), decision("0.5", at=11, seq=1)]
    assert brier(inputs(decisions, [final(close_us=hour(14))])) == pytest.approx(0.01)
    assert brier(inputs(decisions, [final(close_us=hour(14) - 1)])) == 0.25


@pytest.mark.parametrize(
    ("records", "scored", "waiting"),
    [
        ([final()], 1, 0),
        ([final(status="determined", at=177)], 0, 1),
        ([final(status="determined", at=176)], 1, 0),
        ([final(status="determined"), final(None, "disputed", 60, 101)], 0, 0),
        ([final(status="determined"), final(None, "disputed", 60, 101), final("no", "amended", 70, 102)], 1, 0),
        ([final(), final(None, "void", 60, 101)], 0, 0),
        ([final(None, "scalar")], 0, 0),
        ([final(at=201)], 0, 0),
        ([], 0, 0),
    ],
)
def test_a_market_is_settled_by_its_last_record(records: list[Resolution], scored: int, waiting: int) -> None:
    #
    row = only(inputs([decision("0.9")], records))
    assert (row.n_scored, row.n_provisional, row.provisional) == (scored, waiting, waiting > 0)
    assert (row.brier_provisional is None) == (scored + waiting == 0)


def test_an_amendment_changes_the_season_of_the_settlement() -> None:
    #
    records = [final(at=50), final("no", "amended", 150, 101)]
    early, late = (hour(0), hour(100)), (hour(100), hour(200))
    assert brier(inputs([decision("0.9")], records)) == pytest.approx(0.81)
    assert brier(inputs([decision("0.9")], records, window=early)) == pytest.approx(0.81)
    assert brier(inputs([decision("0.9")], records, window=late)) is None
    assert brier(inputs([decision("0.9")], records, at_us=hour(149))) == pytest.approx(0.01)


def test_a_dispute_after_the_grace_period_does_not_change_a_markets_season() -> None:
    """Also after exactly 24 hours."""
    for disputed, n in ((74, 1), (73, 0)):
        records = [final(status="determined"), final(None, "disputed", disputed, 101), final("no", "amended", 150, 102)]
        assert only(inputs([decision("0.9")], records, window=(hour(0), hour(100)))).n_scored == n


def many(n: int, n_yes: int, rates: Sequence[BaseRate] = (), **changes: Any) -> scoring.Board:
    """Return the board of one agent that forecast 0.5 on `n` markets with `n_yes` YES outcomes."""
    made = forecast_table(np.full((1, n), 0.5), np.arange(n) < n_yes, "0.5")
    return scoring.score(replace(made, base_rates=rates, parameters=Parameters(**changes)))


def source_of(board: scoring.Board, theater: str) -> str:
    return next(each.source for each in board.references if each.theater == theater)


@pytest.mark.parametrize(
    ("n", "n_yes", "source"),
    [
        (10, 5, "platform_theater"),
        (9, 5, "always_50"),
        (20, 1, "platform_theater"),
        (21, 1, "always_50"),
        (20, 19, "platform_theater"),
        (21, 20, "always_50"),
        (10, 0, "always_50"),
    ],
)
def test_a_reference_rate_requires_ten_decisions_and_lies_within_bounds(n: int, n_yes: int, source: str) -> None:
    #
    """The bounds are inclusive."""
    assert source_of(many(n, n_yes), "iran") == source


def test_reference_rates_fall_back_in_order_and_name_their_source() -> None:
    #
    own = BaseRate("iran", "0.2", 40, "made up", "2020-2025")
    other = BaseRate("yemen", "0.6", 40, "invented", "2021")
    assert source_of(many(10, 5, [own]), "iran") == "platform_theater"
    assert source_of(many(9, 5, [own, other]), "iran") == "historical_theater"
    blend = next(each for each in many(9, 5, [own._replace(n=9), other]).references if each.theater == "iran")
    assert (blend.source, blend.n, blend.exact) == ("historical_blend", 49, (9 * Fraction("0.2") + 24) / 49)
    assert blend.citation == "made up, 2020-2025; invented, 2021"
    platform = many(10, 5, [own]).references[1]
    assert (platform.n, platform.n_markets, platform.to_json()["rate"]) == (10, 10, 0.5)


def test_forecasting_the_reference_rate_has_zero_paired_skill() -> None:
    #
    """Exactly 0 for any outcomes."""
    for n_yes in (0, 3, 11):
        made = forecast_table(np.full((1, 11), 0.25), np.arange(11) < n_yes, "0.25")
        (row,) = scoring.score(made).rows
        assert row.brier_skill_score_paired == 0.0
        assert (row.brier_skill_score == 0.0) == (n_yes == 11 * 0.25)


def test_expected_skill_is_0_over_the_complete_population() -> None:
    #
    """Forecasts of the platform rate lose in total their expected loss."""
    tables = np.full((4, 40), np.nan)
    for agent in range(4):
        tables[agent, agent * 10 : agent * 10 + 10] = 0.25
    outcomes = np.zeros(40, dtype=bool)
    outcomes[[0, 1, 2, 3, 4, 11, 12, 13, 22, 33]] = True
    made = replace(forecast_table(tables, outcomes, "0.5"), parameters=Parameters())
    rows = scoring.score(made).rows
    assert {row.skill_reference for row in rows} == {"platform_theater"}
    assert sum(Fraction(row.brier_skill_score) for row in rows) == pytest.approx(0.0, abs=1e-15)
    assert [row.brier_skill_score == 0 for row in rows] == [False] * 4
    (alone,) = scoring.score(
        replace(forecast_table(np.full((1, 40), 0.25), outcomes, "0.5"), parameters=Parameters())
    ).rows
    assert alone.brier_skill_score == 0.0


def test_without_a_rate_skill_is_relative_to_always_50() -> None:
    #
    (row,) = many(9, 9).rows
    assert row.skill_reference == "always_50"
    assert row.brier_skill_score == row.brier_skill_score_vs_50 == 0.0


def test_equal_agents_rank_by_number_of_decisions_and_then_by_slug() -> None:
    #
    shares = np.array([[0.5, np.nan], [0.5, np.nan], [0.6, 0.6], [np.nan, np.nan], [0.5, 0.5]])
    made = forecast_table(shares, np.array([True, True]), "0.5")
    rows = scoring.score(made).rows
    assert [(row.slug[-1], row.rank, row.tied) for row in rows] == [
        ("2", 1, False),
        ("4", 2, False),
        ("0", 3, True),
        ("1", 4, True),
        ("3", None, False),
    ]
    assert (rows[4].brier, rows[4].brier_skill_score, rows[4].reasons["brier"]) == (None, None, "no_scored_decision")


def test_a_suspended_agent_is_listed_last_and_does_not_change_other_ranks() -> None:
    made = forecast_table(np.array([[0.5] * 12, [0.9] * 12]), np.arange(12) < 6, "0.5")
    first, second = made.agents
    without = scoring.score(replace(made, agents=[first], decisions=[d for d in made.decisions if d.seq < 12]))
    rows = scoring.score(replace(made, agents=[first, second._replace(suspended=True)])).rows
    assert rows[0] == without.rows[0]
    assert (rows[1].rank, rows[1].suspended, rows[1].reasons["brier"]) == (None, True, "suspended")


def test_coverage_reveals_nothing_about_markets_before_their_cutoff() -> None:
    #
    """An open market is in neither the numerator nor the denominator."""
    live = Quote("kalshi:LIVE", hour(0), hour(300), ("iran",))
    made = inputs([decision("0.9")], [final()])
    both = replace(made, quotes=[*made.quotes, live])
    secret = Decision(7, "a", "kalshi:LIVE", hour(2), hour(0), "0.5")
    assert scoring.score(replace(both, decisions=[*both.decisions, secret])) == scoring.score(both)
    past = Quote("kalshi:PAST", hour(0), hour(30), ("iran",))
    assert only(replace(made, quotes=[*made.quotes, past])).coverage == 0.5
    just_past = replace(made, quotes=[*made.quotes, past], at_us=hour(30))
    assert only(just_past).coverage == 1.0
    assert only(replace(just_past, at_us=hour(30) + 1)).coverage == 0.5
    resolved = replace(made, agents=[Agent("a", hour(5))], resolutions=[final(at=10)])
    assert only(resolved).coverage is None
    assert only(replace(resolved, resolutions=[final(at=11)])).coverage == 1.0
    late = replace(made, agents=[Agent("a", hour(11))])
    assert (only(late).coverage, only(late).reasons["coverage"]) == (None, "no_open_market")


def test_a_season_is_a_quarter_with_an_exclusive_end() -> None:
    assert season_of(parse_timestamp("at", "2026-03-31T23:59:59.999999Z"))[0] == "2026Q1"
    name, (start, end) = season_of(parse_timestamp("at", "2026-10-01T00:00:00Z"))
    assert (name, start) == ("2026Q4", parse_timestamp("at", "2026-10-01T00:00:00Z"))
    assert end == parse_timestamp("at", "2027-01-01T00:00:00+00:00")
    assert end - start == 92 * DAY_US


def test_a_quote_is_parsed_from_a_snapshot_with_defaults() -> None:
    #
    item = {"market_id": M, "yes_mid_price": "0.185", "yes_bid": "0.18", "yes_ask": None, "theaters": ["iran"]}
    full = scoring.parse_quote(item | {"close_time": "2026-01-02T00:00:00Z"}, hour(0))
    assert full == Quote(M, hour(0), hour(22), ("iran",), "0.185", "0.18", None)
    assert scoring.parse_quote({"market_id": M}, hour(0)) == Quote(M, hour(0), hour(0) + 14 * DAY_US)


def test_parameters_round_trip_as_strings_and_integers() -> None:
    made = Parameters(edge="0.1", seed=3)
    assert Parameters.of_record(made.to_record()) == made
    assert {type(each) for each in made.to_record().values()} == {str, int}
    for broken in ({}, made.to_record() | {"seed": "3"}, made.to_record() | {"more": 1}):
        with pytest.raises(OpenOutcryError, match="argument_invalid"):
            Parameters.of_record(broken)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decisions": [decision("0.1234567")]}, "at most 6 places"),
        ({"decisions": [decision("1.1")]}, "from 0 to 1"),
        ({"decisions": [decision("NaN")]}, "from 0 to 1"),
        ({"decisions": [decision("0.5", slug="stranger")]}, "received 'stranger'"),
        ({"decisions": [decision("0.5"), decision("0.6")]}, "received it twice"),
        ({"decisions": [Decision(0, "a", M, hour(0) - 1, hour(0), "0.5")]}, "of a snapshot before it"),
        ({"decisions": [Decision(0, "a", "kalshi:X", hour(1), hour(0), "0.5")]}, "received 'kalshi:X'"),
        ({"agents": [Agent("a", 0), Agent("a", 1)]}, "distinct slugs"),
        ({"snapshots_us": [hour(0)]}, "published snapshot"),
        ({"quotes": [Quote(M, hour(0), hour(20))] * 2}, "received two"),
        ({"resolutions": [final("maybe")]}, "known status and outcome"),
        ({"base_rates": [BaseRate("iran", "0.5", 10, "a", "b")] * 2}, "one row per theater"),
        ({"parameters": Parameters(n_draws=1_998)}, "`n_draws` must be from 1999"),
    ],
)
def test_invalid_inputs_are_refused(changes: dict[str, Any], message: str) -> None:
    made = replace(inputs([decision("0.5")], [final()]), **changes)
    with pytest.raises(OpenOutcryError, match=message):
        scoring.score(made)


@pytest.mark.parametrize(
    "text", ["2026-01-01T00:00:00", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00Z\n"]
)
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(OpenOutcryError, match="argument_invalid"):
        parse_timestamp("at", text)


def test_empty_inputs_give_an_empty_board() -> None:
    assert scoring.score(ScoreInputs(hour(0), [], [], [], [], [])).rows == ()
    (row,) = scoring.score(ScoreInputs(HOUR_US, [Agent("a", 0)], [], [], [], [])).rows
    assert row.rank is None
