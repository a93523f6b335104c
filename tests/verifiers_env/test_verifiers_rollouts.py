"""Episodes of the verifiers environment end to end, played by a scripted model in both styles."""

from __future__ import annotations

import asyncio
import json
import math
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

import msgpack
from builders import dates_of
from model_endpoint import Body, Reply, serve, turn_of
from verifiers_rollouts import client, decisions, environment, episodes, facts, play, rows, said, scores, spoken, trace

from openoutcry import OpenOutcryError
from openoutcry.data.snapshots import snapshot_files
from openoutcry.records.run_record import RunRecord
from openoutcry.verifiers_env import scripted_policies
from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.record_conversations import EpisodeSpec, recorded_decisions, recorded_outcome
from openoutcry.verifiers_env.rewards import REWARDS, RewardTerms
from openoutcry.verifiers_env.task_rows import HELD_OUT_SECRET, STYLES

HOLD = '{"orders":[]}'
BUY = '{"orders":[{"symbol":"S000","action":"buy","target_weight":0.5}]}'
SECRET = "correct horse battery staple"
PLAIN = (dict, list, str, int, float, bool, type(None))


def plain(value: Any) -> bool:
    """Return whether a value has exact JSON types, no subclasses."""
    if type(value) not in PLAIN:
        return False
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return all(map(plain, parts))


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "openoutcry", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("style", STYLES)
def test_equal_actions_get_equal_finite_rewards(style: str) -> None:
    env = environment(style=style)
    twice = [episodes(env, spoken(BUY, HOLD), n_tasks=3, n_rollouts=2) for _ in range(2)]
    assert all(episode.ok for each in twice for episode in each)
    paid = [[scores(episode.traces[0]) for episode in each] for each in twice]
    assert paid[0] == paid[1]
    assert [each[0::2] == each[1::2] for each in paid] == [True, True]
    assert set(paid[0][0]) == set(REWARDS)
    assert all(math.isfinite(value) for each in paid[0] for value in each.values())
    assert len({each["excess_return_reward"] for each in paid[0]}) == 3


@pytest.mark.parametrize("mandate", MANDATES)
def test_both_styles_get_the_rewards_of_the_same_decisions_without_a_model(mandate: str) -> None:
    given = {"mandate": mandate, "tier": "medium", "n_windows": 2}
    (row,) = rows(environment(**given), 1)
    made = decisions(row, scripted_policies.baseline("momentum", row))
    alone = scripted_policies.play(row, scripted_policies.baseline("momentum", row))
    wanted = {name: RewardTerms().compute(name, alone) for name in REWARDS}
    played = {style: trace(environment(style=style, **given), spoken(*made)) for style in STYLES}
    for each in played.values():
        assert scores(each) == wanted
        assert each.reward == sum(weight * wanted[name] for name, weight in RewardTerms().weights.items())
        assert [window["nav"] for window in facts(each)["windows"]] == [part.run.nav[-1] for part in alone.windows]
    assert facts(played["tools"]) == facts(played["text"])
    assert played["tools"].metrics == played["text"].metrics


def test_mandates_rotate() -> None:
    env = environment(mandate="all")
    played = episodes(env, spoken(BUY, HOLD), n_tasks=4)
    assert [episode.task.data.row.mandate for episode in played] == list(MANDATES)
    assert all(episode.ok for episode in played)
    # Half of the account in one symbol is not market-neutral.
    assert [episode.traces[0].metrics["breaches"] > 0 for episode in played][:3] == [False, False, True]


@pytest.mark.parametrize("style", STYLES)
def test_the_summary_in_a_trace_is_plain_json(style: str, tmp_path: Path) -> None:
    def script(body: Body) -> Reply:
        return Reply("no") if turn_of(body) == 3 else said(BUY, body)

    each = trace(environment(tmp_path, style=style, n_windows=2), script)
    assert plain(each.info)
    assert json.loads(json.dumps(each.info, allow_nan=False)) == each.info
    assert msgpack.unpackb(msgpack.packb(each.info), strict_map_key=True) == each.info
    assert plain(each.metrics)
    assert all(type(reward.score) is float for reward in each.rewards.values())
    json.dumps(each.to_record(), allow_nan=False)


