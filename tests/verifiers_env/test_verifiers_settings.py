"""Configuration settings take effect, or are refused before any model call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

import verifiers.v1 as vf
from verifiers_rollouts import environment, episodes, scores, spoken, trace

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.verifiers_env import load_environment

pytestmark = pytest.mark.once

HOLD = '{"orders":[]}'
PLUGGED = """
import verifiers.v1 as vf

@vf.reward(weight=0.25)
async def tagged(task, trace) -> float:
    return 2.0

async def plain(task, trace) -> float:
    return 3.0
"""


@pytest.mark.parametrize("harness", ["null", "bash"])
def test_a_harness_that_cannot_trade_is_refused(harness: str) -> None:
    with pytest.raises(OpenOutcryError, match=f"`agent.harness` must be `openoutcry`.* received `{harness}`"):
        environment(agent={"harness": {"id": harness}})
    assert environment(agent={"harness": {"id": "openoutcry"}}).config.agent.harness.id == "openoutcry"


def test_a_task_of_another_environment_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "import verifiers.v1 as vf\n"
        "class Echo(vf.Taskset[vf.Task, vf.TasksetConfig]):\n"
        "    def load(self):\n"
        "        return [vf.Task(vf.TaskData(prompt='say it'))]\n"
        "__all__ = ['Echo']\n"
    )
    (tmp_path / "an_echo_of_a_test.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    agent = {"harness": {"id": "openoutcry"}, "runtime": {"type": "subprocess"}}
    env = vf.load_environment(vf.resolve_env_config({"taskset": {"id": "an-echo-of-a-test"}, "agent": agent}))
    (episode,) = episodes(env, spoken(HOLD))
    assert not episode.ok
    assert "a task must be of `openoutcry`; received TaskData" in episode.traces[0].errors[0].message


def prompt_of(env: vf.Env[Any]) -> str:
    return str(next(iter(env.taskset.take(1))).data.prompt)


@pytest.mark.parametrize(
    ("name", "given", "weight", "value"),
    [
        ("mine", {"fn": "tagged"}, 0.25, 2.0),
        ("mine", {"fn": "plain"}, 1.0, 3.0),
        ("mine", {"fn": "plain", "weight": 0.5}, 0.5, 3.0),
        ("pass_k_reward", {"fn": "plain"}, 1.0, 3.0),
        ("excess_return_reward", {"fn": "tagged"}, 0.25, 2.0),
    ],
)
def test_a_plugged_reward_is_described_with_its_weight(
    tmp_path: Path, name: str, given: dict[str, Any], weight: float, value: float
) -> None:
    path = tmp_path / "plugged.py"
    path.write_text(PLUGGED, "utf-8")
    env = environment(task={"rewards": {name: given | {"fn": f"{path}:{given['fn']}"}}})
    each = trace(env, spoken(HOLD))
    assert scores(each)[name] == value
    assert each.rewards[name].weight == weight
    assert f"{weight:g} times the result of `{name}`, a function outside this environment" in prompt_of(env)


def test_a_judge_is_described_in_the_prompt() -> None:
    env = environment(task={"judges": [{"id": "reference", "name": "style", "weight": 0.5}]})
    assert "0.5 times the result of `style`, a function outside this environment" in prompt_of(env)


def test_an_unknown_reward_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="exces_return_reward"):
        prompt_of(environment(task={"rewards": {"exces_return_reward": {"weight": 1.0}}}))


@pytest.mark.parametrize("bar", [float("nan"), float("inf")])
def test_an_infinite_threshold_is_refused(bar: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        load_environment(task={"bar": bar})
