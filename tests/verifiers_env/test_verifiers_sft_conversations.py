"""Records to conversations: rebuild the messages of a rollout from its decisions."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import openoutcry as oo
from openoutcry.data.snapshots import snapshot_files
from openoutcry.verifiers_env.episode_outcome import outcome_of
from openoutcry.verifiers_env.record_conversations import EpisodeSpec, rebuild_conversation, recorded_decisions, row_of
from openoutcry.verifiers_env.record_store import RecordStore, record_of
from openoutcry.verifiers_env.rollout_state import HOLD, RolloutState
from openoutcry.verifiers_env.row_markets import digest_of
from openoutcry.verifiers_env.scripted_policies import baseline
from openoutcry.verifiers_env.task_rows import Row

pytestmark = pytest.mark.once

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sft_from_records.py"
BAD = '{"orders":[{"symbol":"S000","action":"buy","target_weight":"much"}]}'


def row(**fields: Any) -> Row:
    given = {"split": "train", "index": 0, "market": "pairs", "n_symbols": 2, "horizon": 5} | fields
    return Row(digest=digest_of(given["market"], given["n_symbols"], 20 + given["horizon"]), **given)


def save(folder: Path, spec: EpisodeSpec, answers: list[str] | None = None, name: str = "one") -> oo.RunRecord:
    """Play an episode, store it as the environment does, and return its record."""
    rollout, policy = RolloutState(spec.row), baseline("momentum", spec.row)
    for index in range(spec.row.horizon * spec.row.n_windows):
        rollout.decide(answers[index] if answers else policy(rollout))
    outcome = outcome_of(rollout, name, capture=True)
    record = record_of(outcome, name)
    RecordStore(folder).save(name, record, outcome, spec)
    return record


def snapshots(folder: Path, record: oo.RunRecord) -> list[oo.Dataset]:
    return [snapshot_files.load(folder / "markets" / f"{each['dataset.fingerprint']}.json") for each in record.headers]


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLE), *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def messages_of(style: str, answers: list[str], folder: Path) -> tuple[list[dict[str, Any]], Path]:
    """Return the messages in the trace of a rollout with these answers, and the path of its record."""
    vf = pytest.importorskip("verifiers.v1")
    from model_endpoint import Body, Reply, serve

    from openoutcry.verifiers_env import load_environment

    left = iter(answers)

    def script(body: Body) -> Reply:
        return Reply(next(left)) if style == "text" else Reply(calls=(("trade", next(left)),))

    (folder / "system.txt").write_text("Be brief.", encoding="utf-8")

    async def play(url: str) -> Any:
        taskset = {
            "style": style,
            "system_prompt": str(folder / "system.txt"),
            "n_symbols": 2,
            "horizon": 5,
            "n_windows": 2,
            "mandate": "long-only",
            "num_tasks": 1,
        }
        task = {"records": str(folder), "rewards": {"pass_k_reward": {"weight": 2.0}}}
        env = load_environment(task=task, **taskset)
        client = vf.EvalClientConfig(base_url=url, api_key_var="NO_SUCH_KEY")
        context = vf.ModelContext(model="scripted", client=client, sampling=vf.SamplingConfig())
        async with env.serving():
            (slot,) = [slot for task in env.taskset.take(1) for slot in env.slots(task, 1)]
            return await env.run_slot(slot, context, asyncio.Semaphore(1))

    with serve(script) as endpoint:
        episode = asyncio.run(play(endpoint.url))
    assert episode.ok, episode.errors
    (trace,) = episode.traces
    (branch,) = trace.branches
    messages = [each.model_dump(exclude_none=True) for each in branch.messages]
    return messages, Path(trace.info["openoutcry"]["record"])


@pytest.mark.parametrize("style", ["text", "tools"])
def test_a_rebuilt_conversation_equals_that_of_the_rollout(style: str, tmp_path: Path) -> None:
    half = '{"orders":[{"symbol":"S000","action":"buy","target_weight":0.5}]}'
    answers = [half, HOLD, BAD, '{"orders":[{"symbol":"NONE","action":"buy","target_weight":1}]}', HOLD] * 2
    real, path = messages_of(style, answers, tmp_path)
    assert run(tmp_path, str(path), "--malformed", "keep").returncode == 0
    (line,) = lines(tmp_path / "sft.jsonl")
    made = line["messages"]
    assert [each["role"] for each in made] == [each["role"] for each in real]
    assert [each.get("content") for each in made] == [each.get("content") for each in real]
    calls = [each["tool_calls"][0]["function"] for each in made if "tool_calls" in each]
    assert calls == [
        {"name": call["name"], "arguments": call["arguments"]} for each in real for call in each.get("tool_calls", [])
    ]
    assert ("tools" in line) == (style == "tools")
    assert (made[0], len(made)) == ({"role": "system", "content": "Be brief."}, 1 + 2 * len(answers))


@pytest.mark.parametrize("style", ["text", "tools"])
def test_messages_are_append_only_with_alternating_roles(style: str, tmp_path: Path) -> None:
    spec = EpisodeSpec(row(n_windows=2), style)
    record = save(tmp_path, spec)
    said, markets = recorded_decisions(record), snapshots(tmp_path, record)
    whole = rebuild_conversation(spec, markets, said)
    for n_said in range(1, len(said)):
        assert rebuild_conversation(spec, markets, said[:n_said]) == whole[: 2 * n_said]
    answered = "tool" if style == "tools" else "user"
    assert [each["role"] for each in whole] == ["user", *["assistant", answered] * (len(said) - 1), "assistant"]
    if style == "tools":
        ids = [each["tool_calls"][0]["id"] for each in whole if "tool_calls" in each]
        assert ids[:-1] == [each["tool_call_id"] for each in whole if each["role"] == "tool"]
        assert len(set(ids)) == len(ids)


def test_an_episode_specification_round_trips_through_json() -> None:
    spec = EpisodeSpec(
        row(mandate="drawdown-cap", n_windows=3), "tools", replace(EpisodeSpec(row()).terms, bar=0.5), "Be brief."
    )
    assert EpisodeSpec.from_json(spec.to_json()) == spec
    for text in ("", "{}", '{"row":{},"style":"text","terms":{}}', "[]"):
        with pytest.raises(oo.OpenOutcryError, match="an episode specification with row, style, terms"):
            EpisodeSpec.from_json(text)


@pytest.mark.parametrize("style", ["text", "tools"])
def test_a_run_on_any_market_becomes_a_conversation(style: str, tmp_path: Path) -> None:
    market = oo.data.load("ecb-fx")
    runs = [
        oo.run_backtest(market, "momentum", window, oo.CostModel(fee_bps=7.0), capture=True)
        for window in ("2015-01-01:2015-02-01", (19, 40), (0, 30))
    ]
    oo.RunRecord.join("momentum", [each.record for each in runs]).save(tmp_path / "run.json")
    done = run(tmp_path, "run.json", "--data", "ecb-fx", "--style", style, "--mandate", "long-only")
    assert (done.returncode, done.stderr) == (0, "")
    made = lines(tmp_path / "sft.jsonl")
    assert len(made) == len(runs)
    for line, each in zip(made, runs, strict=True):
        first = line["messages"][0]["content"]
        assert "7 bps fee" in first
        assert "Mandate: no position may be short" in first
        market_run = oo.run_backtest(market, "buy-and-hold", each.window, oo.CostModel(fee_bps=7.0))
        assert line["excess"] == pytest.approx(each.nav[-1] - market_run.nav[-1], rel=1e-12)
        replies = [json.loads(said["content"]) for said in line["messages"][2::2]]
        assert [said["nav"] for said in replies] == pytest.approx(each.nav[1:-1], rel=1e-5)


def test_a_run_of_the_command_becomes_a_conversation(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(
        "date,symbol,close\n" + "".join(f"2020-01-{day:02},A,{100 + day % 3}\n" for day in range(1, 32)), "utf-8"
    )
    runs = (["ecb-fx:USD,JPY", "--window", "2019-01-01:2019-03-01"], ["prices.csv"])
    for place, market in enumerate(runs):
        command = ["run", "--data", *market, "--agent", "momentum", "--record", f"{place}.jsonl"]
        done = subprocess.run(
            [sys.executable, "-m", "openoutcry", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    done = run(tmp_path, "0.jsonl", "1.jsonl", "--data", "ecb-fx:USD,JPY", "--data", "prices.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert [list(json.loads(line["messages"][2]["content"])["closes"]) for line in lines(tmp_path / "sft.jsonl")] == [
        ["USD", "JPY"],
        ["A"],
    ]


def test_a_run_that_no_row_can_represent_is_refused() -> None:
    market = oo.data.load("ecb-fx")
    other = oo.run_backtest(market, "momentum", (19, 40), limits=oo.Limits(allow_short=False), capture=True)
    with pytest.raises(oo.OpenOutcryError, match="must have the limits"):
        row_of(other.record, market)
    long = oo.run_backtest(market, "momentum", capture=True)
    with pytest.raises(oo.OpenOutcryError, match="`horizon` must be an integer from 2 to 2520"):
        row_of(long.record, market)


def test_another_market_than_the_record_s_is_refused(tmp_path: Path) -> None:
    spec = EpisodeSpec(row())
    said = recorded_decisions(save(tmp_path, spec))
    other = save(tmp_path, EpisodeSpec(row(index=1)), name="other")
    with pytest.raises(oo.OpenOutcryError, match="the observation before answer 0 must have the digest"):
        rebuild_conversation(spec, snapshots(tmp_path, other), said)
    with pytest.raises(oo.OpenOutcryError, match="received the episode end"):
        rebuild_conversation(spec, snapshots(tmp_path, save(tmp_path, spec)), [*said, said[-1]])


def test_a_forged_record_is_skipped_and_named(tmp_path: Path) -> None:
    record = save(tmp_path, EpisodeSpec(row()))
    forged = record.to_json().replace(r"target_weight\":0.5", r"target_weight\":0.6", 1)
    assert forged != record.to_json()
    (tmp_path / "one.json").write_text(forged, encoding="utf-8")
    (tmp_path / "notes.json").write_text("{}", encoding="utf-8")
    save(tmp_path, EpisodeSpec(row(index=1)), name="two")
    done = run(tmp_path, ".")
    assert done.returncode == 0
    left_out = done.stderr.splitlines()
    assert [line.split(":")[0] for line in left_out] == ["left out notes.json", "left out one.json"]
    assert "differs" in left_out[1]
    assert len(lines(tmp_path / "sft.jsonl")) == 1


def test_a_record_without_its_market_is_skipped(tmp_path: Path) -> None:
    oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (19, 40), capture=True).record.save(tmp_path / "run.json")
    done = run(tmp_path, "run.json")
    assert done.returncode == 1
    assert "its market must be among `--data`; received none with the fingerprint" in done.stderr


def test_invalid_answers_are_dropped_replaced_by_holds_or_kept(tmp_path: Path) -> None:
    save(tmp_path, EpisodeSpec(row()), [HOLD, BAD, HOLD, HOLD, HOLD])
    dropped = run(tmp_path, ".")
    assert dropped.returncode == 1
    assert "received 1 invalid ones" in dropped.stderr
    assert run(tmp_path, ".", "--malformed", "hold", "--out", "held.jsonl").returncode == 0
    assert run(tmp_path, ".", "--malformed", "keep", "--out", "kept.jsonl").returncode == 0
    (held,), (kept,) = lines(tmp_path / "held.jsonl"), lines(tmp_path / "kept.jsonl")
    assert [each["content"] for each in held["messages"][1::2]] == [HOLD] * 5
    assert kept["messages"][3]["content"] == BAD
    assert "All positions were held for this bar" in kept["messages"][4]["content"]
    assert "error" not in held["messages"][4]["content"]
    # Both use the same market.
    assert held["messages"][-2] == kept["messages"][-2]


def test_without_arguments_it_creates_records_deterministically(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (0, "sft.jsonl: 8 conversations\n")
    first = (tmp_path / "sft.jsonl").read_bytes()
    again = run(tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    assert (tmp_path / "sft.jsonl").read_bytes() == first
    made = lines(tmp_path / "sft.jsonl")
    least = sorted(each["excess"] for each in made)[5]
    chosen = run(tmp_path, "sft_records", "--min-excess", repr(least), "--out", "best.jsonl")
    assert chosen.stdout == "best.jsonl: 3 conversations, 5 below the excess left out\n"
    assert lines(tmp_path / "best.jsonl") == [each for each in made if each["excess"] >= least]
    assert all(oo.RunRecord.load(path).is_whole() for path in sorted((tmp_path / "sft_records").glob("*.json")))
