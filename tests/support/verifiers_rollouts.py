"""Rollouts of the verifiers environment against a scripted model. It needs the extra `verifiers`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from model_endpoint import Body, Reply, Script, serve, turn_of

from openoutcry.verifiers_env import load_environment
from openoutcry.verifiers_env.rollout_state import RolloutState
from openoutcry.verifiers_env.scripted_policies import Policy
from openoutcry.verifiers_env.task_rows import Row

KEY = "OPENOUTCRY_TEST_KEY"
MODEL = "scripted"


def environment(folder: Path | None = None, *, agent: dict[str, Any] | None = None, **more: Any) -> vf.Env[Any]:
    """Return an environment of easy tasks, with records in a folder; `more` overrides its settings."""
    task = {"records": folder and str(folder)} | more.pop("task", {})
    return load_environment(agent=agent, task=task, **{"tier": "easy", "num_tasks": 4} | more)


def rows(env: vf.Env[Any], n_tasks: int) -> list[Row]:
    """Return the first rows of an environment."""
    return [task.data.row for task in env.taskset.take(n_tasks)]


def client(url: str) -> vf.EvalClientConfig:
    """Return the framework's client configuration of an endpoint."""
    return vf.EvalClientConfig(base_url=url, api_key_var=KEY)


async def play(env: vf.Env[Any], config: Any, n_tasks: int, n_rollouts: int, at_once: int) -> list[vf.Episode]:
    """Return the episodes of the first tasks, in the order of the tasks."""
    context = vf.ModelContext(model=MODEL, client=config, sampling=vf.SamplingConfig())
    gate = asyncio.Semaphore(at_once)
    async with env.serving():
        slots = [slot for task in env.taskset.take(n_tasks) for slot in env.slots(task, n_rollouts)]
        return list(await asyncio.gather(*(env.run_slot(slot, context, gate) for slot in slots)))


def episodes(env: vf.Env[Any], script: Script, n_tasks: int = 1, n_rollouts: int = 1) -> list[vf.Episode]:
    """Return the episodes that a script plays."""
    with serve(script) as endpoint:
        return asyncio.run(play(env, client(endpoint.url), n_tasks, n_rollouts, 8))


def trace(env: vf.Env[Any], script: Script) -> vf.Trace:
    """Return the trace of the first task, played by a script without errors."""
    (episode,) = episodes(env, script)
    assert episode.ok, [*episode.errors, *(error for each in episode.traces for error in each.errors)]
    (only,) = episode.traces
    return only


def scores(each: vf.Trace) -> dict[str, float]:
    """Return all unweighted rewards of a trace."""
    return {name: reward.score for name, reward in each.rewards.items()}


def facts(each: vf.Trace) -> dict[str, Any]:
    """Return the environment's summary of an episode."""
    summary: dict[str, Any] = each.info["openoutcry"]
    return summary


def said(decision: str, body: Body) -> Reply:
    """Return a decision in the style of a conversation."""
    return Reply(calls=(("trade", decision),)) if body.get("tools") else Reply(f"My decision: {decision}")


def spoken(*decisions: str) -> Script:
    """Return a script that makes the decisions in order, and then repeats the last one."""
    return lambda body: said(decisions[min(turn_of(body), len(decisions) - 1)], body)


def decisions(row: Row, policy: Policy) -> list[str]:
    """Return the decisions of a policy on a row."""
    rollout, made = RolloutState(row), []
    while not rollout.done:
        made.append(policy(rollout))
        rollout.decide(made[-1])
    return made
