"""The recipes of examples/train_recipes.py train, learn and write their results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import recipe_markets as markets  # noqa: E402
import train_recipes as recipes  # noqa: E402

from openoutcry.sb3 import OpenOutcryVecEnv  # noqa: E402

COMMITTED = json.loads((ROOT / "docs" / "recipes.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", recipes.RECIPES)
def test_committed_results_state_the_settings_of_each_recipe(name: str) -> None:
    recipe = recipes.RECIPES[name]
    found = COMMITTED[name]
    assert found["options"] == json.loads(json.dumps(recipe.stated))
    assert (found["steps"], found["edge"], found["undone"]) == (recipe.steps, recipe.edge, recipe.undone)


@pytest.mark.parametrize("name", [name for name, recipe in recipes.RECIPES.items() if not recipe.undone])
def test_every_recipe_decides_actions_of_its_space(name: str) -> None:
    recipe = recipes.RECIPES[name]
    edge = markets.EDGES[recipe.edge]
    lanes = markets.lanes_of(edge, edge.markets(1, 100), 64, autoreset_mode="SameStep", **recipe.settings)
    # A rollout of 64 lanes is one batch of PPO, which warns about a part of one.
    env = OpenOutcryVecEnv(lanes)
    actions = recipes.policy_of(recipe.model(env, edge, 0))(env.reset())
    assert all(each in env.action_space for each in actions)


def test_ppo_learns_momentum_in_a_minute_and_writes_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["ppo-momentum", "--seeds", "1", "--steps", "49152"]
    files = ["--results", str(tmp_path / "a.json"), "--picture", str(tmp_path / "a.svg")]
    monkeypatch.setattr(sys, "argv", ["train_recipes.py", *words, *files])
    recipes.main()
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["ppo-momentum"]
    assert found["ratio"]["value"] > 0.5
    assert found["rule"]["value"] == pytest.approx(COMMITTED["ppo-momentum"]["rule"]["value"], abs=1e-9)
    curve = found["curves"][0]
    # The first rollout of 8,192 steps contains two of the parts.
    assert [step for step, _ in curve] == [0, 8192, 16384, 24576, 49152]
    assert curve[-1][1] > curve[0][1] + 1.0
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    assert np.isfinite(found["gain"]["value"])
