"""Arena questions of a past season as verifiers tasks, answered by a scripted model end to end."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")
pytest.importorskip("cryptography")

import verifiers.v1 as vf
from arena_past_seasons import MarketSpec, Result, at, exported, season
from model_endpoint import Body, Reply, serve
from verifiers_rollouts import client, episodes, facts, play, scores, trace

from openoutcry import OpenOutcryError
from openoutcry.arena.dataset_splits import Sampling
from openoutcry.arena.past_questions import PastSeason
from openoutcry.verifiers_env import ArenaTaskset, VerifiersEnv, VerifiersTaskset, load_environment

pytestmark = pytest.mark.once

HOURS = [0.0, 24.0, 48.0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    markets = [
        MarketSpec("KXA", 0, 50, 60, (Result(70, outcome="yes"),)),
        MarketSpec("KXB", 0, 50, 60, (Result(70, outcome="no"),)),
    ]
    # The log continues until both resolutions are due.
    return exported(tmp_path_factory.mktemp("season"), markets, [*HOURS, 132.0])


def environment(folder: Path, **more: Any) -> vf.Env[Any]:
    return load_environment(season=str(folder), **more)


def market_of(body: Body) -> str:
    """Return the market in a question."""
    (found,) = set(re.findall(r'\{"decisions":\[\{"market_id":"([^"]+)"', body["messages"][-1]["content"]))
    return found


def says(share: float | str, before: str = "") -> Callable[[Body], Reply]:
    return lambda body: Reply(
        f'{before}{{"decisions":[{{"market_id":"{market_of(body)}","yes_probability":{share},"reasoning":"so"}}]}}'
    )


def test_an_answer_is_scored_by_the_resolution_of_the_market(folder: Path) -> None:
    """One question, one answer; the score is 1 minus the Brier score."""
    played = episodes(environment(folder), says(0.8, "I have thought of it. "), n_tasks=6, n_rollouts=2)
    assert all(episode.ok for episode in played)
    traces = [episode.traces[0] for episode in played]
    names = [f"{at(hour)} kalshi:{name}" for hour in HOURS for name in ("KXA", "KXB")]
    assert [facts(each)["question"] for each in traces] == [name for name in names for _ in range(2)]
    for each in traces:
        outcome = facts(each)["outcome"]
        paid, brier = {"yes": (0.96, 0.04), "no": (0.36, 0.64)}[outcome]
        assert outcome == ("yes" if "KXA" in facts(each)["question"] else "no")
        assert (scores(each), each.reward) == ({"brier_reward": paid}, paid)
        assert (each.metrics["parsed"], each.metrics["abstained"], each.metrics["brier"]) == (1.0, 0.0, brier)
        mid = each.task.data.yes_mid_price
        assert each.metrics["vs_market"] == pytest.approx((mid - (outcome == "yes")) ** 2 - brier, abs=1e-12)
        assert each.num_turns == len(each.branches) == 1
        assert json.loads(json.dumps(each.info, allow_nan=False)) == each.info
        json.dumps(each.to_record(), allow_nan=False)


@pytest.mark.parametrize(
    ("reply", "paid", "metrics"),
    [
        (Reply("Hard to say."), 0.0, {"parsed": 0.0, "abstained": 0.0}),
        (Reply(""), 0.0, {"parsed": 0.0, "abstained": 0.0}),
        (Reply('{"decisions":[]}'), 0.75, {"parsed": 1.0, "abstained": 1.0}),
        (Reply(calls=(("submit", "{}"),)), 0.0, {"parsed": 0.0, "abstained": 0.0}),
    ],
    ids=["words", "nothing", "abstains", "a tool"],
)
def test_an_abstention_scores_at_most_a_probability_of_one_half(
    folder: Path, reply: Reply, paid: float, metrics: dict[str, float]
) -> None:
    each = trace(environment(folder), lambda body: reply)
    assert each.reward == paid <= trace(environment(folder), says(0.5)).reward == 0.75
    assert each.metrics == metrics
    assert (facts(each)["fault"] is None) == (paid > 0)


def test_no_request_depends_on_the_resolution(tmp_path: Path) -> None:
    """Equal request bytes for seasons with opposite resolutions."""
    sent = []
    for outcome in ("yes", "no"):
        market = MarketSpec("KXA", 0, 50, 60, (Result(70, outcome=outcome),))
        env = environment(exported(tmp_path / outcome, [market], [*HOURS, 132.0]))
        with serve(says(0.5), keeps_bodies=True) as endpoint:
            played = asyncio.run(play(env, client(endpoint.url), 3, 1, 1))
        assert {facts(episode.traces[0])["outcome"] for episode in played} == {outcome}
        sent.append(sorted(map(json.dumps, endpoint.bodies)))
    assert len(sent[0]) == 3
    assert sent[0] == sent[1]
    assert not [word for word in (at(70), "outcome", "known_at", "tools") if any(word in body for body in sent[0])]


def test_tasks_are_the_questions_of_a_split_in_chronological_order(tmp_path: Path) -> None:
    path = exported(tmp_path, *season(0, n_markets=80))
    wanted = list(PastSeason.read(path).questions(Sampling(12, settling_hours=24)))
    for split in ("train", "validation", "test"):
        tasks = list(environment(path, split=split, every_hours=12, settling_hours=24).taskset)
        assert [task.key for task in tasks] == [each.key for each in wanted if each.split == split]
        assert [task.data.prompt for task in tasks] == [each.prompt for each in wanted if each.split == split]
        assert all(sooner.data.as_of <= later.data.as_of for sooner, later in pairwise(tasks))


def test_a_task_survives_serialisation(folder: Path) -> None:
    """A worker without the season recreates the task from its data."""
    env = environment(folder)
    task = next(iter(env.taskset))
    wired = type(task.data).model_validate(json.loads(json.dumps(task.data.model_dump())))
    assert wired == task.data
    assert type(env.taskset).task_type() is type(task)
    assert not [name for name, field in type(task.data).model_fields.items() if field.exclude]


def test_arena_tasks_and_trading_tasks_are_found_by_their_names(folder: Path) -> None:
    config = {"taskset": {"id": "openoutcry/openoutcry-arena@0.1.0", "season": str(folder)}}
    env = vf.load_environment(vf.resolve_env_config(config))
    assert (type(env), type(env.taskset)) == (VerifiersEnv, ArenaTaskset)
    assert trace(env, says(1)).reward == 1.0
    assert type(load_environment().taskset) is VerifiersTaskset


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"season": "nowhere"}, "an export without faults is required"),
        ({"split": "held-out"}, "`split` must be one of train, validation, test; received 'held-out'"),
        (
            {"split": "test"},
            "a split with questions is required; received 'test', which is empty: 2 markets: 2 in train$",
        ),
        ({"vkey": "arena.example/log+00000000+AA=="}, "an export without faults is required; received vkey"),
    ],
)
def test_an_unusable_season_is_refused_before_any_episode(folder: Path, given: dict[str, Any], wanted: str) -> None:
    env = load_environment(**{"season": str(folder)} | given)
    with pytest.raises(OpenOutcryError, match=wanted):
        env.taskset.load()


def test_late_resolutions_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    markets = [MarketSpec(f"KX{hours}", 0, 50, 60, (Result(hours),)) for hours in (61, 62, 160)]
    environment(exported(tmp_path, markets, [*HOURS, 170.0])).taskset.load()
    (message,) = caplog.messages
    assert message.startswith("1 of 3 markets had no result when it was due and a split ended")


@pytest.mark.parametrize("name", ["every_hours", "embargo_hours", "settling_hours"])
def test_invalid_hours_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        environment(folder, **{name: -1})


@pytest.fixture
def settled(tmp_path: Path) -> Path:
    """Serve a demo season, resolve it, and export it as an operator does."""
    for name in ("fastapi", "sqlalchemy"):
        pytest.importorskip(name)
    from arena_in_process import floor
    from command_line import typed

    with floor(tmp_path / "arena") as ground:
        for _ in range(3):
            ground.publish()
        ground.register("ada")
        markets = ground.markets()
        assert ground.submit("ada", *((market, 0.3) for market in markets)).status_code == 200
        ground.clock[0] += 300 * 3600 * 10**6
        for place, market in enumerate(markets):
            ground.resolve(market, "yes" if place % 2 else "no")
        done = typed("arena", "export", tmp_path / "season", "--data-dir", tmp_path / "arena")
        assert done.returncode == 0, done.stderr
    return tmp_path / "season"


def test_a_settled_demo_season_can_be_played(settled: Path) -> None:
    """The workflow of the page: serve, resolve, export, train."""
    env = environment(settled)
    played = episodes(env, says(0.3), n_tasks=99)
    assert len(played) == 8
    assert all(episode.ok for episode in played)
    assert sorted(episode.traces[0].reward for episode in played) == [0.51] * 4 + [0.91] * 4
    prompt = str(played[0].task.data.prompt)
    assert "Synthetic: Will " in prompt
    assert "Delegations arrive for talks with Iran" in prompt
    assert "theater_intel" in prompt
