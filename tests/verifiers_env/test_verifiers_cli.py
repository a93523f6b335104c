"""Commands and environment server of the framework, without network access."""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

import verifiers.v1 as vf
from model_endpoint import serve, trader
from verifiers.v1.serve import EnvClient, env_config_data, serve_env
from verifiers_rollouts import KEY, MODEL, client, environment, facts, scores, trace

from openoutcry.verifiers_env.rewards import REWARDS
from openoutcry.verifiers_env.task_rows import STYLES

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", KEY: "none"}
# Requests to other machines end at a closed port.
NOWHERE = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
HERE = dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost")


def ran(command: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the framework in an empty folder."""
    paths = os.pathsep.join(path for path in sys.path if path)
    env = os.environ | OFFLINE | NOWHERE | HERE | {"PYTHONPATH": paths, "HOME": str(cwd)}
    name = str(Path(sys.executable).with_name(command))
    return subprocess.run([name, *arguments], capture_output=True, text=True, check=False, cwd=cwd, env=env)


def evaluated(folder: Path, *more: str) -> list[dict[str, Any]]:
    """Return the episodes that `vf-eval` writes for a trading model."""
    with serve(trader) as endpoint:
        given = ["-m", MODEL, "--client.base-url", endpoint.url, "--client.api-key-var", KEY]
        done = ran("vf-eval", "openoutcry", "-r", "1", *given, "--no-push", "--no-rich", "-o", "out", *more, cwd=folder)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    (path,) = folder.glob("out/**/traces.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_an_evaluation_from_the_shell_needs_no_settings(tmp_path: Path) -> None:
    episodes = evaluated(tmp_path, "-n", "2")
    assert sorted(episode["task"]["key"] for episode in episodes) == ["train-0", "train-1"]
    for episode in episodes:
        assert episode["ok"]
        (each,) = episode["traces"]
        assert each["stop_condition"] == "agent_completed"
        assert set(each["rewards"]) == set(REWARDS)
        assert all(math.isfinite(reward["score"]) for reward in each["rewards"].values())
        summary = each["info"]["openoutcry"]
        command = [sys.executable, "-m", *shlex.split(summary["replay"])]
        replayed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert replayed.returncode == 0, replayed.stderr
        assert summary["digest"] in replayed.stdout


def test_an_evaluation_takes_settings_from_the_shell(tmp_path: Path) -> None:
    (episode,) = evaluated(
        tmp_path,
        *("-n", "1", "--env.taskset.style", "text", "--env.taskset.tier", "easy", "--env.taskset.mandate", "long-only"),
        *("--env.taskset.task.records", str(tmp_path / "kept"), "--env.taskset.market", "ecb-fx"),
        *("--env.taskset.task.rewards", '{"pass_k_reward": {"weight": 1.0}}'),
    )
    (each,) = episode["traces"]
    row = episode["task"]["data"]["row"]
    assert (row["market"], row["mandate"], row["horizon"]) == ("ecb-fx", "long-only", 10)
    assert each["rewards"]["pass_k_reward"]["weight"] == 1.0
    assert Path(each["info"]["openoutcry"]["record"]).parent == tmp_path / "kept"


def test_vf_validate_accepts_every_task(tmp_path: Path) -> None:
    given = ("-n", "4", "--taskset.mandate", "all", "--taskset.tier", "easy", "-o", "out")
    done = ran("vf-validate", "openoutcry", *given, "--runtime.type", "subprocess", "--no-rich", cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    (path,) = tmp_path.glob("out/**/summary.json")
    summary = json.loads(path.read_text("utf-8"))
    assert summary["valid_rate"] == 1.0
    # `gold` is this package's check; `noop` plays an episode without answers, which must not pass.
    assert {name: check["valid"] for name, check in summary["checks"].items()} == {"gold": 4, "noop": 4}


def served(env: vf.Env[Any], url: str, styles: Sequence[str]) -> list[vf.Episode]:
    """Return episodes of the first task from an environment server in a separate process."""
    context = multiprocessing.get_context("spawn")
    addresses = context.Queue()
    given = {"address": "tcp://127.0.0.1:0", "address_queue": addresses, "config_data": env_config_data(env.config)}
    process = context.Process(target=serve_env, kwargs={"max_workers": 1} | given)
    process.start()

    async def ask(address: str) -> list[vf.Episode]:
        asker = EnvClient(address)
        try:
            await asker.wait_for_server_startup()
            (task,) = env.taskset.take(1)
            # Like a trainer: serialised rows only.
            data = json.loads(task.data.model_dump_json())
            arguments = {"client": client(url), "model": MODEL, "sampling": vf.SamplingConfig()}
            runs = [asker.run(**arguments, task_data=data | {"style": style}) for style in styles]
            return list(await asyncio.gather(*runs))
        finally:
            await asker.close()

    try:
        return asyncio.run(ask(addresses.get(timeout=120)))
    finally:
        process.terminate()
        process.join(30)


def test_an_environment_server_gives_the_same_episode_as_this_process(tmp_path: Path) -> None:
    env = environment(tmp_path, mandate="market-neutral")
    with serve(trader) as endpoint:
        there = served(env, endpoint.url, STYLES)
    here = trace(env, trader)
    for style, episode in zip(STYLES, there, strict=True):
        assert episode.ok
        (each,) = episode.traces
        assert (style == "tools") == bool(each.tool_messages)
        assert scores(each) == scores(here)
        assert each.metrics == here.metrics
        assert len(each.branches) == 1
        summary = facts(each)
        assert Path(summary["record"]).is_file()
        own = {"record": facts(here)["record"], "replay": facts(here)["replay"]}
        assert summary | own == facts(here)
