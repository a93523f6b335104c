"""Train, validation and test splits of a past season: disjoint, ordered in time, and without result leaks."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from arena_past_seasons import MarketSpec, Result, at, exported, questions_of, season
from builders import count
from command_line import typed

from openoutcry.arena.dataset_splits import SPLITS, Sampling
from openoutcry.arena.past_questions import PastSeason
from openoutcry.arena.timestamps import HOUR, parse_timestamp

pytestmark = pytest.mark.once

HOURS = [0.0, 1.0, 2.0, 30.0]


def test_a_repeated_result_is_known_from_its_first_record(tmp_path: Path) -> None:
    """An operator may enter a result twice; its market stays in its split."""

    def known(*results: Result) -> set[str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        found = questions_of(exported(folder, [MarketSpec("KXA", 0, 30, 40, results)], [*HOURS, 300.0]))
        return {each.resolution.known_at for each in found}

    assert known(Result(50), Result(90), Result(200, "amended")) == {at(50)}
    assert known(Result(50, "determined"), Result(60)) == {at(60)}
    assert known(Result(50, "determined"), Result(60, "determined"), Result(200)) == {at(74)}
    # A different result or a dispute restarts the time.
    assert known(Result(50, outcome="no"), Result(90, "amended"), Result(200)) == {at(90)}
    assert known(Result(50), Result(60, "disputed", None), Result(90), Result(200)) == {at(90)}
    assert known(Result(50), Result(60, "amended", "no"), Result(90, "amended")) == {at(90)}


def test_repeated_results_do_not_move_markets_between_splits(tmp_path: Path) -> None:
    outcomes = ["yes" if place % 2 else "no" for place in range(30)]
    once = [
        MarketSpec(f"KX{n}", n * 24, n * 24 + 40, n * 24 + 48, (Result(n * 24 + 50, outcome=each),))
        for n, each in enumerate(outcomes)
    ]
    twice = [
        replace(each, results=(*each.results, Result(24 * 40, outcome=outcome)))
        for each, outcome in zip(once, outcomes, strict=True)
    ]
    hours = [float(each) for each in range(0, 24 * 40, 12)]
    first, second = (
        questions_of(exported(tmp_path / name, markets, hours), Sampling())
        for name, markets in (("once", once), ("twice", twice))
    )
    assert first == second
    assert {each.split for each in first} == set(SPLITS)


def test_the_scheduled_close_does_not_reveal_the_result(tmp_path: Path) -> None:
    """Deadline markets settle YES early and NO at the close: a close after a split's end would imply YES."""
    rng = random.Random(7)
    markets = []
    for place in range(200):
        first, length = rng.randint(0, 24 * 40), rng.randint(24, 24 * 25)
        happens = first + rng.expovariate(1 / (24 * 20))
        is_yes = happens < first + length
        results = Result(round(happens) + 1, outcome="yes") if is_yes else Result(first + length + 3, outcome="no")
        markets.append(MarketSpec(f"KX{place}", first, first + length - 2, first + length, (results,)))
    end = 24 * 50.0
    markets = [each if each.results[0].hours <= end else replace(each, results=()) for each in markets]
    past = PastSeason.read(exported(tmp_path, markets, [float(each) for each in range(0, 24 * 50 + 1, 12)]))
    sampling = Sampling(12)
    found = list(past.questions(sampling))
    rates = {}
    for split, limit in zip(SPLITS, past.layout(sampling).ends, strict=True):
        rows = [each for each in found if each.split == split]
        closes = [parse_timestamp("at", each.decision_cutoff) + 2 * HOUR for each in rows]
        assert max(closes) + 72 * HOUR <= limit
        rates[split] = sum(each.resolution.outcome == "yes" for each in rows) / len(rows)
    assert all(0.05 < rate < 0.8 for rate in rates.values()), rates


