"""Splits of a past season's questions: which market is in which, and that none says what became of it."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from arena_past import Listed, Told, asked, at, exported, season
from support import count

from openoutcry.arena.questions import SPLITS, PastSeason, Sampling
from openoutcry.arena.times import HOUR, moment_of

pytestmark = pytest.mark.once

HOURS = [0.0, 1.0, 2.0, 30.0]


def test_a_result_that_is_said_again_is_known_since_it_was_said_first(tmp_path: Path) -> None:
    """An operator may type a result twice: its market stays in its split."""

    def known(*told: Told) -> set[str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        found = asked(exported(folder, [Listed("KXA", 0, 30, 40, told)], [*HOURS, 300.0]))
        return {each.resolution.known_at for each in found}

    assert known(Told(50), Told(90), Told(200, "amended")) == {at(50)}
    assert known(Told(50, "determined"), Told(60)) == {at(60)}
    assert known(Told(50, "determined"), Told(60, "determined"), Told(200)) == {at(74)}
    # Another result, or a dispute, begins anew.
    assert known(Told(50, outcome="no"), Told(90, "amended"), Told(200)) == {at(90)}
    assert known(Told(50), Told(60, "disputed", None), Told(90), Told(200)) == {at(90)}
    assert known(Told(50), Told(60, "amended", "no"), Told(90, "amended")) == {at(90)}


def test_results_that_are_all_said_again_move_no_split(tmp_path: Path) -> None:
    outcomes = ["yes" if place % 2 else "no" for place in range(30)]
    once = [
        Listed(f"KX{n}", n * 24, n * 24 + 40, n * 24 + 48, (Told(n * 24 + 50, outcome=each),))
        for n, each in enumerate(outcomes)
    ]
    twice = [
        replace(each, told=(*each.told, Told(24 * 40, outcome=outcome)))
        for each, outcome in zip(once, outcomes, strict=True)
    ]
    hours = [float(each) for each in range(0, 24 * 40, 12)]
    first, second = (
        asked(exported(tmp_path / name, markets, hours), Sampling())
        for name, markets in (("once", once), ("twice", twice))
    )
    assert first == second
    assert {each.split for each in first} == set(SPLITS)


def test_the_close_that_is_shown_says_nothing_of_the_result(tmp_path: Path) -> None:
    """A deadline is settled YES when it happens and NO at its end: closes past a split's end would all be YES."""
    rng = random.Random(7)
    markets = []
    for place in range(200):
        first, length = rng.randint(0, 24 * 40), rng.randint(24, 24 * 25)
        happens = first + rng.expovariate(1 / (24 * 20))
        is_yes = happens < first + length
        told = Told(round(happens) + 1, outcome="yes") if is_yes else Told(first + length + 3, outcome="no")
        markets.append(Listed(f"KX{place}", first, first + length - 2, first + length, (told,)))
    end = 24 * 50.0
    markets = [each if each.told[0].hours <= end else replace(each, told=()) for each in markets]
    past = PastSeason.read(exported(tmp_path, markets, [float(each) for each in range(0, 24 * 50 + 1, 12)]))
    sampling = Sampling(12)
    found = list(past.questions(sampling))
    rates = {}
    for split, limit in zip(SPLITS, past.ends(sampling), strict=True):
        rows = [each for each in found if each.split == split]
        closes = [moment_of("at", each.decision_cutoff) + 2 * HOUR for each in rows]
        assert max(closes) + 24 * HOUR <= limit
        rates[split] = sum(each.resolution.outcome == "yes" for each in rows) / len(rows)
    assert all(0.05 < rate < 0.8 for rate in rates.values()), rates


@pytest.mark.parametrize("seed", range(count(20, 2)))
@pytest.mark.parametrize("embargo", [0.0, 24.0])
def test_splits_share_no_market_and_no_time(seed: int, embargo: float, tmp_path: Path) -> None:
    """The last result of a split is older than the first question of the next, by the embargo."""
    folder = exported(tmp_path, *season(seed, n_markets=80))
    found = asked(folder, Sampling(every_hours=12, embargo_hours=embargo))
    parts = [[each for each in found if each.split == split] for split in SPLITS]
    assert all(parts), [len(part) for part in parts]
    names = [{each.market_id for each in part} for part in parts]
    assert sum(map(len, names)) == len(set().union(*names))
    for sooner, later in pairwise(parts):
        last = max(moment_of("at", each.resolution.known_at) for each in sooner)
        assert all(moment_of("at", each.as_of) >= last + embargo * HOUR for each in later)
    assert [each.key for each in found] == [each.key for each in asked(folder, Sampling(12, embargo))]


def test_a_market_whose_result_is_not_due_when_the_log_ends_is_not_asked_about(tmp_path: Path) -> None:
    """Of those, there would be only what happened early."""
    folder = exported(tmp_path, [Listed("KXA", 0, 30, 40, (Told(31),))], [*HOURS, 50.0])
    assert asked(folder, Sampling(settling_hours=11)) == []
    assert len(asked(folder, Sampling(settling_hours=10))) == 2
