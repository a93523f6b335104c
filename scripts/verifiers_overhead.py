"""Measure the CPU time of an episode of the verifiers environment, with and without the framework.

Episodes with the same decisions are played twice in one process: without the framework, and through it against a
scripted endpoint in another process. The framework's share is the difference.

    python scripts/verifiers_overhead.py --episodes 100 --style tools --tier medium
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from model_endpoint import serve_apart, trader
from verifiers_rollouts import client, environment, play

from openoutcry.verifiers_env.episode_outcome import outcome_of
from openoutcry.verifiers_env.parser import execute_call, execute_text
from openoutcry.verifiers_env.record_store import RecordStore, record_of
from openoutcry.verifiers_env.rewards import RewardTerms
from openoutcry.verifiers_env.rollout_state import RolloutState
from openoutcry.verifiers_env.task_rows import TIERS


def answers(rollout: RolloutState, style: str) -> Callable[[int], str]:
    """Return a function that executes the scripted model's answer of a turn."""
    reply = [trader(_conversation(turn, style)) for turn in range(rollout.row.horizon)]
    if style == "tools":
        return lambda turn: execute_call(rollout, *reply[turn].calls[0])
    return lambda turn: execute_text(rollout, reply[turn].text)


def _conversation(turn: int, style: str) -> dict[str, Any]:
    return {"messages": [{"role": "assistant"}] * turn, "tools": style == "tools"}


def alone(env: Any, style: str, n_episodes: int, folder: Path) -> dict[str, float]:
    """Return the CPU seconds of all episodes without the framework, by part."""
    store, terms = RecordStore(folder), RewardTerms()
    spent = dict.fromkeys(("setup", "responses", "replay", "records", "rewards"), 0.0)
    for place, task in enumerate(env.taskset.take(n_episodes)):
        marks = [process_time()]
        rollout = RolloutState(task.data.row)
        marks.append(process_time())
        answer = answers(rollout, style)
        idle = process_time() - marks[-1]
        for turn in range(rollout.row.horizon):
            answer(turn)
        marks.append(process_time() - idle)
        outcome = outcome_of(rollout, "scripted", capture=True)
        record = record_of(outcome, "scripted")
        marks.append(process_time() - idle)
        store.save(str(place), record, outcome)
        marks.append(process_time() - idle)
        for name in terms.weights:
            terms.compute(name, outcome)
        marks.append(process_time() - idle)
        for name, (began, ended) in zip(spent, pairwise(marks), strict=True):
            spent[name] += ended - began
    return spent


def through(env: Any, n_episodes: int, at_once: int) -> float:
    """Return the CPU seconds of all episodes through the framework, in this process."""
    with serve_apart() as url:
        asyncio.run(play(env, client(url), 4, 1, at_once))
        began = process_time()
        played = asyncio.run(play(env, client(url), n_episodes, 1, at_once))
        assert all(episode.ok for episode in played)
        return process_time() - began


def main() -> None:
    """Print the CPU time of a turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--style", default="tools", choices=["tools", "text"])
    parser.add_argument("--tier", default="medium", choices=["easy", "medium", "hard"])
    parser.add_argument("--at-once", type=int, default=16)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wanted = {"style": given.style, "tier": given.tier, "num_tasks": given.episodes}
        env = environment(Path(folder) / "through", **wanted)
        alone(env, given.style, 4, Path(folder) / "warm")
        ours = alone(env, given.style, given.episodes, Path(folder) / "alone")
        whole = through(env, given.episodes, given.at_once)
    n_turns = given.episodes * TIERS[given.tier].horizon
    each = {name: seconds / n_turns * 1e6 for name, seconds in ours.items()}
    results = {
        "turns": n_turns,
        "ours_us_per_turn": {name: round(value, 1) for name, value in each.items()},
        "ours_total_us_per_turn": round(sum(each.values()), 1),
        "framework_us_per_turn": round((whole - sum(ours.values())) / n_turns * 1e6, 1),
    }
    print(json.dumps(wanted | {"at_once": given.at_once} | results, indent=1))


if __name__ == "__main__":
    main()