@pytest.mark.parametrize("seed", range(count(20, 2)))
@pytest.mark.parametrize("embargo", [0.0, 24.0])
def test_splits_share_no_market_and_no_time(seed: int, embargo: float, tmp_path: Path) -> None:
    """The first question of a split comes at least the embargo after the last result of the previous split."""
    folder = exported(tmp_path, *season(seed, n_markets=80))
    found = questions_of(folder, Sampling(12, embargo, 24))
    parts = [[each for each in found if each.split == split] for split in SPLITS]
    assert all(parts), [len(part) for part in parts]
    names = [{each.market_id for each in part} for part in parts]
    assert sum(map(len, names)) == len(set().union(*names))
    for sooner, later in pairwise(parts):
        last = max(parse_timestamp("at", each.resolution.known_at) for each in sooner)
        assert all(parse_timestamp("at", each.as_of) >= last + embargo * HOUR for each in later)
    assert [each.key for each in found] == [each.key for each in questions_of(folder, Sampling(12, embargo, 24))]


def test_a_market_whose_result_is_not_due_at_the_end_of_the_log_has_no_question(tmp_path: Path) -> None:
    """Such markets have only early results, which are biased to YES."""
    folder = exported(tmp_path, [MarketSpec("KXA", 0, 30, 40, (Result(31),))], [*HOURS, 50.0])
    assert questions_of(folder, Sampling(settling_hours=11)) == []
    assert len(questions_of(folder, Sampling(settling_hours=10))) == 2


def deadlines(folder: Path, status: str, lag: int, n_markets: int = 120) -> tuple[list[MarketSpec], Path]:
    """Export a season of deadline markets: YES at the event, NO at the close, each `lag` hours later."""
    rng, markets, end = random.Random(7), [], 24 * 50.0
    for place in range(n_markets):
        first, length = rng.randint(0, 24 * 40), rng.randint(24, 24 * 10)
        happens = first + rng.expovariate(1 / (24 * 10))
        is_yes = happens < first + length
        hours = (round(happens) if is_yes else first + length) + lag
        results = (Result(hours, status, "yes" if is_yes else "no"),) if hours <= end else ()
        markets.append(MarketSpec(f"KX{place}", first, first + length - 2, first + length, results))
    hours_of = [float(each) for each in range(0, round(end) + 1, 24)]
    return markets, exported(folder, markets, hours_of)


@pytest.mark.parametrize(("status", "lag"), [("finalized", 48), ("determined", 24)])
def test_every_result_due_by_a_splits_end_is_in_the_split(status: str, lag: int, tmp_path: Path) -> None:
    """Results come two days after the close, or one day after it with a day of grace."""
    markets, folder = deadlines(tmp_path, status, lag)
    layout = PastSeason.read(folder).layout(Sampling())
    for place, end in enumerate(layout.ends):
        due = {each.market_id for each in markets if parse_timestamp("at", at(each.close + 72)) <= end}
        assert due == {name for name, at_place in layout.places.items() if at_place <= place}
    assert layout.warning is None


def test_late_results_are_counted_in_the_warning(tmp_path: Path) -> None:
    """Recomputes the late markets: due at the end of a split, but without a known result."""
    markets, folder = deadlines(tmp_path, "finalized", 48)
    past = PastSeason.read(folder)
    layout = past.layout(Sampling(settling_hours=24))

    def is_late(each: MarketSpec, end: int) -> bool:
        known = parse_timestamp("at", at(each.results[0].hours)) if each.results else end + 1
        return parse_timestamp("at", at(each.close + 24)) <= end < known

    late = [each for each in markets if any(is_late(each, end) for end in layout.ends)]
    assert len(late) > 2
    assert {each.results[0].outcome for each in late if each.results} == {"no"}, "the bias"
    results = f"{len(late)} of 120 markets had no result when it was due and a split ended"
    more = "`settling_hours` of 48 cover all results"
    assert layout.warning == f"{results}, so the share of YES may be too high there; {more}"
    assert past.layout(Sampling(settling_hours=48)).warning is None
    unsettled = [replace(each, results=()) if each in late[:2] else each for each in markets]
    folder = exported(tmp_path / "unsettled", unsettled, [24.0 * day for day in range(51)])
    warned = PastSeason.read(folder).layout(Sampling()).warning
    assert warned is not None
    assert warned.endswith("there; 2 still have no result")