@pytest.mark.parametrize(("style", "market"), [("tools", "pairs"), ("text", "ecb-fx")])
def test_a_record_replays_to_the_summary_in_its_trace(style: str, market: str, tmp_path: Path) -> None:
    folder = tmp_path / "runs of today"
    each = trace(environment(folder, style=style, market=market, n_windows=2), spoken(BUY, "nothing", HOLD))
    summary = facts(each)
    name, *arguments = shlex.split(summary["replay"])
    assert name == "openoutcry"
    replayed = cli(*arguments)
    assert replayed.returncode == 0, replayed.stderr
    record = RunRecord.load(summary["record"])
    assert record.digest == summary["digest"]
    assert record.digest in replayed.stdout
    runs = json.loads(record.to_json())["runs"]
    assert [(run["header"]["dataset"]["fingerprint"], run["end"]["nav"]) for run in runs] == [
        (window["fingerprint"], window["nav"]) for window in summary["windows"]
    ]
    assert all(Path(path).is_file() for path in summary["markets"])
    scored = cli("score", *arguments[1:])
    assert scored.returncode == 0, scored.stderr


@pytest.mark.parametrize("last", [BUY, "finish", "nothing", "observe"])
def test_rewards_can_be_recomputed_from_the_record(last: str, tmp_path: Path) -> None:
    """From files alone: record, episode specification, snapshots, and the number of answers."""

    def script(body: Body) -> Reply:
        is_call = turn_of(body) > 1 and last in ("finish", "observe")
        return Reply(calls=((last, "{}"),)) if is_call else spoken(BUY, "nothing", last)(body)

    each = trace(environment(tmp_path, n_windows=2, mandate="all"), script)
    kept = facts(each)
    spec = EpisodeSpec.from_json((tmp_path / "specs" / Path(kept["record"]).name).read_text("utf-8"))
    answers = recorded_decisions(RunRecord.load(kept["record"]))[: kept["n_answers"]]
    outcome = recorded_outcome(spec, [snapshot_files.load(path) for path in kept["markets"]], answers)
    assert {name: spec.terms.compute(name, outcome) for name in REWARDS} == scores(each)


def test_a_record_that_was_edited_does_not_replay(tmp_path: Path) -> None:
    summary = facts(trace(environment(tmp_path), spoken(BUY, HOLD)))
    path = Path(summary["record"])
    path.write_text(path.read_text("utf-8").replace("0.5", "0.6"), "utf-8")
    assert cli(*shlex.split(summary["replay"])[1:]).returncode != 0


def test_rollouts_of_one_task_share_its_market_on_disk(tmp_path: Path) -> None:
    played = episodes(environment(tmp_path), spoken(HOLD), n_tasks=2, n_rollouts=3)
    assert len({facts(episode.traces[0])["record"] for episode in played}) == 6
    assert len(list((tmp_path / "markets").glob("*.json"))) == 2


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    summary = facts(trace(environment(None), spoken(HOLD)))
    assert "record" not in summary
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("style", STYLES)
def test_the_messages_of_an_episode_are_append_only(style: str) -> None:
    def script(body: Body) -> Reply:
        turn = turn_of(body)
        if style == "tools" and turn in (1, 2):
            return Reply("Let me see.", calls=(("observe", "{}"), ("history", '{"n_bars":2}')))
        return Reply("I do not know.") if turn == 4 else said(BUY, body)

    env = environment(style=style, n_windows=2)
    with serve(script, keeps_bodies=True) as endpoint:
        (episode,) = run(env, endpoint.url)
    assert len(episode.traces[0].branches) == 1
    asked = [body["messages"] for body in endpoint.bodies]
    assert all(later[: len(sooner)] == sooner for sooner, later in pairwise(asked))
    assert len({json.dumps(body.get("tools")) for body in endpoint.bodies}) == 1
    # The last answer ends the episode, so its result is not sent.
    assert episode.traces[0].num_turns == len(asked) == facts(episode.traces[0])["n_answers"] + (style == "tools") * 2


def run(env: Any, url: str) -> Any:
    return asyncio.run(play(env, client(url), 1, 1, 1))


def test_finish_holds_positions_to_the_end() -> None:
    def script(body: Body) -> Reply:
        return (
            Reply(calls=(("finish", "{}"),)) if turn_of(body) == 3 else said(BUY if turn_of(body) == 0 else HOLD, body)
        )

    finished, held = trace(environment(), script), trace(environment(), spoken(BUY, HOLD))
    assert finished.num_turns == 4
    assert finished.metrics["has_finished"] == 1.0
    assert facts(finished)["windows"] == facts(held)["windows"]
    assert scores(finished)["excess_return_reward"] == scores(held)["excess_return_reward"]
    # Its conduct is reported, and its reward is that of holding.
    assert scores(finished)["process_check_reward"] == 0.8


