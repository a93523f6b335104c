"""Minari records the environment with its info, and its datasets replay to the bit."""

from __future__ import annotations

import gc
import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import minari
import numpy as np
import pytest
from train_page import run_example

import openoutcry as oo
from openoutcry.gym import OpenOutcryEnv

pytestmark = [
    # Minari warns if a part of its data card is missing.
    pytest.mark.filterwarnings("ignore:`.* is set to None"),
    # Its collector removes its temporary folder itself.
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up"),
]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "offline_datasets.py"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep datasets in a folder of the test."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    yield tmp_path
    gc.collect()


def replay(dataset: minari.MinariDataset, env: gymnasium.Env) -> int:
    """Assert that an environment repeats the recorded episodes, and return their number of steps."""
    steps = 0
    for episode, facts in zip(dataset.iterate_episodes(), dataset.storage.get_episode_metadata(range(3)), strict=True):
        observation, info = env.reset(seed=facts["seed"])
        rows = [(observation, info)]
        for step, action in enumerate(episode.actions):
            observation, reward, terminated, truncated, info = env.step(action)
            assert reward == episode.rewards[step]
            assert (terminated, truncated) == (episode.terminations[step], episode.truncations[step])
            rows.append((observation, info))
        assert terminated or truncated
        same_rows([row for row, _ in rows], episode.observations)
        same_rows([row for _, row in rows], episode.infos)
        steps += len(episode.actions)
    return steps


def same_rows(rows: list[Any], stored: Any) -> None:
    """Assert that rows, which may be nested, equal the stored arrays."""
    if isinstance(stored, dict):
        assert set(rows[0]) == set(stored)
        for name, part in stored.items():
            same_rows([row[name] for row in rows], part)
    elif isinstance(rows[0], str):
        assert [value.decode() for value in stored] == rows
    else:
        assert np.stack(rows).tobytes() == stored.tobytes()
        assert np.stack(rows).dtype == stored.dtype


@pytest.mark.parametrize("kind", ["flat", "dict", "cursor"])
def test_a_dataset_with_full_info_replays_to_the_bit(kind: str) -> None:
    arguments = {"dataset": "hard", "split": "test", "observation": kind, "info": "full", "on_invalid": "hold"}
    env = gymnasium.make("openoutcry.gym:OpenOutcry/Market-v1", episode_bars=9, **arguments)
    collector = minari.DataCollector(env, record_infos=True)
    collector.action_space.seed(0)
    for seed in (3, 8, 21):
        collector.reset(seed=seed)
        done = False
        while not done:
            *_, terminated, truncated, _ = collector.step(collector.action_space.sample())
            done = terminated or truncated
    collector.create_dataset(
        f"openoutcry/hard/{kind}-v0", algorithm_name="random", author="a", author_email="b", code_permalink="c",
        description="d",
    )  # fmt: skip
    collector.close()
    dataset = minari.load_dataset(f"openoutcry/hard/{kind}-v0")
    assert (dataset.observation_space, dataset.action_space) == (env.observation_space, env.action_space)
    assert {"tradable", "nav", "date", "limits", "invalid_action"} <= set(dataset[0].infos)
    again = dataset.recover_environment()
    assert again.unwrapped.dataset.fingerprint == env.unwrapped.dataset.fingerprint
    assert replay(dataset, again) == 24
    # The same environment without an id.
    assert replay(dataset, OpenOutcryEnv(window="random", episode_bars=9, **arguments)) == 24


@pytest.mark.parametrize(("market", "policy"), [("hard", "momentum"), ("ecb-fx", "random"), ("fx", "equal-weight")])
def test_the_script_creates_a_named_dataset_with_a_card_and_a_held_out_split(
    market: str, policy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--quick", "--market", market, "--policy", policy])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    name = f"openoutcry/{market}/{policy}-v0"
    assert minari.list_local_datasets()[name]["algorithm_name"] == policy
    dataset = minari.load_dataset(name)
    card = dataset.storage.metadata["card"]
    assert json.dumps(card, indent=2) in printed
    train, test = dataset.recover_environment(), dataset.recover_environment(eval_env=True)
    assert card["market_digest"] == train.unwrapped.dataset.fingerprint
    assert (card["costs"], card["limits"]) == (repr(oo.CostModel()), repr(oo.Limits()))
    assert card["split_key"] == "split=train, seeds 0 to 2"
    assert replay(dataset, train) == 60
    # No bar of the recorded market is in the held-out split.
    if market == "ecb-fx":
        last = max(episode.infos["date"][-1].decode() for episode in dataset.iterate_episodes())
        assert card["bars"] == f":{test.spec.kwargs['within'][:-1]}"
        assert last < min(test.reset(seed=seed)[1]["date"] for seed in range(20))
    else:
        assert test.unwrapped.dataset.fingerprint != card["market_digest"]


def test_the_example_of_the_page_creates_a_dataset() -> None:
    names = run_example("Minari", 50)
    names["collector"].close()
    dataset = names["dataset"]
    assert dataset.total_episodes == 10
    assert set(dataset[0].infos) >= {"nav", "costs", "events"}
    assert Path(dataset.storage.data_path).is_dir()