@pytest.mark.parametrize("seed", range(count(20, 2)))
def test_the_hours_that_a_warning_recommends_are_enough(seed: int, tmp_path: Path) -> None:
    """Other hours move the splits; disputes and amendments are days late."""
    past = PastSeason.read(exported(tmp_path, *season(seed)))
    warned = past.layout(Sampling(settling_hours=0)).warning
    said = re.search(r"`settling_hours` of (\d+) cover", warned or "")
    assert said is not None or "still have no result" in (warned or "")
    again = past.layout(Sampling(settling_hours=int(said[1]) if said else 0)).warning
    assert again is None or "`settling_hours`" not in again


def test_the_command_reports_late_results_and_ignores_void_markets(tmp_path: Path) -> None:
    markets = [
        MarketSpec("KXA", 0, 30, 40, (Result(130, outcome="no"),)),
        MarketSpec("KXB", 0, 30, 40, (Result(31),)),
        MarketSpec("KXC", 0, 30, 40, (Result(50, "void", None),)),
        MarketSpec("KXD", 0, 30, 400, (Result(60),)),
        MarketSpec("KXE", 29, 30, 40, (Result(10, outcome="no"),)),
    ]
    folder = exported(tmp_path / "season", markets, [*HOURS, 150.0])
    done = typed("arena", "questions", folder, "--out", tmp_path / "q")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: 1 of 4 markets had no result when it was due and a split ended, ")
    assert done.stderr.endswith("; `settling_hours` of 90 cover all results\n")
    results = f"1 without a final result, 1 with results due by {at(472)}, 2 without an open snapshot"
    assert f"\nof 5 markets: 1 in train, {results} between the embargo and the result\n" in done.stdout


def test_a_season_or_split_without_questions_is_refused_with_the_reason(tmp_path: Path) -> None:
    """Seasons with open markets, without results, and without markets."""
    open_ = [MarketSpec(name, 0, 30, 40, (Result(31),)) for name in ("KXA", "KXB")]
    refused = {
        (): f"received 'all': 2 markets: 2 with results due by {at(112)}",
        ("--settling-hours", "0", "--split", "test"): "received 'test': 2 markets: 2 in train",
    }
    folder = exported(tmp_path / "open", open_, [*HOURS, 50.0])
    for words, results in refused.items():
        done = typed("arena", "questions", folder, "--out", tmp_path / "q", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"error: argument_invalid: a split with questions is required; {results}\n"
    folder = exported(tmp_path / "unsettled", [replace(each, results=()) for each in open_], [*HOURS, 50.0])
    done = typed("arena", "questions", folder, "--out", tmp_path / "q")
    assert done.stderr.endswith("received 'all': 2 markets: 2 without a final result\n")
    done = typed("arena", "questions", exported(tmp_path / "none", [], HOURS), "--out", tmp_path / "q")
    assert done.stderr.endswith("received 'all': 0 markets\n")
    assert not list(tmp_path.glob("q*"))


def test_a_settled_practice_season_gives_questions_as_documented(tmp_path: Path) -> None:
    """The documented commands: markets close two hours after their cutoffs and settle later."""
    for name in ("fastapi", "sqlalchemy"):
        pytest.importorskip(name)
    from arena_in_process import BEGAN, floor

    from openoutcry.arena.demo_season import Demo

    with floor(tmp_path / "arena") as ground:
        ground.demo = Demo(BEGAN, True)
        ground.publish()
        markets = ground.markets()
        ground.clock[0] += 3 * HOUR + HOUR // 6
        for market in markets:
            ground.clock[0] += HOUR // 600
            ground.resolve(market, "yes")
    done = typed("arena", "export", tmp_path / "season", "--data-dir", tmp_path / "arena")
    assert done.returncode == 0, done.stderr
    page = (Path(__file__).resolve().parents[2] / "docs" / "arena-agents.md").read_text(encoding="utf-8")
    plain, practice = [line.split()[1:] for line in page.splitlines() if line.startswith("openoutcry arena questions")]
    done = typed(*plain, cwd=tmp_path)
    assert (done.returncode, "8 markets: 8 with results due by" in done.stderr) == (2, True)
    done = typed(*practice, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("warning: 3 of 8 markets had no result when it was due and a split ended, ")
    assert done.stdout.splitlines()[1:] == [
        "questions: 5 train, 0 validation, 0 test in questions.jsonl",
        "of 8 markets: 5 in train, 3 without an open snapshot between the embargo and the result",
    ]