@pytest.mark.parametrize("style", STYLES)
def test_a_truncated_episode_is_rewarded_as_holding(style: str) -> None:
    cut = trace(environment(style=style, agent={"max_turns": 3}), spoken(BUY, HOLD))
    assert cut.stop_condition == "max_turns"
    assert cut.is_truncated
    assert facts(cut)["n_answers"] == cut.num_turns == 3
    whole = trace(environment(style=style), spoken(BUY, HOLD))
    assert facts(cut)["windows"] == facts(whole)["windows"]
    assert scores(cut)["excess_return_reward"] == scores(whole)["excess_return_reward"]


def test_an_episode_passes_only_if_every_window_does() -> None:
    given = {"market": "calm", "n_windows": 3, "task": {"rewards": {"pass_k_reward": {"weight": 1.0}}}}
    env = environment(**given)
    (row,) = rows(env, 1)
    passed = trace(env, spoken(*decisions(row, scripted_policies.oracle)))
    held = trace(env, spoken(HOLD))
    assert len(facts(passed)["windows"]) == 3
    assert scores(passed)["pass_k_reward"] == 1.0
    assert scores(held)["pass_k_reward"] == 0.0
    assert passed.reward == 1.0 + sum(scores(passed)[name] for name in ("excess_return_reward", "format_penalty"))
    assert "1 if in every window" in passed.task.data.prompt
    assert "1 if in every window" not in rows_prompt(environment(n_windows=3))


def rows_prompt(env: Any) -> str:
    return next(iter(env.taskset.take(1))).data.prompt


def test_a_file_is_traded_like_bundled_data(tmp_path: Path) -> None:
    path, dates = tmp_path / "mine.csv", dates_of(200)
    lines = [f"{date},{100 + place % 13},{50 + place % 5}" for place, date in enumerate(dates)]
    path.write_text("\n".join(["date,ONE,TWO", *lines]), "utf-8")
    each = trace(environment(tmp_path / "runs", market=str(path)), spoken(HOLD))
    assert math.isfinite(each.reward)
    shown = json.dumps([message.model_dump() for message in each.messages])
    assert not any(word in shown for word in ("ONE", "TWO", *dates))
    assert cli(*shlex.split(facts(each)["replay"])[1:]).returncode == 0


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("tier", "huge", "`tier` must be one of easy, medium, hard; received 'huge'"),
        ("style", "json", "`style` must be one of tools, text; received 'json'"),
        ("mandate", "win", "`mandate` must be one of .*, drawdown-cap, all; received 'win'"),
        ("costs", {"fee": 1.0}, "a field of `costs` must be one of fee_bps, .*; received 'fee'"),
        ("market", "paris", "a dataset must be one of .*calm, .*; received 'paris': No such file"),
        ("market", "none.parquet", "a dataset must be one of .*calm, .*; received 'none.parquet': "),
    ],
)
def test_an_invalid_setting_is_refused_before_any_episode(field: str, value: Any, wanted: str) -> None:
    with pytest.raises(OpenOutcryError, match=wanted) as caught:
        environment(**{field: value}).taskset.load()
    assert caught.value.slug == ("unknown_dataset" if field == "market" else "argument_invalid")


def test_a_cleared_folder_is_filled_again(tmp_path: Path) -> None:
    env, folder = environment(tmp_path / "runs"), tmp_path / "runs"
    trace(env, spoken(HOLD))
    shutil.rmtree(folder)
    each = trace(env, spoken(HOLD))
    assert all(Path(market).is_file() for market in facts(each)["markets"])
    assert cli(*shlex.split(facts(each)["replay"])[1:]).returncode == 0


def test_held_out_rows_need_the_secret_of_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HELD_OUT_SECRET, raising=False)
    env = environment(split="held-out")
    with pytest.raises(OpenOutcryError, match="held-out rows need a secret of at least 16 characters") as caught:
        env.taskset.load()
    assert caught.value.slug == "key_invalid"

    def market() -> str:
        fingerprint: str = facts(trace(environment(split="held-out"), spoken(HOLD)))["windows"][0]["fingerprint"]
        return fingerprint

    monkeypatch.setenv(HELD_OUT_SECRET, SECRET)
    first = market()
    (tmp_path / "secret").write_text(f"{SECRET}\n", "utf-8")
    monkeypatch.setenv(HELD_OUT_SECRET, f"@{tmp_path / 'secret'}")
    assert market() == first
    monkeypatch.setenv(HELD_OUT_SECRET, SECRET[::-1])
    assert market() != first
